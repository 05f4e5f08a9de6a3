"""A raw HTTP client: sends exactly the bytes it is given and hides nothing of what comes back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType

    from tests.reply import Headers

_LIMIT = 1 << 20


class CutError(Exception):
    """The body ended before its framing said so; `body` is what came."""

    def __init__(self, body: bytes = b"") -> None:
        super().__init__("the body ended early")
        self.body = body


@dataclass(frozen=True)
class Head:
    version: str
    status: int
    reason: str
    headers: Headers

    def all(self, name: str) -> list[str]:
        """Every value of a header, in order; any case."""
        return [value for spelled, value in self.headers if spelled.lower() == name.lower()]

    def get(self, name: str) -> str | None:
        return next(iter(self.all(name)), None)


NOTHING = Head("", 0, "", ())
"""The head of an answer that never began."""


@dataclass(frozen=True)
class Got:
    """A whole answer, or as much of it as came."""

    head: Head
    body: bytes
    complete: bool
    """Whether the body's framing came to its end."""

    @property
    def status(self) -> int:
        return self.head.status

    def get(self, name: str) -> str | None:
        return self.head.get(name)

    def json(self) -> Any:
        return json.loads(self.body)


class Connection:
    """One TCP connection to a port of this machine."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._left: int | None = None
        """Bytes missing of a body of known length; -1: chunked; None: until the end."""

    @classmethod
    async def to(cls, port: int) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=_LIMIT))

    @property
    def port(self) -> int:
        """The port of this end."""
        port: int = self._writer.get_extra_info("sockname")[1]
        return port

    async def __aenter__(self) -> Connection:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        await self.close()

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def head(self, *, bodiless: bool = False) -> Head:
        """The next response's head, `100 Continue` included."""
        data = await self._reader.readuntil(b"\r\n\r\n")
        line, *rest = data[:-4].decode("latin-1").split("\r\n")
        version, status, reason = (line + " ").split(" ", 2)
        pairs = (text.partition(":") for text in rest)
        headers = tuple((name, value.strip()) for name, _, value in pairs)
        head = Head(version, int(status), reason.strip(), headers)
        self._left = _length(head, bodiless=bodiless)
        return head

    async def piece(self) -> bytes:
        """The next bytes of the body; empty at its clean end. Raises: CutError."""
        if self._left == 0:
            return b""
        try:
            if self._left == -1:
                return await self._chunk()
            data = await self._reader.read(min(self._left or _LIMIT, _LIMIT))
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            raise CutError from error
        if self._left is not None:
            if not data:
                raise CutError
            self._left -= len(data)
        return data

    async def _chunk(self) -> bytes:
        size = int((await self._reader.readuntil(b"\r\n")).partition(b";")[0], 16)
        data = (await self._reader.readexactly(size + 2))[:-2]
        if not data:
            self._left = 0
        return data

    async def rest(self) -> bytes:
        """The body from here to its end. Raises: CutError."""
        data = bytearray()
        try:
            while piece := await self.piece():
                data += piece
        except CutError as error:
            raise CutError(bytes(data)) from error
        return bytes(data)

    async def until(self, mark: bytes) -> bytes:
        """The body up to the piece in which `mark` comes. Raises: CutError."""
        data = b""
        while mark not in data:
            piece = await self.piece()
            if not piece:
                raise CutError(data)
            data += piece
        return data

    async def raw(self) -> bytes:
        """Everything that comes until the other side closes."""
        return await self._reader.read()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(ConnectionError):
            await self._writer.wait_closed()

    async def reset(self) -> None:
        """Leave as a crashed client does."""
        end: socket.socket = self._writer.get_extra_info("socket")
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()
        await self.close()


def _length(head: Head, *, bodiless: bool) -> int | None:
    if bodiless or head.status in (204, 304) or head.status < 200:
        return 0
    if (head.get("transfer-encoding") or "").lower() == "chunked":
        return -1
    length = head.get("content-length")
    return None if length is None else int(length)


def spelled(
    method: str, target: str, headers: Iterable[tuple[str, str]] = (), body: bytes | None = None
) -> bytes:
    """A request's bytes; the body's length is added, nothing else but `Host`."""
    lines = [f"{method} {target} HTTP/1.1", "Host: gateway.test"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + (body or b"")


async def ask(
    port: int,
    method: str,
    target: str,
    headers: Iterable[tuple[str, str]] = (),
    body: bytes | None = None,
) -> Got:
    """One request on a connection of its own."""
    async with await Connection.to(port) as connection:
        await connection.send(spelled(method, target, headers, body))
        return await answer(connection, bodiless=method == "HEAD")


async def answer(connection: Connection, *, bodiless: bool = False) -> Got:
    """The next whole answer on a connection."""
    head = await connection.head(bodiless=bodiless)
    while head.status == 100:
        head = await connection.head(bodiless=bodiless)
    try:
        return Got(head, await connection.rest(), complete=True)
    except CutError as error:
        return Got(head, error.body, complete=False)


async def post(
    port: int, key: str, value: object, *headers: tuple[str, str], path: str = "chat/completions"
) -> Got:
    """A JSON request to one of the API's operations."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    given = [("Authorization", f"Bearer {key}"), ("Content-Type", "application/json"), *headers]
    return await ask(port, "POST", f"/v1/{path}", given, body)
