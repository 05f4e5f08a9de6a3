"""The side that has flights: lets other workers follow them from the first byte."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from socket import AI_PASSIVE, SOCK_STREAM
from typing import TYPE_CHECKING, Final

from proxy.adapters.peers.frames import (
    ABSENT,
    CHUNK,
    END,
    FOLLOW,
    FORGET,
    HEAD,
    KEYS,
    PURGE,
    TROUBLE,
    UNHELD,
    failed,
    keys,
    opened,
)
from proxy.adapters.peers.link import SILENCE, Link, answer
from proxy.adapters.peers.seal import Secret
from proxy.ports import UpstreamError
from proxy.tasks import ended

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
    from pathlib import Path

    from proxy.core.entry import Key
    from proxy.flight import Reader

_BEAT: Final = 0.4

_PIECE: Final = 1 << 16
"""Bytes of a frame: small enough for a slow line to bring one before it counts as silent."""

_QUESTION: Final = 1 << 12
"""Bytes that are read ahead of who asks; a question has a few dozen."""

_BACKLOG: Final = 1024
_FOLLOWERS: Final = 8192
"""Connections in all; who is turned away asks again, and flies alone in the end."""


@dataclass(frozen=True, slots=True)
class Remote:
    """Where other machines may ask, and the secret that they have to know."""

    host: str
    port: int
    """0: any free one."""
    secret: bytes = field(repr=False)
    strangers: int = 512
    """Connections that have proved nothing yet, at most; the oldest goes first, as peers need but
    a moment."""


def address(host: str, port: int) -> str:
    """How others name a worker that listens there."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class PeerServer:
    """Lets other workers follow this one's flights, have it forget keys, and ask what it has."""

    def __init__(
        self,
        board: Callable[[bytes], Reader | None],
        forget: Callable[[bytes, float], Awaitable[bool]],
        path: Path,
        remote: Remote | None = None,
        *,
        unheld: Callable[[Sequence[Key]], Awaitable[Sequence[Key] | None]] | None = None,
    ) -> None:
        """`unheld`: those of some keys that no tier of this worker's own holds; None, also of what
        it says: nobody can tell."""
        self._unheld = unheld
        self._board = board
        self._forget = forget
        self._path = path
        self._remote = remote
        self._servers: list[asyncio.Server] = []
        self._followers: set[asyncio.Task[None]] = set()
        self._strangers: dict[asyncio.Task[None], None] = {}

    async def start(self) -> int:
        """The TCP port that is listened on; 0: none. Raises: OSError."""
        local = partial(self._accept, None)
        options = {"limit": _QUESTION, "backlog": _BACKLOG}
        self._servers.append(await asyncio.start_unix_server(local, self._path, **options))
        if self._remote is None:
            return 0
        accept = partial(self._accept, Secret(self._remote.secret))
        host, port = await _resolved(self._remote)
        server = await asyncio.start_server(accept, host, port, **options)
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    async def aclose(self) -> None:
        for server in self._servers:
            server.close()
        await ended(self._followers)

    def _accept(
        self, secret: Secret | None, asks: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._followers) >= _FOLLOWERS:
            writer.transport.abort()
            return
        task = asyncio.get_running_loop().create_task(self._serve(secret, asks, writer))
        self._followers.add(task)
        task.add_done_callback(self._followers.discard)
        if secret is not None:
            self._doubt(task)

    def _doubt(self, task: asyncio.Task[None]) -> None:
        assert self._remote is not None
        self._strangers[task] = None
        task.add_done_callback(self._known)
        if len(self._strangers) > self._remote.strangers:
            oldest = next(iter(self._strangers))
            oldest.cancel()
            self._known(oldest)

    def _known(self, task: asyncio.Task[None]) -> None:
        self._strangers.pop(task, None)

    async def _serve(
        self, secret: Secret | None, asks: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            async with asyncio.timeout(SILENCE):
                link = Link(asks, writer) if secret is None else await answer(asks, writer, secret)
                asked = await link.asked()
            task = asyncio.current_task()
            assert task is not None
            self._known(task)
            await self._answer(asked[:1], asked[1:], link)
            link.close()
        except OSError:
            pass  # the follower left, or was none
        finally:
            if not writer.transport.is_closing():
                writer.transport.abort()

    async def _answer(self, letter: bytes, name: bytes, link: Link) -> None:
        async with _beating(link):
            if letter == FORGET:
                link.write(END, b"1" if await self._forget(*PURGE.unpack(name)) else b"")
            elif letter == UNHELD:
                await self._told(link)
            elif letter != FOLLOW or (reader := self._board(name)) is None:
                link.write(ABSENT)
            else:
                async with _while_there(link):
                    await _send(reader, link)
        await link.drain()

    async def _told(self, link: Link) -> None:
        """Answer which of the keys in the next frame are not held."""
        letter, data = await link.next()
        found = None
        if letter == KEYS and self._unheld is not None:
            found = await self._unheld(keys(data))
        if found is None:
            link.write(ABSENT)
        else:
            link.write(KEYS, b"".join(found))


async def _send(reader: Reader, link: Link) -> None:
    """The flight, to its end."""
    try:
        head = await reader.head()
        if reader.flight.found is not None:
            return link.write(ABSENT)  # it lies in the tiers, where the follower looks next
        link.write(HEAD, opened(reader.flight, head))
        async for chunk in reader:
            view = memoryview(chunk)
            for start in range(0, len(view), _PIECE):
                link.write(CHUNK, view[start : start + _PIECE])
                await link.drain()
        link.write(END)
    except UpstreamError as error:
        link.write(TROUBLE, failed(error))
    except OSError:
        raise
    except Exception:  # whatever else the flight met, the follower will meet it itself
        link.write(ABSENT)
    finally:
        await reader.aclose()


@asynccontextmanager
async def _while_there(link: Link) -> AsyncIterator[None]:
    """Cancels what it surrounds once the follower leaves: after its question it says no more."""
    task = asyncio.current_task()
    assert task is not None

    def left(leaving: asyncio.Task[None]) -> None:
        leaving.exception()
        task.cancel()

    leaving = asyncio.get_running_loop().create_task(link.left())
    leaving.add_done_callback(left)
    try:
        yield
    finally:
        leaving.remove_done_callback(left)
        leaving.cancel()


@asynccontextmanager
async def _beating(link: Link) -> AsyncIterator[None]:
    """Says meanwhile that this worker lives."""
    beats = asyncio.get_running_loop().create_task(_beat(link))
    try:
        yield
    finally:
        beats.cancel()


async def _beat(link: Link) -> None:
    with suppress(ConnectionError):
        while True:
            await asyncio.sleep(_BEAT)
            link.beat()


async def _resolved(remote: Remote) -> tuple[str, int]:
    """The first address of a host: one of several would be bound to a port of its own."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        remote.host or None, remote.port, type=SOCK_STREAM, flags=AI_PASSIVE
    )
    host, port = found[0][4][:2]
    return str(host), int(port)
