"""Responses are told in events, and read from the last one."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import omit
from openai.lib.streaming.responses._responses import ResponseStreamState
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from proxy.core import sse
from proxy.core.render import responses, transcript

TEXT = st.text(st.characters(codec="utf-8"), max_size=8)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
PART = st.dictionaries(st.sampled_from(["text", "refusal", "x", "annotations", "logprobs"]), ANY)
ITEM = st.fixed_dictionaries(
    {"type": st.sampled_from(["message", "reasoning", "function_call", "custom_tool_call", "x"])},
    optional={
        "id": TEXT,
        "status": TEXT,
        "content": ANY | st.lists(PART, max_size=2),
        "summary": ANY | st.lists(PART, max_size=2),
        "arguments": ANY,
        "input": ANY,
        "name": TEXT,
        "x": ANY,
    },
)

ANSWER: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 7,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": None,
    "metadata": {},
    "model": "m-small",
    "parallel_tool_calls": True,
    "temperature": 0.0,
    "tool_choice": "auto",
    "tools": [],
    "top_p": 1.0,
    "x_unknown": {"kept": True},
    "output": [
        {
            "id": "rs_1",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "Think."}],
            "content": [{"type": "reasoning_text", "text": "Thinking."}],
            "encrypted_content": "abc",
        },
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [
                {
                    "type": "output_text",
                    "text": "Five points.",
                    "annotations": [
                        {
                            "type": "url_citation",
                            "start_index": 0,
                            "end_index": 4,
                            "title": "t",
                            "url": "u",
                        }
                    ],
                    "logprobs": [],
                },
                {"type": "refusal", "refusal": "Not that."},
            ],
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "status": "completed",
            "call_id": "c1",
            "name": "f",
            "arguments": '{"a":1}',
        },
        {
            "id": "ct_1",
            "type": "custom_tool_call",
            "call_id": "c2",
            "name": "g",
            "input": "free text",
        },
    ],
    "usage": {
        "input_tokens": 3,
        "input_tokens_details": {"cached_tokens": 1, "cache_write_tokens": 0},
        "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 2},
        "total_tokens": 8,
    },
}


def told(body: dict[str, Any]) -> list[dict[str, Any]]:
    read = transcript.read(responses.expanded(body) or b"")

    assert read is not None

    return read.objects


@settings(max_examples=50)
@given(st.lists(ITEM, max_size=3), st.dictionaries(st.sampled_from(["x", "usage", "y"]), ANY))
def test_a_response_comes_back_from_its_events(
    output: list[dict[str, Any]], rest: dict[str, Any]
) -> None:
    body = {"status": "completed", **rest, "output": output}

    assert responses.merged(told(body)) == body


def test_events_come_in_the_order_of_the_api() -> None:
    """Case ra-stream-cached: created first, rising numbers, completed with usage last."""
    events = told(ANSWER)

    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    assert events[-1]["response"] == ANSWER
    assert events[0]["response"] | {"output": 0} == ANSWER | {
        "status": "in_progress",
        "usage": None,
        "output": 0,
    }
    assert [event["type"].removeprefix("response.") for event in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "content_part.added",
        "reasoning_text.delta",
        "reasoning_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.annotation.added",
        "output_text.done",
        "content_part.done",
        "content_part.added",
        "refusal.delta",
        "refusal.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "output_item.added",
        "custom_tool_call_input.delta",
        "custom_tool_call_input.done",
        "output_item.done",
        "completed",
    ]


def test_each_event_is_named_by_its_type() -> None:
    for event in sse.split(responses.expanded(ANSWER) or b""):
        assert sse.name(event) == orjson.loads(sse.data(event) or b"")["type"]


def test_the_official_sdk_assembles_what_was_stored() -> None:
    state: ResponseStreamState[Any] = ResponseStreamState(input_tools=omit, text_format=omit)
    events: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    seen = [
        said
        for event in sse.split(responses.expanded(ANSWER) or b"")
        for said in state.handle_event(events.validate_json(sse.data(event) or b""))
    ]

    assert seen[-1].type == "response.completed"
    assert seen[-1].response.output_text == Response.model_validate(ANSWER).output_text
    assert [one.snapshot for one in seen if one.type == "response.output_text.delta"] == [
        "Five points."
    ]
    assert [
        one.snapshot for one in seen if one.type == "response.function_call_arguments.delta"
    ] == ['{"a":1}']


def test_a_response_that_met_its_limit_ends_as_incomplete() -> None:
    body = ANSWER | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    events = told(body)

    assert (events[0]["response"]["incomplete_details"], events[-1]["type"]) == (
        None,
        "response.incomplete",
    )
    assert responses.merged(events) == body


def test_an_output_told_only_item_by_item_is_put_into_the_response() -> None:
    item = {"type": "message", "content": []}
    done = {"type": "response.output_item.done", "item": item}
    end = {"type": "response.completed", "response": {"id": "r", "output": []}}

    assert responses.merged([done, end]) == {"id": "r", "output": [item]}


@pytest.mark.parametrize(
    "events",
    [[], [{"type": "response.created", "response": {}}], [{"type": "response.completed"}]],
)
def test_a_stream_without_its_end_has_no_response(events: list[dict[str, Any]]) -> None:
    assert responses.merged(events) is None


@pytest.mark.parametrize("body", [{}, {"output": None}, {"output": ["text"]}])
def test_a_body_without_output_has_no_events(body: dict[str, Any]) -> None:
    assert responses.expanded(body) is None
