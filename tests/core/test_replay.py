"""One stored answer serves both forms, and what fails says so in the API's own words."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import sse
from proxy.core.endpoint import Endpoint
from proxy.core.entry import Form
from proxy.core.replay import UsageFilter, failure, merged, replay, zeroed

HEAD: dict[str, Any] = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}
USAGE = {
    "prompt_tokens": 11,
    "completion_tokens": 40,
    "total_tokens": 51,
    "completion_tokens_details": {"reasoning_tokens": 15},
}
CHAT = HEAD | {"choices": [CHOICE], "usage": USAGE}
BODIES: dict[Endpoint, dict[str, Any]] = {
    Endpoint.CHAT: CHAT,
    Endpoint.COMPLETIONS: {
        "object": "text_completion",
        "choices": [{"index": 0, "text": "hi", "finish_reason": "stop"}],
        "usage": USAGE,
    },
    Endpoint.RESPONSES: {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "hi"}]}],
        "usage": {"input_tokens": 3},
    },
    Endpoint.MESSAGES: {
        "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    },
}
DIALECTS = pytest.mark.parametrize("endpoint", BODIES, ids=lambda endpoint: endpoint.name)


def rendered(endpoint: Endpoint, stored: Form, wanted: Form, body: bytes) -> bytes:
    found = replay(endpoint, stored, wanted, body, usage=True)

    assert found is not None

    return found


@DIALECTS
def test_a_body_comes_back_from_its_stream(endpoint: Endpoint) -> None:
    events = rendered(endpoint, "json", "events", orjson.dumps(BODIES[endpoint]))

    assert orjson.loads(rendered(endpoint, "events", "json", events)) == BODIES[endpoint]


@DIALECTS
@pytest.mark.parametrize("form", ["json", "events"])
def test_the_form_it_came_in_is_replayed_byte_for_byte(endpoint: Endpoint, form: Form) -> None:
    body = b': odd\r\rdata:{"usage":{}} \n\r\n'

    assert replay(endpoint, form, form, body, usage=True) is body


@pytest.mark.parametrize("endpoint", [Endpoint.RESPONSES, Endpoint.MESSAGES])
def test_dialects_whose_streams_always_have_usage_keep_it(endpoint: Endpoint) -> None:
    body = b'data: {"choices":[],"usage":{}}\n\n'

    assert replay(endpoint, "events", "events", body, usage=False) is body


def test_usage_is_hidden_from_a_stream_that_did_not_ask() -> None:
    """Cases st-usage-on-hit and st-usage-details: one entry, with and without."""
    with_usage = rendered(Endpoint.CHAT, "json", "events", orjson.dumps(CHAT))
    without = replay(Endpoint.CHAT, "json", "events", orjson.dumps(CHAT), usage=False)
    last = orjson.loads(sse.data(sse.split(with_usage)[-2]) or b"")

    assert (last["choices"], last["usage"]) == ([], USAGE)
    assert replay(Endpoint.CHAT, "events", "events", with_usage, usage=False) == without
    assert b"usage" not in (without or b"usage")


def test_a_json_body_keeps_its_usage_for_everyone() -> None:
    body = orjson.dumps(CHAT)

    assert replay(Endpoint.CHAT, "json", "json", body, usage=False) is body


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_any_framing_makes_the_same_body(end: bytes) -> None:
    """Case st-data-no-space."""
    stream = rendered(Endpoint.CHAT, "json", "events", orjson.dumps(CHAT))
    odd = stream.replace(b"data: ", b"data:").replace(b"\n", end)

    assert orjson.loads(rendered(Endpoint.CHAT, "events", "json", odd)) == CHAT


@pytest.mark.parametrize(
    ("stored", "body"),
    [
        ("json", b""),
        ("json", b"[]"),
        ("json", b"{"),
        ("json", b'{"choices":[]}'),
        ("json", b'{"error":{"message":"no"},"choices":[{"text":"a"}]}'),
        ("events", b""),
        ("events", b"data: [DONE]\n\n"),
        ("events", b"data: {\n\n"),
        ("events", b'data: {"choices":1}\n\n'),
        ("events", b'data: {"error":{"message":"no"}}\n\n'),
    ],
)
def test_what_is_no_answer_has_no_other_form(stored: Form, body: bytes) -> None:
    wanted: Form = "events" if stored == "json" else "json"

    assert replay(Endpoint.CHAT, stored, wanted, body, usage=True) is None


def test_embeddings_have_one_form() -> None:
    assert replay(Endpoint.EMBEDDINGS, "json", "events", b"{}", usage=True) is None
    assert replay(Endpoint.EMBEDDINGS, "events", "json", b"data: {}\n\n", usage=True) is None
    assert merged(Endpoint.EMBEDDINGS, [{}]) is None


@DIALECTS
def test_a_body_too_deep_to_be_rendered_is_not(endpoint: Endpoint) -> None:
    deep = b'{"x":' * 500 + b"1" + b"}" * 500
    body = orjson.dumps(BODIES[endpoint])[:-1] + b',"deep":' + deep + b"}"

    assert replay(endpoint, "json", "events", body, usage=True) is None


SPLIT = ('{"wei": 10000000000', "00000000000000001}")
"""A tool's input with an integer of 28 digits, in two deltas."""


