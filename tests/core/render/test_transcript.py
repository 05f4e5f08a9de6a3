"""What a stream said and how it ended."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("body", [b"data: {\n\n", b"data: 1\n\n", b"data: hello\n\n"])
def test_an_event_that_is_no_object_spoils_the_stream(body: bytes) -> None:
    assert transcript.read(body) is None
