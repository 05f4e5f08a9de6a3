"""Anthropic messages keep everything from one form to the other and back."""

from __future__ import annotations

from typing import Any

import pytest
from anthropic.lib.streaming._messages import accumulate_event
from anthropic.types import Message, RawMessageStreamEvent
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from proxy.core import sse
from proxy.core.render import messages, transcript

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-1, 1) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
UNKNOWN = st.dictionaries(st.sampled_from(["x_one", "container", "stop_details", "note"]), ANY)


def block(kind: str, fixed: dict[str, Any], **optional: Any) -> Any:
    fields = {"type": st.just(kind), **fixed}
    return st.fixed_dictionaries(fields, optional=optional | {"x_new": ANY})


BLOCK = st.one_of(
    block("text", {"text": TEXT}, citations=st.none() | st.lists(ANY, max_size=2)),
    block("thinking", {"thinking": TEXT}, signature=TEXT),
    block("tool_use", {"id": TEXT, "name": TEXT, "input": st.dictionaries(TEXT, ANY, max_size=3)}),
    block("server_tool_use", {"name": TEXT, "input": st.dictionaries(TEXT, ANY, max_size=3)}),
    block("redacted_thinking", {"data": TEXT}),
    block("web_search_tool_result", {"content": st.lists(ANY, max_size=2)}),
)
BODY = st.builds(
    dict.__or__,
    UNKNOWN,
    st.fixed_dictionaries(
        {
            "id": TEXT,
            "type": st.just("message"),
            "role": st.just("assistant"),
            "model": TEXT,
            "content": st.lists(BLOCK, max_size=4),
            "stop_reason": st.sampled_from(["end_turn", "tool_use", "max_tokens"]),
            "stop_sequence": st.none() | TEXT,
            "usage": st.fixed_dictionaries(
                {"input_tokens": st.integers(0, 9), "output_tokens": st.integers(0, 9)},
                optional={"cache_read_input_tokens": st.none() | st.integers(0, 9), "x": ANY},
            ),
        }
    ),
)

ANSWER: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "Look.", "citations": None},
        {"type": "tool_use", "id": "tu_1", "name": "f", "input": {"a": 1.5, "城": "北京"}},
        {"type": "tool_use", "id": "tu_2", "name": "g", "input": {}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 4, "output_tokens": 9, "cache_read_input_tokens": 2},
}


def told(body: dict[str, Any]) -> list[dict[str, Any]]:
    read = transcript.read(messages.expanded(body) or b"")

    assert read is not None

    return read.objects


@given(BODY)
def test_a_message_comes_back_from_its_events(body: dict[str, Any]) -> None:
    assert messages.merged(told(body)) == body


def test_events_come_in_the_order_of_the_api() -> None:
    events = told(ANSWER)

    assert [(e["type"], (e.get("delta") or {}).get("type")) for e in events] == [
        ("message_start", None),
        ("content_block_start", None),
        ("content_block_delta", "thinking_delta"),
        ("content_block_delta", "signature_delta"),
        ("content_block_stop", None),
        ("content_block_start", None),
        ("content_block_delta", "text_delta"),
        ("content_block_stop", None),
        ("content_block_start", None),
        ("content_block_delta", "input_json_delta"),
        ("content_block_stop", None),
        ("content_block_start", None),
        ("content_block_delta", "input_json_delta"),
        ("content_block_stop", None),
        ("message_delta", None),
        ("message_stop", None),
    ]
    assert events[0]["message"]["stop_reason"] is None
    assert events[-2]["delta"] == {"stop_reason": "tool_use", "stop_sequence": None}


def test_each_event_is_named_by_its_type() -> None:
    events = sse.split(messages.expanded(ANSWER) or b"")

    assert [sse.name(event) for event in events] == [event["type"] for event in told(ANSWER)]


def test_the_official_sdk_assembles_what_was_stored() -> None:
    events: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    snapshot: Any = None
    buffers: dict[int, bytes] = {}
    for event in sse.split(messages.expanded(ANSWER) or b""):
        told_event = events.validate_json(sse.data(event) or b"")
        snapshot = accumulate_event(event=told_event, current_snapshot=snapshot, json_bufs=buffers)
    expected = Message.model_validate(ANSWER)

    assert [one.to_dict() for one in snapshot.content] == [
        one.to_dict() for one in expected.content
    ]
    assert (snapshot.stop_reason, snapshot.usage) == (expected.stop_reason, expected.usage)


def test_a_real_stream_makes_the_message() -> None:
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {
                "id": "m",
                "content": [],
                "stop_reason": None,
                "usage": {"input_tokens": 4, "output_tokens": 1},
            },
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "ping"},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "He"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "y"}},
        {
            "type": "content_block_delta",
            "index": 0,
            "delta": {"type": "citations_delta", "citation": {"n": 1}},
        },
        {"type": "content_block_stop", "index": 0},
        {
            "type": "content_block_start",
            "index": 1,
            "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": ""},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": '{"a"'},
        },
        {
            "type": "content_block_delta",
            "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": ":1}"},
        },
        {"type": "content_block_stop", "index": 1},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "tool_use"},
            "usage": {"output_tokens": 7, "input_tokens": None},
            "context_management": {"x": 1},
        },
        {"type": "message_stop"},
    ]

    assert messages.merged(events) == {
        "id": "m",
        "content": [
            {"type": "text", "text": "Hey", "citations": [{"n": 1}]},
            {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}},
        ],
        "stop_reason": "tool_use",
        "usage": {"input_tokens": 4, "output_tokens": 7},
        "context_management": {"x": 1},
    }


def test_blocks_stand_by_index_and_a_signature_is_not_continued() -> None:
    deltas = [
        (1, {"text": "b"}),
        (0, {"signature": "s1"}),
        (1, {"text": "c"}),
        (0, {"signature": "s2"}),
    ]
    events: list[dict[str, Any]] = [{"type": "message_start", "message": {"id": "m"}}]
    events += [{"type": "content_block_delta", "index": i, "delta": one} for i, one in deltas]

    assert messages.merged(events) == {"id": "m", "content": [{"signature": "s2"}, {"text": "bc"}]}


def test_a_tool_input_that_broke_off_makes_no_message() -> None:
    delta = {"type": "input_json_delta", "partial_json": '{"a'}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m"}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
    ]

    assert messages.merged(events) is None


def test_a_stream_without_its_start_makes_no_message() -> None:
    assert messages.merged([{"type": "message_stop"}]) is None


@pytest.mark.parametrize("body", [{}, {"content": "text"}, {"content": [1]}])
def test_a_body_without_blocks_has_no_events(body: dict[str, Any]) -> None:
    assert messages.expanded(body) is None
