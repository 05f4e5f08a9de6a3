"""Usage is hidden from streams that did not ask for it, and nothing else is touched."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import usage
from proxy.core.endpoint import Endpoint
from proxy.core.replay import UsageFilter


def event(chunk: Any) -> bytes:
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


DELTA: dict[str, Any] = {"id": "c", "choices": [{"index": 0, "delta": {"content": "hi"}}]}
TOKENS = {"prompt_tokens": 3, "completion_tokens": 4}


@pytest.mark.parametrize(
    ("shown", "seen"),
    [
        (event(DELTA), event(DELTA)),
        (event(DELTA | {"usage": None}), event(DELTA)),
        (event(DELTA | {"usage": None, "obfuscation": "x9"}), event(DELTA | {"obfuscation": "x9"})),
        (event({"usage": None} | DELTA), event(DELTA)),
        (b'data:{"choices":[{}],"usage":null}\r\n\r\n', b'data:{"choices":[{}]}\r\n\r\n'),
        (b'data: {"a":1 , "usage" : null , "b":"\\""}\n\n', b'data: {"a":1 , "b":"\\""}\n\n'),
        (b'data: {"usage":null}\n\n', b"data: {}\n\n"),
        (b'data: { "usage":null,"b":1}\n\n', b'data: { "b":1}\n\n'),
        (event({"choices": [], "usage": TOKENS}), b""),
        (b"id: 5\n" + event({"choices": [], "usage": TOKENS}), b""),
    ],
)
def test_hidden(shown: bytes, seen: bytes) -> None:
    assert usage.hidden(shown) == seen


@pytest.mark.parametrize(
    "shown",
    [
        event(DELTA | {"usage": TOKENS}),
        event(DELTA | {"x": {"usage": None}}),
        event({"choices": [{"delta": {"content": 'say "usage":null}'}}]}),
        event({"choices": [{"delta": {"content": "usage"}, "note": ["usage", None]}]}),
        event({"choices": [], "prompt_filter_results": [{"usage": 1}]}),
        event({"error": {"message": "no", "usage": TOKENS}}),
        b": usage keeps alive\n\n",
        b'data: {"choices":[],"usage":{"prompt\n\n',
        b'data: {"usage"\ndata: :null}\n\n',
        b"data: [DONE]\n\n",
        b'data: ["usage",null]\n\n',
        b"",
    ],
)
def test_not_hidden(shown: bytes) -> None:
    assert usage.hidden(shown) == shown


def test_only_the_null_usage_of_the_chunk_itself_is_cut() -> None:
    chunk: dict[str, Any] = {
        "x": {"usage": None},
        "choices": [{"usage": None}],
        "usage": None,
        "y": [{}],
    }

    assert usage.hidden(event(chunk)) == event({k: v for k, v in chunk.items() if k != "usage"})


def test_a_stream_without_usage_is_the_same_object() -> None:
    body = event(DELTA) * 3

    assert usage.hidden_all(body) is body


EVENTS = st.sampled_from(
    [
        event(DELTA),
        event(DELTA | {"usage": None}),
        event({"usage": None, "x": {"usage": None}}),
        event({"choices": [], "usage": TOKENS}),
        event({"error": {"message": "no"}}),
        b'data:{"choices":[],"usage":{}}\r\n\r\n',
        b'data:{"choices":[{}],"usage":null}\r\r',
        b": ping\n\n",
        b"\n",
        b'data: {"usage":null',
        b"data: [DONE]\n\n",
    ]
)


@given(st.lists(EVENTS), st.lists(st.integers(0, 2000)))
def test_the_filter_of_a_live_stream_says_what_the_whole_would(
    events: list[bytes], cuts: list[int]
) -> None:
    body = b"".join(events)
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    live = UsageFilter()
    seen = b"".join(live.feed(body[a:b]) for a, b in pairwise(places))

    assert seen + live.finish() == usage.hidden_all(body)


@pytest.mark.parametrize("ends", [b"\n\n\n", b"\r\n\r\n\n"])
def test_a_blank_line_too_many_may_be_half_of_two(ends: bytes) -> None:
    """What is hidden takes the blank lines before it along, wherever the stream was cut."""
    first, last = event(DELTA).rstrip() + ends, b"\n" + event({"choices": [], "usage": TOKENS})
    live = UsageFilter()
    seen = live.feed(first) + live.feed(last) + live.finish()

    assert seen == usage.hidden_all(first + last)


def test_the_filter_gives_an_event_as_soon_as_it_is_complete() -> None:
    assert UsageFilter().feed(event(DELTA | {"usage": None})) == event(DELTA)


def test_all_counts_become_zero_and_nothing_else() -> None:
    body = {
        "usage": TOKENS | {"details": {"cached": 8, "tier": "x", "by": [1, {"n": 2}], "ok": True}},
        "response": {"usage": {"input_tokens": 9}},
        "choices": [{"index": 1}],
    }

    assert usage.zeroed(Endpoint.RESPONSES, body)
    assert body == {
        "usage": {
            "prompt_tokens": 0,
            "completion_tokens": 0,
            "details": {"cached": 0, "tier": "x", "by": [0, {"n": 0}], "ok": True},
        },
        "response": {"usage": {"input_tokens": 0}},
        "choices": [{"index": 1}],
    }


def test_nothing_to_set_to_zero() -> None:
    assert not usage.zeroed(Endpoint.CHAT, {"usage": None, "tools": [{"usage": {"max": 3}}]})
