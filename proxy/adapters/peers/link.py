"""A connection of two workers: plain inside a machine, sealed with the secret between machines."""

from __future__ import annotations

import asyncio
import secrets
import socket
from typing import TYPE_CHECKING, Final

from proxy.adapters.peers.frames import BEAT, NAME
from proxy.adapters.peers.seal import HELLO, NONCE, TAG

if TYPE_CHECKING:
    from proxy.adapters.peers.seal import Seal, Secret

SILENCE: Final = 1.5
"""Seconds without a word after which the other side counts as frozen: a few beats."""

_AWAKE: Final = 0.3
"""Seconds more for what lay unread while this process itself stood still: else everyone would
seem silent to a process that was frozen."""

_BUFFER: Final = 1 << 20
_FRAME: Final = 1 << 20
"""Bytes of a frame at most; more is said by no worker of ours."""

_LOST: Final = 10_000
"""Milliseconds without a receipt after which a machine is given up that no longer answers."""


class Link:
    """What is said over a connection. Any trouble is an OSError, and the end of the connection."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        seals: tuple[Seal, Seal] | None = None,
    ) -> None:
        """`seals`: for what is said here and for what is heard; None: nothing is sealed."""
        self._reader, self._writer = reader, writer
        self._out = self._in = None
        if seals is not None:
            self._out, self._in = seals

    def ask(self, what: bytes) -> None:
        """The one question; as long as a letter and a name."""
        self._writer.write(what if self._out is None else self._out.close(what))

    async def asked(self) -> bytes:
        """The question of the other side."""
        return self._opened(await _exactly(self._reader, self._sealed(1 + NAME)))

    def write(self, letter: bytes, data: bytes | memoryview = b"") -> None:
        """Send a frame. Raises: ConnectionError."""
        if self._writer.transport.is_closing():
            raise ConnectionResetError
        header = letter + len(data).to_bytes(4, "big")
        sealed = data if self._out is None else self._out.close(data, header)
        self._writer.writelines((header, sealed))

    def beat(self) -> None:
        """Say that we live, unless the other side has not read all yet that it was told."""
        if not self._writer.transport.get_write_buffer_size():
            self.write(BEAT)

    async def drain(self) -> None:
        """Wait until the other side has read most of it."""
        await self._writer.drain()

    async def next(self) -> tuple[bytes, bytes]:
        """The next frame that is no beat. Raises: OSError, where the other side is silent too."""
        while True:
            header = await self._heard(5)
            size = int.from_bytes(header[1:], "big")
            if size > _FRAME:
                raise ConnectionAbortedError("a frame too long")
            data = self._opened(await self._heard(self._sealed(size)), header)
            if header[:1] != BEAT:
                return header[:1], data

    async def _heard(self, size: int) -> bytes:
        # A read that is cancelled takes nothing, so that the second one misses nothing.
        try:
            async with asyncio.timeout(SILENCE):
                return await _exactly(self._reader, size)
        except TimeoutError:
            async with asyncio.timeout(_AWAKE):
                return await _exactly(self._reader, size)

    def _sealed(self, size: int) -> int:
        return size if self._in is None else size + TAG

    def _opened(self, data: bytes, beside: bytes = b"") -> bytes:
        return data if self._in is None else self._in.open(data, beside)

    async def left(self) -> None:
        """Returns once the other side leaves, or says more than its question."""
        await self._reader.read(1)

    def close(self) -> None:
        """Once all is sent."""
        self._writer.close()

    def abort(self) -> None:
        """At once."""
        self._writer.transport.abort()


class StrangerError(ConnectionError):
    """The other side hung up at our greeting: most likely it has another secret."""


async def call(owner: str, secret: Secret | None) -> Link:
    """A link to the worker with this address, a socket's path or host:port. Raises: OSError."""
    try:
        if owner.startswith("/"):
            return Link(*await asyncio.open_unix_connection(owner, limit=_BUFFER))
        host, _, port = owner.rpartition(":")
        if secret is None or not host:
            raise ConnectionRefusedError("out of reach")
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port), limit=_BUFFER)
    except (OverflowError, ValueError) as error:
        raise ConnectionRefusedError("no address") from error
    return await _greeted(reader, writer, secret)


async def _greeted(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: Secret
) -> Link:
    try:
        nonce = secrets.token_bytes(NONCE)
        writer.write(secret.hello(nonce))
        seals = secret.seals(nonce, await _exactly(reader, NONCE))
    except ConnectionError as error:
        writer.transport.abort()
        raise StrangerError(str(error)) from error
    except BaseException:
        writer.transport.abort()
        raise
    return Link(reader, writer, seals)


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: Secret
) -> Link:
    """The link to who connected from another machine. Raises: OSError for a stranger."""
    _watch(writer)
    asking, asked = secret.nonce(await _exactly(reader, HELLO)), secrets.token_bytes(NONCE)
    writer.write(asked)
    heard, said = secret.seals(asking, asked)
    return Link(reader, writer, (said, heard))


def _watch(writer: asyncio.StreamWriter) -> None:
    """Beats that are not received end the connection: a machine that is cut off says no goodbye."""
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _LOST)


async def _exactly(reader: asyncio.StreamReader, size: int) -> bytes:
    try:
        return await reader.readexactly(size)
    except asyncio.IncompleteReadError as error:
        raise ConnectionResetError from error
