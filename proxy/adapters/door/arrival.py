"""Requests on their way in: target, headers and body as the client sent them."""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeAlias

from aiohttp import HttpVersion11, web

from proxy.core.errors import RefusedError

if TYPE_CHECKING:
    from aiohttp import StreamReader

    from proxy.core.message import Headers

    RawHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Limits:
    """Bytes. `body`: a larger one is streamed through and never cached. `request`: a larger
    JSON request is refused; other operations have no limit. `header`: of a line; `head`: of all
    header lines together. `silence`: seconds without a byte of a body that is not over, whichever
    way it goes; None: however long."""

    def __init__(self, *, body: int, request: int, header: int, silence: float) -> None:
        self.body = body
        self.request = request
        self.header = header
        self.head = 2 * header
        self.silence = silence or None


def target(request: web.BaseRequest) -> str:
    """The raw path and query. An absolute target's host is not looked at: ours is configured.

    Raises: RefusedError where it has no path: `@host` behind the upstream's address would be
    another address, and the upstream's credential would go there.
    """
    target = request.raw_path
    if target.startswith("/"):
        return target
    _, scheme, rest = target.partition("://")
    if not scheme:
        raise RefusedError(400, "the request's target has no path", code="invalid_target")
    return "/" + rest.partition("/")[2]


_ID: Final = 512
"""Characters, which is what OpenAI takes at most: it is remembered with the request."""


class Opening(NamedTuple):
    """What the headers of a request say."""

    headers: Headers
    """As spelled by the client, in order."""
    client_id: str | None
    """The client's own name for the request."""
    upgrades: bool
    """To a WebSocket."""
    waits: bool
    """To be told to send its body."""
    length: int
    """Bytes of its body; 0 if it does not say."""


def opening(raw: RawHeaders, limit: int) -> Opening:
    """The headers as aiohttp has them, read. `limit`: bytes of all of them.

    Raises: RefusedError.
    """
    if sum(len(name) + len(value) for name, value in raw) > limit:
        raise RefusedError(431, f"the headers are larger than {limit} bytes", code="head_too_large")
    headers = tuple(
        (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
        for name, value in raw
    )
    first = {name.lower(): value for name, value in reversed(headers)}
    client_id = first.get("x-client-request-id", "")
    return Opening(
        headers,
        client_id if 0 < len(client_id) <= _ID else None,
        first.get("upgrade", "").lower() == "websocket",
        first.get("expect", "").lower() == "100-continue",
        int(first.get("content-length", 0)),
    )


def encourage(request: web.BaseRequest) -> None:
    """Tell a client that waits for it to send its body."""
    if request.transport is not None and request.version >= HttpVersion11:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


class Upload:
    """A body that is not held, on its way through."""

    def __init__(
        self, content: StreamReader, limits: Limits, *, first: bytes = b"", most: float = inf
    ) -> None:
        """`first`: what was read of it. `most`: bytes that it may have."""
        self._content = content
        self._silence = limits.silence
        self._first = first
        self._most = most
        self._passed = 0
        self.refused: RefusedError | None = None
        """Set where it turned out to be what no request may be."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk, self._first = self._first or await _piece(self._content, self._silence), b""
            self._passed += len(chunk)
            if self._passed > self._most:
                raise too_large(int(self._most))
        except RefusedError as error:
            self.refused = error
            raise
        if not chunk:
            raise StopAsyncIteration
        return chunk


async def read(request: web.BaseRequest, length: int, limits: Limits) -> bytes | Upload:
    """The whole body, or an upload where it is too large to be cached. `length`: what it is said
    to have. Raises: RefusedError."""
    if length > limits.request:
        raise too_large(limits.request)
    content, parts, held = request.content, list[bytes](), 0
    try:
        while chunk := await _piece(content, limits.silence):
            if not parts and content.at_eof() and len(chunk) <= limits.body:
                return chunk
            parts.append(chunk)
            held += len(chunk)
            if held > limits.request:
                raise too_large(limits.request)
            if held > limits.body:
                return Upload(content, limits, first=b"".join(parts), most=limits.request)
    except web.RequestPayloadError as error:
        raise RefusedError(400, "the body is not valid HTTP", code="invalid_body") from error
    return b"".join(parts)


async def _piece(content: StreamReader, silence: float | None) -> bytes:
    """What is here of a body, or comes within so many seconds; empty: it is over. Raises:
    RefusedError: a client that says no more holds a place at a node, or what it has sent."""
    if (chunk := content.read_nowait()) or content.at_eof():
        return chunk
    try:
        async with asyncio.timeout(silence):
            return await content.readany()
    except TimeoutError as error:
        told = "the rest of the request did not come in time"
        raise RefusedError(408, told, code="request_timeout") from error


def too_large(limit: int) -> RefusedError:
    """The refusal of a request of more than `limit` bytes."""
    return RefusedError(413, f"the request is larger than {limit} bytes", code="request_too_large")
