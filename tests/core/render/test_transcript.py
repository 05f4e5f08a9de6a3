"""What a stream said and how it ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.render import transcript
from proxy.core.render.transcript import Transcript


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", Transcript([], False, False, False)),
        (b': hi\n\ndata:{"a":1}\r\n\r\n', Transcript([{"a": 1}], False, False, False)),
        (b'data: {"a":1}\n\ndata: [DONE]\n\n', Transcript([{"a": 1}], True, False, False)),
        (b"data: [DONE]\n", Transcript([], True, False, False)),
        (b"data: [DONE]\n\n: bye\n\n", Transcript([], True, False, False)),
        (b"data: [DONE]\n\ndata: {}\n\n", Transcript([], True, False, True)),
        (b'data: {"error":null}\n\n', Transcript([{"error": None}], False, False, False)),
        (b'data: {"error":{}}\n\n', Transcript([{"error": {}}], False, False, False)),
        (b'data: {"error":"no"}\n\n', Transcript([{"error": "no"}], False, True, False)),
        (b'data: {"error":1}\n\ndata: {}\n\n', Transcript([{"error": 1}, {}], False, True, False)),
        (b'data: {"type":"error"}\n\n', Transcript([{"type": "error"}], False, True, False)),
        (b'event: error\ndata: {"a":1}\n\n', Transcript([{"a": 1}], False, True, False)),
    ],
)
def test_read(body: bytes, expected: Transcript) -> None:
    assert transcript.read(body) == expected


DONE = b"data: [DONE]\n\n"


@pytest.mark.parametrize(
    "body",
    [
        b"data: {\n\n",
        b"data: 1\n\n",
        b"data: hello\n\n",
        b"data: {}\n\ndata: {\n\n" + DONE,
        b'data: {"a":{}\n\ndata: {}}\n\n' + DONE,
        b"data: {},{}\n\n" + DONE,
        b"data: []\n\n" + DONE,
    ],
)
def test_an_event_that_is_no_object_spoils_the_stream(body: bytes) -> None:
    assert transcript.read(body) is None


EVENTS = (
    b'data: {"a":1}\n\n',
    b'data: {"error":{"message":"no"}}\n\n',
    b'data: {"type":"response.failed"}\n\n',
    b'data: {"a":[{}]}\n\n',
    b'data:{"a":1}\n\n',
    b'event: error\ndata: {"a":2}\n\n',
    b'data: {"a":\ndata: 1}\n\n',
    b'data: {"a":1}\r\n\r\n',
    b"data: [1]\n\n",
    b"data: {\n\n",
    b"data: \n\n",
    b": hi\n\n",
    b"\n",
    DONE,
)


@given(st.lists(st.sampled_from(EVENTS), max_size=5), st.sampled_from([b"", DONE, b"data: [DONE]"]))
def test_a_stream_says_the_same_however_it_is_framed(events: list[bytes], end: bytes) -> None:
    """A comment in front is nothing, but keeps the stream from being read the short way."""
    body = b"".join([*events, end])

    assert transcript.read(body) == transcript.read(b": hi\n\n" + body)
