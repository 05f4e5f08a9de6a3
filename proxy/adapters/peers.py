"""The workers of one machine to each other: a running flight, followed over a Unix socket.

A worker sends `F` and a flight's name (40 bytes) to follow it, `D` and a key (padded) to have it
forgotten. Frames come back, each a letter, a length (4 bytes, big-endian) and that many bytes:
`N` no such flight, `H` the head, `C` a chunk, `E` the end, `X` an error, `K` still waiting.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, Self

import msgspec

from proxy.core.entry import Form
from proxy.core.message import Head
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from proxy.flight import Reader

_NAME: Final = 40
_BEAT: Final = 0.4
_SILENCE: Final = 1.5
"""Seconds without a frame after which an owner counts as frozen: a few beats."""

_BUFFER: Final = 1 << 20
_GONE: Final = ("", "gone", "the worker that had asked is gone")


class _Opening(msgspec.Struct, frozen=True, array_like=True):
    head: Head
    node: str
    asked: Form
    raw: bytes
    counted: bool


class _Trouble(msgspec.Struct, frozen=True, array_like=True):
    node: str
    kind: str
    message: str


class PeerServer:
    """Lets the other workers follow this one's flights."""

    def __init__(
        self,
        board: Callable[[bytes], Reader | None],
        forget: Callable[[bytes], Awaitable[bool]],
        path: Path,
    ) -> None:
        self._board = board
        self._forget = forget
        self._path = path
        self._server: asyncio.Server | None = None
        self._followers: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_unix_server(self._accept, self._path, limit=_BUFFER)

    async def aclose(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._followers):
            task.cancel()
        await asyncio.gather(*self._followers, return_exceptions=True)

    def _accept(self, asks: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(asks, writer))
        self._followers.add(task)
        task.add_done_callback(self._followers.discard)

    async def _serve(self, asks: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await asks.readexactly(1 + _NAME)
            if asked[:1] == b"D":
                _write(writer, b"E", b"1" if await self._forget(asked[1:33]) else b"")
            elif (reader := self._board(asked[1:])) is None:
                _write(writer, b"N")
            else:
                async with _while_there(asks):
                    await self._send(reader, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the follower left
        finally:
            writer.close()

    async def _send(self, reader: Reader, writer: asyncio.StreamWriter) -> None:
        flight = reader.flight
        beat = asyncio.get_running_loop().create_task(_beat(writer))
        try:
            head = await reader.head()
            if flight.found is not None:
                return _write(writer, b"N")  # it lies in the tiers, where the follower looks next
            about = (flight.node, flight.asked, flight.raw, flight.counted)
            _write(writer, b"H", msgspec.msgpack.encode(_Opening(_text(head), *about)))
            async for chunk in reader:
                _write(writer, b"C", chunk)
                await writer.drain()
            _write(writer, b"E")
        except UpstreamError as error:
            trouble = msgspec.msgpack.encode(_Trouble(error.node, error.kind, str(error)))
            _write(writer, b"X", trouble)
        except OSError:
            raise
        except Exception:  # whatever else the flight met, the follower will meet it itself
            _write(writer, b"N")
        finally:
            beat.cancel()
            await reader.aclose()


@asynccontextmanager
async def _while_there(asks: asyncio.StreamReader) -> AsyncIterator[None]:
    """Cancels what it surrounds once the follower leaves: after its question it says no more."""
    task = asyncio.current_task()
    assert task is not None

    def left(reading: asyncio.Task[bytes]) -> None:
        reading.exception()
        task.cancel()

    reading = asyncio.get_running_loop().create_task(asks.read())
    reading.add_done_callback(left)
    try:
        yield
    finally:
        reading.remove_done_callback(left)
        reading.cancel()


def _text(head: Head) -> Head:
    """Without what is no text: it cannot be encoded, and clients share none of it."""
    headers = tuple(pair for pair in head.headers if "".join(pair).isprintable())
    return Head(head.status, headers, head.reason if head.reason.isprintable() else "")


async def _beat(writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionResetError):
        while True:
            await asyncio.sleep(_BEAT)
            _write(writer, b"K")


def _write(writer: asyncio.StreamWriter, letter: bytes, data: bytes = b"") -> None:
    if writer.transport.is_closing():
        raise ConnectionResetError
    writer.writelines((letter, len(data).to_bytes(4, "big"), data))


class FollowedFlight:
    """Another worker's answer, while it arrives there."""

    def __init__(self, frames: _Frames, opening: _Opening) -> None:
        self.head, self.node, self.raw = opening.head, opening.node, opening.raw
        self.asked: Form = opening.asked
        self.counted = opening.counted
        self._frames = frames

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        letter, data = await self._frames.next()
        if letter == b"C":
            return data
        if letter == b"E":
            raise StopAsyncIteration
        raise _error(data) if letter == b"X" else UpstreamError(*_GONE)

    async def aclose(self) -> None:
        self._frames.close()


class _Frames:
    """What an owner sends, without its heartbeats."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def next(self) -> tuple[bytes, bytes]:
        """Raises UpstreamError where the owner is gone or silent."""
        try:
            while True:
                async with asyncio.timeout(_SILENCE):
                    start = await self._reader.readexactly(5)
                    data = await self._reader.readexactly(int.from_bytes(start[1:], "big"))
                if start[:1] != b"K":
                    return start[:1], data
        except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
            raise UpstreamError(*_GONE) from error

    def close(self) -> None:
        self._writer.close()


class UnixPeers:
    """Follows flights of the other workers; an owner's address is the path of its socket."""

    async def follow(self, owner: str, name: bytes) -> FollowedFlight | None:
        """As in `ports.Peers`. Raises: UpstreamError."""
        frames, letter, data = await _asked(owner, b"F" + name)
        if letter == b"H":
            return FollowedFlight(frames, msgspec.msgpack.decode(data, type=_Opening))
        frames.close()
        if letter == b"X":
            raise _error(data)
        return None

    async def forget(self, owner: str, key: bytes) -> bool:
        """Have another worker forget a key; whether it had it. Raises: UpstreamError."""
        frames, _, had = await _asked(owner, b"D" + key.ljust(_NAME, b"\0"))
        frames.close()
        return bool(had)


async def _asked(owner: str, what: bytes) -> tuple[_Frames, bytes, bytes]:
    """The first frame of the answer. Raises: UpstreamError."""
    try:
        async with asyncio.timeout(_SILENCE):
            reader, writer = await asyncio.open_unix_connection(owner, limit=_BUFFER)
    except (OSError, TimeoutError) as error:
        raise UpstreamError(*_GONE) from error
    frames = _Frames(reader, writer)
    try:
        writer.write(what)
        letter, data = await frames.next()
    except BaseException:
        frames.close()
        raise
    return frames, letter, data


class NoPeers:
    """One worker has nobody to follow."""

    async def follow(self, owner: str, name: bytes) -> None:
        return None


def _error(data: bytes) -> UpstreamError:
    trouble = msgspec.msgpack.decode(data, type=_Trouble)
    return UpstreamError(trouble.node, trouble.kind, trouble.message)
