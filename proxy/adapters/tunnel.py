"""WebSocket upgrades: the handshake and all that follows, byte for byte both ways.

Nothing is parsed after the handshake, so subprotocols, extensions, binary frames and close codes
are what the two ends make of them.
"""

from __future__ import annotations

import asyncio
import re
import ssl
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from aiohttp import web

from proxy.core.endpoint import target
from proxy.core.errors import RefusedError
from proxy.core.headers import with_credential, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.config import Upstream as Settings
    from proxy.core.message import Headers

_PIECE: Final = 65536
_AHEAD: Final = 1 << 20
"""Bytes that may wait for a slow upstream before its client is made to wait."""

_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_OWN: Final = frozenset(("host",))


class Tunnel:
    """Relays upgrades to one node."""

    def __init__(
        self,
        settings: Settings,
        credential: str | None,
        sender: Callable[[Headers], str | None],
    ) -> None:
        """`sender`: the credential to send for a client, None for its own; it may refuse."""
        url = urlsplit(settings.url)
        self._settings = settings
        self._secure = url.scheme == "https"
        self._host = url.hostname or ""
        self._authority = url.netloc.rpartition("@")[2]
        self._port = url.port or (443 if self._secure else 80)
        self._base = url.path
        self._credential = credential
        self._sender = sender

    async def relay(
        self, request: web.BaseRequest, path: str, headers: Headers
    ) -> web.StreamResponse:
        """From the handshake until both ends have closed. Raises: RefusedError."""
        given = self._sender(headers) or self._credential
        reader, writer = await self._connect()
        try:
            writer.write(self._handshake(request.method, path, headers, given))
            both = _Both(request, writer)
            request.protocol.set_parser(both)  # type: ignore[arg-type]  # what follows is no HTTP
            await both.down(reader)
        finally:
            writer.close()
        done = _Relayed(status=both.status)
        done.force_close()
        return done

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        context: ssl.SSLContext | None = None
        if self._secure:
            context = ssl.create_default_context()
            if not self._settings.verify_tls:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
        node = self._settings.name
        try:
            async with asyncio.timeout(self._settings.connect_timeout or None):
                return await asyncio.open_connection(self._host, self._port, ssl=context)
        except (OSError, TimeoutError) as error:
            told = f"upstream {node} cannot be reached"
            raise RefusedError(502, told, code="upstream_error") from error

    def _handshake(self, method: str, path: str, headers: Headers, given: str | None) -> bytes:
        if given is not None:
            headers = with_credential(headers, given)
        raw, question, query = path.partition("?")
        lines = [f"{method} {target(self._base, raw)}{question}{query} HTTP/1.1"]
        lines.append(f"Host: {self._authority}")
        lines += [f"{name}: {value}" for name, value in without(headers, _OWN)]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


class _Both:
    """Both directions of one relay; as aiohttp's payload parser it is given the client's bytes."""

    def __init__(self, request: web.BaseRequest, upstream: asyncio.StreamWriter) -> None:
        self._client = request.transport
        self._writer = request.writer
        self._upstream = upstream
        self.status = 502
        """What the upstream answered; this, as long as it did not."""
        self._open = True
        """False once the upstream has declined: what the client sends then is not for it."""
        self._held: asyncio.Task[None] | None = None

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        if self._open and not self._upstream.is_closing():
            self._upstream.write(data)
            waiting = self._upstream.transport.get_write_buffer_size()
            if waiting > _AHEAD and self._client is not None and self._held is None:
                self._client.pause_reading()
                self._held = asyncio.get_running_loop().create_task(self._resume(self._client))
        return False, b""

    async def _resume(self, client: asyncio.Transport) -> None:
        with suppress(OSError, RuntimeError):  # either end may have closed meanwhile
            await self._upstream.drain()
            client.resume_reading()
        self._held = None

    def feed_eof(self) -> None:
        with suppress(OSError):
            self._upstream.close()

    async def down(self, reader: asyncio.StreamReader) -> None:
        """Upstream's bytes to the client, from the handshake's answer to the end."""
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            head = await reader.readuntil(b"\r\n\r\n")
            told = head.split(b" ", 2)[1:2]
            self.status = int(told[0]) if told and told[0].isdigit() else 502
            if self.status != 101:
                self._open = False
                return await self._declined(head, reader)
            await self._pass(head)
            while data := await reader.read(_PIECE):
                await self._pass(data)

    async def _declined(self, head: bytes, reader: asyncio.StreamReader) -> None:
        """The refusal, whole; then the connection ends, since its next request is for the proxy."""
        await self._pass(head)
        length = _LENGTH.search(head)
        left = int(length[1]) if length else None
        tail = b""
        while left is None or left > 0:
            data = await reader.read(_PIECE if left is None else min(left, _PIECE))
            if not data:
                return
            await self._pass(data)
            left = None if left is None else left - len(data)
            tail = (tail + data)[-5:]
            if left is None and tail == b"0\r\n\r\n":
                return

    async def _pass(self, data: bytes) -> None:
        if self._client is None or self._client.is_closing():
            raise ConnectionResetError
        self._client.write(data)
        await self._writer.drain()


class _Relayed(web.StreamResponse):
    """Stands for what was relayed already: nothing more is written."""

    async def prepare(self, request: web.BaseRequest) -> None:
        return None

    async def write_eof(self, data: bytes = b"") -> None:
        return None
