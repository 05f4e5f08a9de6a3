"""One upstream node over HTTP: what goes there and comes back is not altered."""

from __future__ import annotations

import asyncio
import ssl
from functools import partial
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.client_proto import ResponseHandler
from multidict import CIMultiDict
from yarl import URL

from proxy.core.endpoint import target
from proxy.core.headers import end_to_end
from proxy.core.message import Head
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from proxy.config import Upstream as Settings
    from proxy.core.message import Call

_NOT_OURS: Final = frozenset(("Accept", "Accept-Encoding", "Content-Type", "User-Agent"))
"""Headers that the client library would add where the caller sent none."""

_LINE: Final = 65536
"""Bytes that a status or header line of an upstream may have."""

_UNUSED: Final = 4.0
"""Seconds that a connection without a request is kept. Node, uvicorn (so vLLM) and llama.cpp close
theirs after 5, and a request that meets the close on its way is lost."""


class HttpResponse:
    """An answer of an upstream node, while it arrives."""

    def __init__(self, response: aiohttp.ClientResponse, node: str, idle: float | None) -> None:
        headers = tuple(
            (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
            for name, value in response.raw_headers
        )
        self.head = Head(response.status, headers, response.reason or "")
        self.node = node
        self._response = response
        self._idle = idle
        """Seconds that it may be silent."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        content = self._response.content
        try:
            # What is here already needs no watch over it: that costs more than the reading.
            chunk = content.read_nowait()
            if not chunk and not content.at_eof():
                async with asyncio.timeout(self._idle):
                    chunk = await content.readany()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise UpstreamError(self.node, "cut", _broken(error)) from error
        if not chunk:
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        # Not `release`: that would read a body to its end which nobody wants any more.
        self._response.close()


class _Connection(ResponseHandler):
    def connection_lost(self, exc: BaseException | None) -> None:
        # aiohttp takes a reset for the end, where a body has no length and comes in no chunks.
        if exc is not None and self._payload is not None and not self._payload.is_eof():
            self._payload.set_exception(aiohttp.ClientPayloadError("the connection was reset"))
        super().connection_lost(exc)


class Http:
    """A pool of connections to one node."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        url = urlsplit(settings.url)
        self._origin = f"{url.scheme}://{url.netloc}"
        self._base = url.path
        self._timeout = aiohttp.ClientTimeout(
            total=settings.total_timeout or None,
            sock_connect=settings.connect_timeout or None,
        )
        self._session: aiohttp.ClientSession | None = None

    def _open(self) -> aiohttp.ClientSession:
        settings = self._settings
        verify: ssl.SSLContext | bool = True
        if not settings.verify_tls:
            verify = False
        connector = aiohttp.TCPConnector(
            limit=settings.max_connections,
            limit_per_host=0,
            ttl_dns_cache=30,
            keepalive_timeout=_UNUSED,
            ssl=verify,
        )
        # A subclass does as well, which the declared type, being invariant, cannot say.
        connector._factory = partial(_Connection, loop=connector._loop)  # type: ignore[assignment]
        session = aiohttp.ClientSession(
            connector=connector,
            # Cookies are the client's own: a shared jar would hand them from user to user.
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            skip_auto_headers=_NOT_OURS,
            timeout=self._timeout,
            max_line_size=_LINE,
            max_field_size=_LINE,
            max_headers=1024,
        )
        # It would send PUT and DELETE again, an upload that is used up included.
        session._retry_connection = False
        return session

    async def send(self, call: Call) -> HttpResponse:
        """The node's answer, once its head is there. Raises: UpstreamError."""
        if self._session is None:
            self._session = self._open()
        node = self._settings.name
        # An upload may take longer than any first byte; its client watches over it.
        limit = self._settings.first_byte_timeout if not _streamed(call) else 0
        try:
            async with asyncio.timeout(limit or None):
                response = await self._session.request(
                    call.method,
                    self._url(call),
                    headers=_sent(call),
                    data=call.body,
                    allow_redirects=False,
                )
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise UpstreamError(node, "connect", f"upstream {node} cannot be reached") from error
        except TimeoutError as error:
            raise UpstreamError(
                node, "timeout", f"upstream {node} did not answer in time"
            ) from error
        except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, OSError) as error:
            raise UpstreamError(node, "cut", f"upstream {node}: {_broken(error)}") from error
        except (aiohttp.ClientError, ValueError) as error:
            raise UpstreamError(node, "protocol", f"upstream {node} did not speak HTTP") from error
        if response.status < 200:  # none is final, and a switch of protocols was not asked for
            response.close()
            raise UpstreamError(node, "protocol", f"upstream {node} did not speak HTTP")
        return HttpResponse(response, node, self._settings.idle_timeout or None)

    def _url(self, call: Call) -> URL:
        url = self._origin + target(self._base, call.path)
        return URL(f"{url}?{call.query}" if call.query else url, encoded=True)

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()


def _streamed(call: Call) -> bool:
    return call.body is not None and not isinstance(call.body, bytes)


def _sent(call: Call) -> CIMultiDict[str]:
    """The headers as sent on; host and, for a complete body, length are this connection's own."""
    own = ("host", "content-length", "expect") if not _streamed(call) else ("host", "expect")
    # Repeats in one spelling: aiohttp takes another one for a correction of the first.
    spelled: dict[str, str] = {}
    return CIMultiDict(
        (spelled.setdefault(lower, name), value)
        for name, value in end_to_end(call.headers)
        if (lower := name.lower()) not in own
    )


def _broken(error: BaseException) -> str:
    """What a client may know of a broken connection: neither hosts nor library internals."""
    if isinstance(error, TimeoutError):
        return "the upstream fell silent"
    return "the upstream's answer ended early"
