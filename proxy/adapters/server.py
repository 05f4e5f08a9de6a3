"""The public door: HTTP in and out through aiohttp, without its inventions."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Final

from aiohttp import HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.http_exceptions import HttpProcessingError
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from proxy.core.endpoint import Endpoint, recognise
from proxy.core.errors import RefusedError, answer
from proxy.core.message import Arrival, Call, Head
from proxy.core.status import Status
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import TypeAlias

    from proxy.core.message import Headers
    from proxy.ports import Body
    from proxy.response import Report, Response

    Serve: TypeAlias = Callable[[Arrival, Endpoint, Report], Awaitable[Response]]
    Forward: TypeAlias = Callable[[Call, Report], Awaitable[Response]]
    Tunnel: TypeAlias = Callable[[web.BaseRequest, str, Headers], Awaitable[web.StreamResponse]]
    Reports: TypeAlias = Callable[[str, str, str | None], Report]

_BODILESS: Final = frozenset((204, 304))


class Reply(web.StreamResponse):
    """A response with the headers it is given and no others. `length`: of the body, in bytes;
    None: unknown, so it goes out in chunks."""

    def __init__(self, head: Head, length: int | None) -> None:
        headers = CIMultiDict(head.headers)
        super().__init__(status=head.status, reason=head.reason or None, headers=headers)
        self._length = length

    async def _prepare_headers(self) -> None:
        # aiohttp's own would add Server, Date and Content-Type to what the upstream said.
        request, writer, headers = self._req, self._payload_writer, self._headers
        assert request is not None
        assert writer is not None
        keep = request.keep_alive and self._keep_alive is not False
        if request.method == "HEAD" or self.status in _BODILESS:
            writer.length = 0
        elif self._length is not None:
            writer.length = self._length
            headers.setdefault(hdrs.CONTENT_LENGTH, str(self._length))
        elif request.version >= HttpVersion11:
            writer.enable_chunking()
            headers[hdrs.TRANSFER_ENCODING] = "chunked"
        else:
            keep = False
        self._keep_alive = keep
        if request.version >= HttpVersion11 and not keep:
            headers[hdrs.CONNECTION] = "close"
        elif request.version == HttpVersion10 and keep:
            headers[hdrs.CONNECTION] = "keep-alive"


class Whole(Reply):
    """A reply whose body is known: head and body leave in one write."""

    _send_headers_immediately = False


class Limits:
    """Bytes. `body`: a larger one is streamed through and never cached. `request`: a larger
    JSON request is refused; other operations have no limit."""

    def __init__(self, *, body: int, request: int, header: int) -> None:
        self.body = body
        self.request = request
        self.header = header


class Door:
    """Takes requests from connections and brings back responses."""

    def __init__(
        self, serve: Serve, forward: Forward, tunnel: Tunnel, reports: Reports, limits: Limits
    ) -> None:
        self._serve = serve
        self._forward = forward
        self._tunnel = tunnel
        self._reports = reports
        self._limits = limits

    def server(self, *, keepalive_timeout: float) -> web.Server:
        """An aiohttp server, to be bound to a socket."""
        return _Server(
            self.handle,
            # A client that leaves ends its handler, and with it what only it was waiting for.
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=keepalive_timeout,
            lingering_time=2.0,
            max_line_size=self._limits.header,
            max_field_size=self._limits.header,
            max_headers=1024,
        )

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request, from its head to the last byte of its response."""
        target, headers = _target(request), _headers(request)
        path, _, query = target.partition("?")
        endpoint = recognise(request.method, path)
        name = endpoint.value if endpoint else "other"
        report = self._reports(request.method, name, request.headers.get("x-client-request-id"))
        try:
            if request.headers.get(hdrs.UPGRADE, "").lower() == "websocket":
                return await self._tunnel(request, target, headers)
            response = await self._response(request, path, query, headers, endpoint, report)
        except RefusedError as error:
            head, body = answer(error, endpoint)
            response = report.respond(head, body, Status("ERROR", error.code or ""))
        return await _send(request, response)

    async def _response(
        self,
        request: web.BaseRequest,
        path: str,
        query: str,
        headers: Headers,
        endpoint: Endpoint | None,
        report: Report,
    ) -> Response:
        if request.headers.get(hdrs.EXPECT, "").lower() == "100-continue":
            _continue(request)
        body: bytes | AsyncIterator[bytes] | None
        if endpoint is None:
            body = request.content.iter_any() if request.body_exists else None
            return await self._forward(Call(request.method, path, query, headers, body), report)
        if (request.content_length or 0) > self._limits.request:
            raise _too_large(self._limits.request)
        body = await _read(request, self._limits)
        if isinstance(body, bytes):
            report.arrived = len(body)
            return await self._serve(
                Arrival(request.method, path, query, headers, body), endpoint, report
            )
        return await self._forward(Call(request.method, path, query, headers, body), report)


