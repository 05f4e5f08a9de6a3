"""An upstream that costs next to nothing: fixed answers from a bare protocol.

Run as `python -m tests.bench.origin PORT`.
"""

from __future__ import annotations

import asyncio
import re
import sys
from typing import Final, cast

import uvloop

from tests.bench.traffic import ANSWER, EVENTS

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_JSON: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    % (len(ANSWER), ANSWER)
)
_STREAM: Final = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"%x\r\n%b\r\n0\r\n\r\n" % (len(EVENTS), EVENTS)
)


class Origin(asyncio.Protocol):
    """One connection. Takes requests that state their length."""

    def __init__(self) -> None:
        self._held = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's own class is none of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        held = self._held + data if self._held else data
        while (end := held.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(held, 0, end)
            size = end + 4 + (int(length[1]) if length else 0)
            if len(held) < size:
                break
            assert self._transport is not None
            self._transport.write(self.answered(held[:size]))
            held = held[size:]
        self._held = held

    def answered(self, request: bytes) -> bytes:
        """What is sent back."""
        return _STREAM if b'"stream":true' in request else _JSON


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Origin, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))
