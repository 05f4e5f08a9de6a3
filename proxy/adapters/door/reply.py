"""Responses on their way out: the headers they are given, and no others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import HttpVersion10, HttpVersion11, hdrs, web
from aiohttp.helpers import rfc822_formatted_time
from multidict import CIMultiDict

from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from proxy.core.message import Head
    from proxy.response import Response

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


async def send(request: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Bring a response to its client, close its body and end its report."""
    head, body, sent, complete = response.head, response.body, 0, False
    try:
        if isinstance(body, bytes):
            whole = Whole(head, len(body))
            if response.own:
                whole.headers.setdefault(hdrs.DATE, rfc822_formatted_time())
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
