"""Server-sent events as bytes: where one ends and the next begins, what one carries."""

from __future__ import annotations

import re
from typing import Final

# Where an event ends. After a line that ends in a lone CR the blank line is taken to be its first
# byte, since a further LF would only be one more blank line, which means nothing. Thus no event
# of a CR-only stream waits for its successor, and every chunking gives the same pieces.
_END: Final = re.compile(rb"\n(?:\n|\r\n|\r)|\r\r")
# After a line that ends in LF a CR may be half of a CRLF: the next byte must be known.
_COMPLETE: Final = (b"\n\n", b"\n\r\n", b"\r\r")
_BOM: Final = b"\xef\xbb\xbf"

DONE: Final = b"data: [DONE]\n\n"
"""The end marker of chat and completions streams."""


def split(body: bytes) -> list[bytes]:
    """The events of a whole stream, in raw bytes; an unfinished last one included.

    Joined they are the body again. Blank lines too many come with the piece that follows them.
    """
    if b"\r" in body:
        return _split_any(body)
    # The common framing, three times as fast as the expression.
    pieces = body.split(b"\n\n")
    last = pieces.pop()
    events = [piece + b"\n\n" for piece in pieces]
    return [*events, last] if last else events


def _split_any(body: bytes) -> list[bytes]:
    events = []
    start = 0
    for end in _END.finditer(body):
        events.append(body[start : end.end()])
        start = end.end()
    return [*events, body[start:]] if start < len(body) else events


class Splitter:
    """The same for a stream that is arriving: `feed` gives the events that are complete."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self.held = 0
        """Bytes that came after the last complete event."""

    @property
    def pending(self) -> bytes:
        """What came after the last complete event."""
        return b"".join(self._parts)

    def feed(self, data: bytes) -> list[bytes]:
        """The events that these bytes complete, each in its raw bytes with its blank line."""
        if not data:
            return []
        if self._parts:
            # Megabytes of base64 come in one line: they are joined once, at its end.
            if b"\n" not in data and b"\r" not in data and not self._parts[-1].endswith(b"\r"):
                self._parts.append(data)
                self.held += len(data)
                return []
            data = b"".join((*self._parts, data))
        events = split(data)
        self._parts = [] if events[-1].endswith(_COMPLETE) else [events.pop()]
        self.held = sum(map(len, self._parts))
        return events

    def release(self) -> bytes:
        """What is held, given up as the start of an event whose rest will look like another."""
        held, self._parts, self.held = self.pending, [], 0
        return held


def data(event: bytes) -> bytes | None:
    """What an event carries: its `data` lines, joined by LF. None if it has none."""
    if event.startswith(b"data: ") and event.find(b"\n") == len(event) - 2 and b"\r" not in event:
        return event[6:-2]
    lines = _field(event, b"data")
    return b"\n".join(lines) if lines else None


def name(event: bytes) -> str:
    """The event's own name, or empty."""
    lines = _field(event, b"event")
    return lines[-1].decode("utf-8", "replace") if lines else ""


def _field(event: bytes, field: bytes) -> list[bytes]:
    values = []
    for line in event.removeprefix(_BOM).splitlines():
        spelled, _, value = line.partition(b":")
        if spelled == field:
            values.append(value.removeprefix(b" "))
    return values


def frame(payload: bytes, name: str = "") -> bytes:
    """An event that carries `payload`, which has no line ends."""
    head = b"event: %b\n" % name.encode() if name else b""
    return b"%bdata: %b\n\n" % (head, payload)


def rewritten(event: bytes, payload: bytes) -> bytes:
    """The event with another payload; its other lines and its framing stay."""
    old = data(event)
    head, found, tail = event.partition(old) if old else (b"", b"", b"")
    return head + payload + tail if found else frame(payload, name(event))
