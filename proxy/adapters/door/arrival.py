"""Requests on their way in: target, headers and body as the client sent them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self, TypeAlias

from aiohttp import HttpVersion11, web

from proxy.core.errors import RefusedError

if TYPE_CHECKING:
    from proxy.core.message import Headers

    RawHeaders: TypeAlias = tuple[tuple[bytes, bytes], ...]


class Limits:
    """Bytes. `body`: a larger one is streamed through and never cached. `request`: a larger
    JSON request is refused; other operations have no limit. `header`: of a line; `head`: of all
    header lines together."""

    def __init__(self, *, body: int, request: int, header: int) -> None:
        self.body = body
        self.request = request
        self.header = header
        self.head = 2 * header


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
    return Opening(
        headers,
        first.get("x-client-request-id"),
        first.get("upgrade", "").lower() == "websocket",
        first.get("expect", "").lower() == "100-continue",
        int(first.get("content-length", 0)),
    )


def encourage(request: web.BaseRequest) -> None:
    """Tell a client that waits for it to send its body."""
    if request.transport is not None and request.version >= HttpVersion11:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


class Upload:
    """A body too large to be cached, on its way through."""

    def __init__(self, request: web.BaseRequest, first: bytes, limit: int) -> None:
        self._content = request.content
        self._first = first
        self._limit = limit
        self._passed = 0
        self.refused: RefusedError | None = None
        """Set where it turned out to be larger than any request may be."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        chunk, self._first = self._first or await self._content.readany(), b""
        self._passed += len(chunk)
        if self._passed > self._limit:
            self.refused = too_large(self._limit)
            raise self.refused
        if not chunk:
            raise StopAsyncIteration
        return chunk


async def read(request: web.BaseRequest, length: int, limits: Limits) -> bytes | Upload:
    """The whole body, or an upload where it is too large to be cached. `length`: what it is said
    to have. Raises: RefusedError."""
    if length > limits.request:
        raise too_large(limits.request)
    parts: list[bytes] = []
    held = 0
    try:
        while chunk := await request.content.readany():
            if not parts and request.content.at_eof() and len(chunk) <= limits.body:
                return chunk
            parts.append(chunk)
            held += len(chunk)
            if held > limits.request:
                raise too_large(limits.request)
            if held > limits.body:
                return Upload(request, b"".join(parts), limits.request)
    except web.RequestPayloadError as error:
        raise RefusedError(400, "the body is not valid HTTP", code="invalid_body") from error
    return b"".join(parts)


def too_large(limit: int) -> RefusedError:
    """The refusal of a request of more than `limit` bytes."""
    return RefusedError(413, f"the request is larger than {limit} bytes", code="request_too_large")
