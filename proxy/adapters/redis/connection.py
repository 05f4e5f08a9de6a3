"""One connection to a Redis server: commands out, replies back in their order."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

import hiredis

if TYPE_CHECKING:
    from collections.abc import Callable

Part: TypeAlias = "bytes | str | int | float"
"""Of a command."""

_CALLS: Final = 4096
"""Replies that may be outstanding: more are refused, so that a server that is silent costs no
memory."""
_UNSENT: Final = 16 << 20
"""Bytes that may wait for the network."""
_LARGEST: Final = 64 << 20
"""Bytes of a reply; a longer one is nothing that was stored by us."""
_WEIGHT: Final = 16 << 10
"""Bytes of a command that count as much as one more call."""


def packed(*parts: Part) -> bytes:
    """A command as it is sent."""
    # The types that hiredis brings along say that a command has one part.
    return bytes(hiredis.pack_command(parts))  # type: ignore[arg-type]


class Call:
    """A command on its way. The reply is matched by its place in the line and by nothing else: a
    call that nobody waits for any more keeps its place."""

    __slots__ = ("future", "packed", "skip", "write")

    def __init__(self, packed: bytes, future: asyncio.Future[Any], *, write: bool = False) -> None:
        self.packed = packed
        self.write = write
        self.future = future
        self.skip = 0
        """Replies to drop before the one that counts: of what was packed before the command."""

    def answer(self, reply: Any) -> None:
        """Called once, with the reply; an error that Redis answered is one too."""
        if not self.future.done():
            self.future.set_result(reply)

    def fail(self, error: Exception) -> None:
        """Called instead of `answer`, where there will be no reply."""
        # A value, not an exception: of several replies to a handshake not all may be looked at.
        self.answer(ConnectionError(str(error)))


class Connection(asyncio.Protocol):
    """What a loop turn sends leaves in one write. Knows nothing of time: who waits, waits with a
    limit of its own."""

    def __init__(self, lost: Callable[[Connection, list[Call], Exception], None]) -> None:
        """`lost`: called once, with the calls that get no reply."""
        self._lost = lost
        self._reader = hiredis.Reader()
        self._calls: deque[Call] = deque()
        self._out: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._bytes = 0
        self._unread = 0
        self.heard = True
        """Set whenever something arrives; for who wants to know whether it is silent."""

    @property
    def closed(self) -> bool:
        """Whether it is over."""
        return self._transport is None

    @property
    def load(self) -> int:
        """How busy it is: what there is no reply to yet."""
        return len(self._calls) + self._bytes // _WEIGHT

    @property
    def full(self) -> bool:
        """Whether nothing more should be sent."""
        unsent = self._transport.get_write_buffer_size() if self._transport else 0
        return len(self._calls) >= _CALLS or unsent > _UNSENT

    def send(self, call: Call) -> None:
        """Put a command into the line."""
        if self._transport is None:
            call.fail(ConnectionError("closed"))
            return
        self._calls.append(call)
        self._bytes += len(call.packed)
        self._out.append(call.packed)
        if len(self._out) == 1:
            asyncio.get_running_loop().call_soon(self._flush)

    def close(self, error: Exception) -> None:
        """End it now; what is outstanding fails."""
        transport, self._transport = self._transport, None
        if transport is not None:
            transport.abort()
            self._end(error)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Whatever the loop: what a stream protocol gets is a stream's transport.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.heard = True
        try:
            self._reader.feed(data)
            self._unread += len(data)
            while (reply := self._reader.gets()) is not False:
                self._unread = 0
                self._reply(reply)
        except hiredis.ProtocolError as error:
            self.close(error)
        if self._unread > _LARGEST:
            self.close(ValueError("a reply without an end"))

    def connection_lost(self, error: Exception | None) -> None:
        if self._transport is not None:
            self._transport = None
            self._end(error or ConnectionResetError("closed by the server"))

    def _reply(self, reply: Any) -> None:
        if not self._calls:
            self.close(ValueError("a reply that nobody asked for"))
            return
        call = self._calls[0]
        if call.skip:
            call.skip -= 1
            return
        self._calls.popleft()
        self._bytes -= len(call.packed)
        call.answer(reply)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self._transport is not None:
            self._transport.write(b"".join(out))

    def _end(self, error: Exception) -> None:
        calls, self._calls = list(self._calls), deque()
        self._lost(self, calls, error)
