"""Events are found whatever their framing and however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import sse

LINE_ENDS = [b"\n", b"\r\n", b"\r"]
# Little alphabet, so that framings meet in every mixture.
STREAMS = st.lists(
    st.sampled_from(
        [b"data: a", b"data:", b":", b"x", b" ", b"\n", b"\r", b"\r\n", "é€😀".encode()]
    ),
    max_size=40,
).map(b"".join)


def chunked(body: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(body) + 1) for cut in cuts), len(body)]
    return [body[a:b] for a, b in pairwise(places)]


@given(STREAMS, st.lists(st.integers(0, 500)))
def test_any_chunking_gives_the_same_events(body: bytes, cuts: list[int]) -> None:
    splitter = sse.Splitter()
    fed = [event for chunk in chunked(body, cuts) for event in splitter.feed(chunk)]
    rest = splitter.pending

    assert fed + ([rest] if rest else []) == sse.split(body)
    assert b"".join(fed) + rest == body


@given(STREAMS)
def test_events_dispatch_as_the_standard_says(body: bytes) -> None:
    """A line by line reading of WHATWG's rules finds the same payloads in the same order."""
    payloads: list[bytes] = []
    lines: list[bytes] = []
    for line in body.splitlines(keepends=True):
        text = line.rstrip(b"\r\n")
        if not text and line:
            payloads += [b"\n".join(lines)] if lines else []
            lines = []
        elif line != text and text.split(b":")[0] == b"data":
            lines.append(text.partition(b":")[2].removeprefix(b" "))
    splitter = sse.Splitter()
    found = [sse.data(event) for event in splitter.feed(body)]
    left = sse.data(splitter.pending) if splitter.pending.endswith((b"\n\r", b"\r\n\r")) else None

    assert [one for one in [*found, left] if one is not None] == payloads


@pytest.mark.parametrize("end", LINE_ENDS)
def test_each_line_end_separates_lines_and_events(end: bytes) -> None:
    body = end.join([b"event: e", b"data: 1", b"data:2", b"", b"data: 3", b"", b""])
    first, second = sse.split(body)

    assert (sse.name(first), sse.data(first)) == ("e", b"1\n2")
    assert (sse.name(second), sse.data(second)) == ("", b"3")


@pytest.mark.parametrize("end", [b"\n", b"\r"])
def test_an_event_is_given_with_the_last_byte_of_its_blank_line(end: bytes) -> None:
    assert sse.Splitter().feed(b"data: 1" + end + end) == [b"data: 1" + end + end]


def test_a_crlf_cut_in_half_stays_one_line_end() -> None:
    splitter = sse.Splitter()

    assert splitter.feed(b"data: 1\r\n\r") == []
    assert splitter.feed(b"\ndata: 2\r") == [b"data: 1\r\n\r\n"]
    assert splitter.feed(b"") == []
    assert splitter.feed(b"\n\r\n") == [b"data: 2\r\n\r\n"]
    assert splitter.pending == b""


def test_a_held_cr_is_released_by_any_next_byte() -> None:
    splitter = sse.Splitter()
    splitter.feed(b"data: 1\n\r")

    assert splitter.feed(b"d") == [b"data: 1\n\r"]


def test_an_event_of_a_megabyte_comes_whole() -> None:
    splitter = sse.Splitter()
    event = b"data: " + b"x" * 1_000_000 + b"\n\n"
    pieces = [event[i : i + 4096] for i in range(0, len(event), 4096)]

    assert [one for piece in pieces for one in splitter.feed(piece)] == [event]


@pytest.mark.parametrize(
    ("event", "carried"),
    [
        (b"data: {}\n\n", b"{}"),
        (b"data:{}\r\n\r\n", b"{}"),
        (b"data:  {}\n\n", b" {}"),
        (b"data:  {} \r\n\r\n", b" {} "),
        (b"data\n\n", b""),
        (b"\xef\xbb\xbfdata: {}\n\n", b"{}"),
        (b": keep-alive\n\n", None),
        (b": c\nid: 7\ndata: {}\n\n", b"{}"),
        (b"data: [1,\ndata: 2]\n\n", b"[1,\n2]"),
        (b"data: a\rdata: b\n\n", b"a\nb"),
        (b"data-x: a\n\n", None),
        (b"", None),
    ],
)
def test_data_of_an_event(event: bytes, carried: bytes | None) -> None:
    assert sse.data(event) == carried


def test_a_character_cut_by_a_chunk_is_whole_again() -> None:
    text = "退款流程 👩‍👩‍👧".encode()
    event = b"data: " + text + b"\n\n"
    splitter = sse.Splitter()
    found = [one for byte in event for one in splitter.feed(bytes([byte]))]

    assert [sse.data(one) for one in found] == [text]


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (b"id: 1\r\ndata:{}\r\nevent: e\r\n\r\n", b"id: 1\r\ndata:[]\r\nevent: e\r\n\r\n"),
        (b"event: e\ndata: {\ndata: }\n\n", b"event: e\ndata: []\n\n"),
    ],
)
def test_another_payload_leaves_the_rest_of_an_event(event: bytes, expected: bytes) -> None:
    assert sse.rewritten(event, b"[]") == expected


def test_a_framed_payload_is_read_back() -> None:
    event = sse.frame(b"{}", "message_stop")

    assert (sse.name(event), sse.data(event)) == ("message_stop", b"{}")
    assert sse.split(event + sse.DONE) == [event, sse.DONE]


def test_what_is_held_can_be_given_up() -> None:
    """An event without end would otherwise be held without end."""
    splitter = sse.Splitter()
    assert splitter.feed(b"data: 1\n\ndata: ") == [b"data: 1\n\n"]
    assert splitter.feed(b"22") == []
    assert splitter.held == 8

    assert splitter.release() == b"data: 22"
    assert splitter.held == 0
    assert splitter.feed(b"3\n\n") == [b"3\n\n"]