def _target(request: web.BaseRequest) -> str:
    """The raw path and query. An absolute target's host is not looked at: ours is configured."""
    target = request.raw_path
    if target.startswith("/"):
        return target
    _, scheme, rest = target.partition("://")
    return "/" + rest.partition("/")[2] if scheme else target


def _headers(request: web.BaseRequest) -> Headers:
    """As spelled by the client, in order."""
    return tuple(
        (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
        for name, value in request.raw_headers
    )


def _continue(request: web.BaseRequest) -> None:
    if request.transport is not None and request.version >= HttpVersion11:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


async def _read(request: web.BaseRequest, limits: Limits) -> bytes | AsyncIterator[bytes]:
    """The whole body; or, where it is too large to be cached, an iterator over it."""
    parts: list[bytes] = []
    held = 0
    while chunk := await request.content.readany():
        if not parts and request.content.at_eof() and len(chunk) <= limits.body:
            return chunk
        parts.append(chunk)
        held += len(chunk)
        if held > limits.request:
            raise _too_large(limits.request)
        if held > limits.body:
            return _rest(request, parts, held, limits.request)
    return b"".join(parts)


async def _rest(
    request: web.BaseRequest, parts: list[bytes], held: int, limit: int
) -> AsyncIterator[bytes]:
    while parts:
        yield parts.pop(0)
    while chunk := await request.content.readany():
        held += len(chunk)
        if held > limit:
            raise _too_large(limit)
        yield chunk


def _too_large(limit: int) -> RefusedError:
    return RefusedError(413, f"the request is larger than {limit} bytes", code="request_too_large")


async def _send(request: web.BaseRequest, response: Response) -> web.StreamResponse:
    head, body, sent, complete = response.head, response.body, 0, False
    try:
        if isinstance(body, bytes):
            whole = Whole(head, len(body))
            await whole.prepare(request)
            await whole.write_eof(b"" if request.method == "HEAD" else body)
            sent, complete = len(body), True
            return whole
        length = head.get("content-length")
        reply = Reply(head, int(length) if length is not None and length.isdigit() else None)
        await reply.prepare(request)
        try:
            async for chunk in body:
                await reply.write(chunk)
                sent += len(chunk)
        except UpstreamError:
            # Closed without the last chunk, or short of the length: the client sees a cut.
            _cut(request)
            return reply
        await reply.write_eof()
        complete = True
        return reply
    finally:
        if not isinstance(body, bytes):
            await body.aclose()
        response.report.end(sent, complete=complete)


def _cut(request: web.BaseRequest) -> None:
    if request.transport is not None:
        request.transport.close()


class _Server(web.Server):
    """aiohttp's server with our words for what is not HTTP."""

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(RequestHandler):
    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """An OpenAI-shaped error in place of a page; and nothing of ours in it."""
        if request.writer.output_size > 0:
            raise ConnectionError("the response had begun")
        told = "the request is not valid HTTP" if status < 500 else "the proxy failed"
        if isinstance(exc, HttpProcessingError):
            status = exc.code
        elif exc is not None:
            # The class and the place only: an exception's text may quote a prompt.
            where = traceback.extract_tb(exc.__traceback__)[-1:]
            place = f"{where[0].name}:{where[0].lineno}" if where else "?"
            self.logger.error("unexpected %s in %s", type(exc).__name__, place)
        head, body = answer(RefusedError(status, told))
        reply = web.Response(status=status, body=body, headers=CIMultiDict(head.headers))
        reply.force_close()
        return reply
