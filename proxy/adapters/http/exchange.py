"""One connection while a request and its answer are on it."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Final

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_writer import StreamWriter

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncIterator

    from aiohttp.connector import Connection
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

_LINE: Final = 65536
"""Bytes that a status or header line of an upstream may have."""


class Protocol(ResponseHandler):
    """One connection."""

    used = False
    """Whether it has carried a request."""
    idle_since = 0.0
    """When its last answer was whole, by the loop's clock."""

    @property
    def strange(self) -> bool:
        """Whether an answer came that nobody asked for. That an idle connection is given up may be
        said so (408), which is none."""
        return bool(self._tail) or any(head.code != 408 for (head, _), _ in self._buffer)

    @property
    def stirring(self) -> bool:
        """Whether something has come, its end perhaps, that the loop has not read yet: between two
        calls of one turn it reads nothing. Asking the system takes 2 us."""
        transport = self.transport
        if transport is None or transport.is_closing():
            return True
        poll = select.poll()
        poll.register(transport.get_extra_info("socket"), select.POLLIN)
        return bool(poll.poll(0))

    def connection_lost(self, exc: BaseException | None) -> None:
        # aiohttp takes a reset for the end, where a body has no length and comes in no chunks.
        if exc is not None and self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(aiohttp.ClientPayloadError("the connection was reset"))
        super().connection_lost(exc)

    def resume_reading(self, resume_parser: bool = True) -> None:
        # aiohttp has its parser look again after every read, for what only a pause can hold back.
        if self._reading_paused or self._buffer_paused:
            super().resume_reading(resume_parser)


class Exchange:
    """A request on its way out and its answer on its way in. It must be closed, unless its answer
    is read to the end."""

    def __init__(self, connection: Connection, protocol: Protocol) -> None:
        self._connection: Connection | None = connection
        self._protocol = protocol
        self.reused = protocol.used
        """Whether its connection has carried another one before."""
        self._upload: asyncio.Task[None] | None = None
        protocol.used = True

    def send(self, head: bytes, body: bytes | None, *, bare: bool) -> None:
        """Send a request that is here. `bare`: its answer has no body, whatever its head says.

        Raises: aiohttp.ServerDisconnectedError.
        """
        transport = self._ready(bare=bare)
        if body:
            # Not joined: a body may be of many megabytes.
            transport.writelines((head, body))
        else:
            transport.write(head)

    def upload(self, head: bytes, body: AsyncIterator[bytes], *, chunked: bool, bare: bool) -> None:
        """Send a request whose body is still arriving; its answer may come before all of it.

        Raises: aiohttp.ServerDisconnectedError.
        """
        self._ready(bare=bare).write(head)
        loop = self._protocol._loop
        self._upload = loop.create_task(self._uploaded(body, chunked=chunked))

    def _ready(self, *, bare: bool) -> asyncio.Transport:
        protocol, transport = self._protocol, self._protocol.transport
        if transport is None or transport.is_closing():
            raise aiohttp.ServerDisconnectedError
        protocol.set_response_params(
            skip_payload=bare,
            read_until_eof=True,
            auto_decompress=False,
            max_line_size=_LINE,
            max_field_size=_LINE,
            max_headers=1024,
        )
        return transport

    async def _uploaded(self, body: AsyncIterator[bytes], *, chunked: bool) -> None:
        protocol = self._protocol
        writer = StreamWriter(protocol, protocol._loop)
        if chunked:
            writer.enable_chunking()
        try:
            async for chunk in body:
                await writer.write(chunk)
            await writer.write_eof()
        except OSError as error:
            protocol.set_exception(aiohttp.ClientOSError("the request cannot be sent"), error)
        except Exception as error:  # the top of a task; who waits for the answer is to know
            told = aiohttp.ClientConnectionError("the request broke off")
            protocol.set_exception(told, error)

    async def answered(self) -> tuple[RawResponseMessage, StreamReader]:
        """The final answer's head, and its body as it arrives.

        Raises: aiohttp.ClientError, HttpProcessingError, OSError, ValueError.
        """
        while True:
            message, content = await self._protocol.read()
            if message.code >= 200:
                content.on_eof(self._end)
                return message, content
            if message.code == 101 or message.code < 100:
                raise ValueError("a switch of protocols that was not asked for")

    def _end(self) -> None:
        """The whole answer is here: the next request may have the connection, unless this one was
        not sent to its end."""
        if self._unsent() or self._protocol.writing_paused:
            return self.close()
        connection, self._connection = self._connection, None
        if connection is not None:
            self._protocol.idle_since = self._protocol._loop.time()
            connection.release()

    def close(self) -> None:
        """Nobody wants the rest, so it is not read to its end; nothing where it was."""
        self._unsent()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _unsent(self) -> bool:
        return self._upload is not None and self._upload.cancel()
