"""Responses on their way out: the headers they are given, and no others."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from aiohttp import HttpVersion11, web
from aiohttp.helpers import rfc822_formatted_time

from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter

    from proxy.core.message import Head, Headers
    from proxy.response import Response

_BODILESS: Final = frozenset((204, 304))


class Reply(web.StreamResponse):
    """A response that writes its head itself: aiohttp would add Server, Date and Content-Type to
    what the upstream said, and take longer than a hit may."""

    def __init__(self, head: Head, lines: str) -> None:
        """`lines`: further header lines, each with its end."""
        super().__init__(status=head.status, reason=head.reason or None)
        self._given = head.headers
        self._lines = lines

    async def prepare(self, request: web.BaseRequest) -> AbstractStreamWriter | None:
        """Send the head; the body follows, in chunks if its length is not in the head."""
        if self.prepared:
            return self._payload_writer
        writer = self._payload_writer = request.writer
        length = next((v for name, v in self._given if name.lower() == "content-length"), "")
        framing, most = "", None
        if _bodiless(request, self.status):
            most = 0
        elif length.isdigit():
            most = int(length)
        elif request.version >= HttpVersion11:
            framing = "transfer-encoding: chunked\r\n"
        else:
            self._keep_alive = False
        await writer.write(self._head(request, framing))
        writer.length = most  # not earlier: the writer would count the head
        if framing:
            writer.enable_chunking()
        return writer

    async def whole(self, request: web.BaseRequest, body: bytes, date: str) -> None:
        """Send a response whose body is known, head and body in one write. `date`: its header's
        value; empty: none of ours. The head states no length."""
        more = f"date: {date}\r\n" if date else ""
        if _bodiless(request, self.status):
            body = b""
        else:
            more += f"content-length: {len(body)}\r\n"
        await request.writer.write(self._head(request, more) + body)
        self._eof_sent = True  # or aiohttp would send it again

    def _head(self, request: web.BaseRequest, more: str) -> bytes:
        """The bytes before the body. `more`: last header lines."""
        new = request.version >= HttpVersion11
        keep = self._keep_alive = request.keep_alive and self._keep_alive is not False
        if keep != new:
            more += f"connection: {'keep-alive' if keep else 'close'}\r\n"
        start = f"HTTP/{'1.1' if new else '1.0'} {self.status} {self.reason}\r\n"
        head = f"{start}{_lines(self._given)}{self._lines}{more}\r\n"
        return head.encode("utf-8", "surrogateescape")


@lru_cache(maxsize=256)  # what stored answers show of their upstreams' headers is much the same
def _lines(headers: Headers) -> str:
    together = "".join(["".join(pair) for pair in headers])
    if "\n" in together or "\r" in together:
        raise ValueError("a header has a line break in it")
    return "".join([f"{name}: {value}\r\n" for name, value in headers])


def _bodiless(request: web.BaseRequest, status: int) -> bool:
    return request.method == "HEAD" or status in _BODILESS


async def send(request: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Bring a response to its client, close its body and end its report."""
    reply, body = Reply(response.head, response.lines), response.body
    sent, complete = 0, False
    try:
        if isinstance(body, bytes):
            await reply.whole(request, body, rfc822_formatted_time() if response.own else "")
            sent = len(body)
        else:
            await reply.prepare(request)
            async for chunk in body:
                await reply.write(chunk)
                sent += len(chunk)
            await reply.write_eof()
        complete = True
    except UpstreamError:
        # Closed without the last chunk, or short of the length: the client sees a cut.
        if request.transport is not None:
            request.transport.close()
    finally:
        if not isinstance(body, bytes):
            await body.aclose()
        response.report.end(sent, complete=complete)
    return reply