def test_a_long_integer_that_comes_in_pieces_has_no_other_form() -> None:
    """It would be made a float: another sum than the model named."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": BODIES[Endpoint.MESSAGES] | {"content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}},
        *({"type": "content_block_delta", "index": 0, "delta": {"partial_json": x}} for x in SPLIT),
        {"type": "message_stop"},
    ]
    body = b"".join(sse.frame(orjson.dumps(event), event["type"]) for event in events)

    assert replay(Endpoint.MESSAGES, "events", "json", body, usage=True) is None
    assert merged(Endpoint.MESSAGES, events) is not None  # so it is stored in the one it has


@pytest.mark.parametrize(
    ("number", "exact"),
    [
        (b"-9223372036854775809", False),
        (b"18446744073709551616", False),
        (b"9223372036854775807", True),
        (b"-922337203685477580", True),
    ],
)
def test_an_integer_of_more_than_64_bits_has_no_other_form(number: bytes, exact: bool) -> None:
    body = orjson.dumps(CHAT)[:-1] + b',"x_seed":' + number + b"}"
    events = replay(Endpoint.CHAT, "json", "events", body, usage=True)

    assert (events is not None) == exact
    assert not exact or number in (events or b"")


def test_deltas_too_deep_to_be_merged_are_not() -> None:
    deep = b'{"x":' * 990 + b"1" + b"}" * 990
    event = b'data: {"choices":[{"delta":' + deep + b"}]}\n\n"

    assert replay(Endpoint.CHAT, "events", "json", event * 2, usage=True) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "index",
                    "delta",
                    "message",
                    "content",
                    "text",
                    "tool_calls",
                    "function",
                    "logprobs",
                    "usage",
                    "error",
                    "type",
                    "output",
                    "item",
                    "part",
                    "summary",
                    "response",
                    "content_block",
                    "partial_json",
                    "citation",
                    "input",
                    "id",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(list(Endpoint)), st.lists(JSON, max_size=4), st.booleans())
def test_nothing_that_arrives_can_break_it(
    endpoint: Endpoint, payloads: list[Any], usage: bool
) -> None:
    texts = [orjson.dumps(payload) for payload in payloads]
    stream = b"".join(sse.frame(text, "error" if usage else "") for text in texts)
    for stored, wanted, body in [
        ("events", "json", stream),
        ("events", "events", stream),
        *(("json", "events", text) for text in texts),
    ]:
        found = replay(endpoint, stored, wanted, body, usage=usage)  # type: ignore[arg-type] # pairs of literals widen to str

        assert found is None or isinstance(found, bytes)
        assert isinstance(zeroed(endpoint, wanted, body), bytes)  # type: ignore[arg-type] # the same


def test_a_body_whose_usage_is_zero_is_otherwise_the_same() -> None:
    free = orjson.loads(zeroed(Endpoint.CHAT, "json", orjson.dumps(CHAT)))

    assert free == CHAT | {
        "usage": {
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "total_tokens": 0,
            "completion_tokens_details": {"reasoning_tokens": 0},
        }
    }


@DIALECTS
def test_a_stream_whose_usage_is_zero_is_that_of_the_body(endpoint: Endpoint) -> None:
    body = orjson.dumps(BODIES[endpoint])
    free = zeroed(endpoint, "events", rendered(endpoint, "json", "events", body))

    assert orjson.loads(rendered(endpoint, "events", "json", free)) == orjson.loads(
        zeroed(endpoint, "json", body)
    )
    assert free.count(b'_tokens":') == free.count(b'_tokens":0')


def test_events_without_usage_keep_their_bytes() -> None:
    other = b'id: 4\r\ndata:{"a" : "\\"usage\\""}\r\n\r\n'
    counted = b'id: 5\r\ndata:{"usage":{"n":3}}\r\n\r\n'

    assert zeroed(Endpoint.CHAT, "events", other + counted) == other + counted.replace(b"3", b"0")


@pytest.mark.parametrize("body", [b"{", b'["usage"]', b'"usage"', b'{"usage":null}', b"{}"])
def test_what_has_no_usage_is_the_same_object(body: bytes) -> None:
    assert zeroed(Endpoint.CHAT, "json", body) is body


@pytest.mark.parametrize(
    ("endpoint", "name", "said"),
    [
        (
            Endpoint.CHAT,
            "",
            {"error": {"message": "m", "type": "server_error", "param": None, "code": "c"}},
        ),
        (
            Endpoint.COMPLETIONS,
            "",
            {"error": {"message": "m", "type": "server_error", "param": None, "code": "c"}},
        ),
        (
            Endpoint.MESSAGES,
            "error",
            {"type": "error", "error": {"type": "api_error", "message": "m"}},
        ),
        (
            Endpoint.RESPONSES,
            "error",
            {
                "type": "error",
                "code": "c",
                "message": "m",
                "param": None,
                "sequence_number": 0,
                "error": {"message": "m", "type": "server_error", "param": None, "code": "c"},
            },
        ),
    ],
)
def test_a_broken_stream_says_so(endpoint: Endpoint, name: str, said: dict[str, Any]) -> None:
    (event,) = sse.split(failure(endpoint, "m", "c"))

    assert (sse.name(event), orjson.loads(sse.data(event) or b"")) == (name, said)


def test_an_event_without_end_is_passed_on_and_not_held() -> None:
    hidden = UsageFilter()
    passed = [hidden.feed(chunk) for chunk in (b"data: ", *[b"x" * (1 << 20)] * 33, b"\n\n")]

    assert max(map(len, passed)) > 1 << 25
    assert b"".join(passed) == b"data: " + b"x" * (33 << 20) + b"\n\n"
