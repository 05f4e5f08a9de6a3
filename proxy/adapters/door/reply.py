"""Responses on their way out: the headers they are given, and no others."""

from __future__ import annotations

import asyncio
import socket
import struct
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, cast

from aiohttp import ClientConnectionResetError, HttpVersion11, web
from aiohttp.helpers import rfc822_formatted_time

from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from aiohttp.abc import AbstractStreamWriter
    from aiohttp.http import StreamWriter

    from proxy.core.message import Head, Headers
    from proxy.response import Response

_BODILESS: Final = frozenset((204, 304))
_RESET: Final = struct.pack("ii", 1, 0)
"""Linger for no seconds: what is closed so is reset."""
_REASONS: Final = {status.value: status.phrase for status in HTTPStatus}


class _Sent(web.StreamResponse):
    """A response that is out already, since aiohttp would add Server, Date and Content-Type to what
    the upstream said: all that it may learn of it is whether the connection stays. Without the
    base's attributes, which take longer to make than a head."""

    def __init__(self, *, keep_alive: bool) -> None:
        self._keep_alive = keep_alive
        self._eof_sent = True


_KEPT: Final = _Sent(keep_alive=True)
_CLOSING: Final = _Sent(keep_alive=False)


async def send(request: web.BaseRequest, response: Response) -> web.StreamResponse:
    """Bring a response to its client, close its body and end its report."""
    body, sent, complete = response.body, 0, False
    writer, stays, transport = request.writer, _stays(request), request.transport
    try:
        if isinstance(body, bytes):
            await writer.write(_whole(request, response, body, keep=stays))
            sent = len(body)
        else:
            stays = _open(request, response, stays=stays)
            async for chunk in body:
                await writer.write(chunk)
                sent += len(chunk)
            await writer.write_eof()
        complete = True
        # Of a crowd that waits for one answer, the last shall not wait for what follows the first.
        # After a hit the connection must be idle when its next request comes, or the lane is shut.
        if not response.own:
            await asyncio.sleep(0)
    except BaseException as error:
        _begin(writer)  # else an error of ours would leave in this response's framing
        if transport is not None and writer.output_size > 0 and not isinstance(body, bytes):
            _break_off(transport, cast("StreamWriter", writer))
        if not isinstance(error, UpstreamError):
            raise
    finally:
        if not isinstance(body, bytes):
            await body.aclose()
        response.report.end(sent, complete=complete)
    return _KEPT if stays else _CLOSING


def _stays(request: web.BaseRequest) -> bool:
    """Whether the connection does. A server on its way out says so: what a client asked on it
    afterwards would be lost."""
    return request.keep_alive and not request.protocol._close


def _open(request: web.BaseRequest, response: Response, *, stays: bool) -> bool:
    """Send the head of a response that arrives in pieces: with the first piece, or in this turn of
    the loop if there is none yet. The body follows, in chunks if its length is not in the head.
    Whether the connection stays."""
    head, writer = response.head, cast("StreamWriter", request.writer)
    new = request.version >= HttpVersion11
    # First of all: a header that cannot be sent must leave the writer as an error of ours needs it.
    spelled, length, framing = _spelled(head.headers), head.get("content-length") or "", ""
    if _bodiless(request, head.status):
        writer.length = 0
    elif length.isdigit():
        writer.length = int(length)
    elif new:
        writer.enable_chunking()
        framing = "transfer-encoding: chunked\r\n"
    else:
        stays = False
    lines = f"{spelled}{response.lines}{framing}"
    # Where aiohttp keeps a head, until it has something to send with it.
    writer._headers_buf = _start(head, lines, new=new, keep=stays)
    asyncio.get_running_loop().call_soon(_begin, writer)
    return stays


def _begin(writer: AbstractStreamWriter) -> None:
    """Send the head, if it is not out yet."""
    with suppress(ClientConnectionResetError):  # whoever writes the body will notice
        writer.send_headers()


def _break_off(transport: asyncio.Transport, writer: StreamWriter) -> None:
    """Close it in the middle of a body, so that the client sees a cut: without the last chunk, or
    short of the length. Where there is neither, a plain close would be the body's end."""
    if writer.length is None and not writer.chunked:
        one: socket.socket = transport.get_extra_info("socket")
        with suppress(OSError):  # it is closed already: the client left
            one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.close()


def replayed(response: Response, body: bytes) -> bytes:
    """All bytes of a response of our own to a POST by HTTP/1.1, whose connection stays."""
    lines = f"{_own(response)}content-length: {len(body)}\r\n"
    return _start(response.head, lines, new=True, keep=True) + body


def _own(response: Response) -> str:
    """The header lines of a response of our own, but for its length."""
    date = rfc822_formatted_time()
    return f"{_repeated(response.head.headers)}{response.lines}date: {date}\r\n"


def _whole(request: web.BaseRequest, response: Response, body: bytes, *, keep: bool) -> bytes:
    """Head and body, to leave in one write. The head states no length."""
    head, new = response.head, request.version >= HttpVersion11
    lines = _own(response) if response.own else f"{_spelled(head.headers)}{response.lines}"
    if _bodiless(request, head.status):
        return _start(head, lines, new=new, keep=keep)
    lines = f"{lines}content-length: {len(body)}\r\n"
    return _start(head, lines, new=new, keep=keep) + body


def _start(head: Head, lines: str, *, new: bool, keep: bool) -> bytes:
    """The bytes before the body. `lines`: all headers but the connection's own; `new`: by
    HTTP/1.1."""
    if keep != new:
        lines += f"connection: {'keep-alive' if keep else 'close'}\r\n"
    version, status = "1.1" if new else "1.0", head.status
    reason = head.reason or _REASONS.get(status, "")
    start = f"HTTP/{version} {status} {reason}\r\n{lines}\r\n"
    return start.encode("utf-8", "surrogateescape")


def _spelled(headers: Headers) -> str:
    together = "".join(["".join(pair) for pair in headers])
    if "\n" in together or "\r" in together:
        raise ValueError("a header has a line break in it")
    return "".join([f"{name}: {value}\r\n" for name, value in headers])


# What stored answers show of their upstreams' headers is much the same for all.
_repeated: Final = lru_cache(maxsize=256)(_spelled)


def _bodiless(request: web.BaseRequest, status: int) -> bool:
    return request.method == "HEAD" or status in _BODILESS
