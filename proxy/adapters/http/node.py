"""One upstream node: a pool of connections to it, and its answers while they arrive."""

from __future__ import annotations

import asyncio
from functools import cached_property, partial
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple, Self
from urllib.parse import urlsplit

import aiohttp
from aiohttp.http_exceptions import HttpProcessingError
from yarl import URL

from proxy.adapters.http.exchange import Exchange, Protocol
from proxy.adapters.http.head import head
from proxy.adapters.http.unreached import unreached
from proxy.core.endpoint import target
from proxy.core.message import Head
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from aiohttp.client_reqrep import ConnectionKey
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

    from proxy.config import Upstream as Settings
    from proxy.core.message import Call, Headers

_UNUSED: Final = 4.0
"""Seconds that a connection without a request is kept. Node, uvicorn (so vLLM) and llama.cpp close
theirs after 5, and a request that meets the close on its way is lost."""
_ONCE: Final = 600.0
"""Seconds for which a node that answered what nobody asked is given no connection twice."""


_CLOSED: Final = (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionError)


class _ReusedError(Exception):
    """A connection that had been idle was closed before an answer began: most likely the node did
    so while the request was on its way."""


class Limits(NamedTuple):
    """How long a call may take, on the running loop."""

    until: float
    """When it has to be over."""
    idle: float
    """Seconds of silence once its answer has begun."""

    def silent(self) -> float | None:
        """Until when to wait for the next bytes."""
        until = min(self.until, asyncio.get_running_loop().time() + self.idle)
        return None if until == inf else until

    def passed(self) -> bool:
        return self.until < inf and asyncio.get_running_loop().time() >= self.until


class HttpResponse:
    """An answer of an upstream node, while it arrives."""

    def __init__(
        self,
        node: str,
        message: RawResponseMessage,
        content: StreamReader,
        exchange: Exchange,
        limits: Limits,
    ) -> None:
        headers = [
            (name.decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape"))
            for name, value in message.raw_headers
        ]
        self.head = Head(message.code, tuple(headers), message.reason or "")
        self.node = node
        self._content = content
        self._exchange = exchange
        self._limits = limits
        self._begun = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        content, limits = self._content, self._limits
        try:
            # What is here already needs no watch over it: that costs more than the reading.
            chunk = content.read_nowait()
            if not chunk and not content.at_eof():
                async with asyncio.timeout_at(limits.silent()):
                    chunk = await content.readany()
            elif chunk and limits.passed():
                raise TimeoutError
        except (aiohttp.ClientError, OSError) as error:
            kind = "timeout" if isinstance(error, TimeoutError) and not self._begun else "cut"
            raise UpstreamError(self.node, kind, _broken(error)) from error
        if not chunk:
            raise StopAsyncIteration
        self._begun = True
        return chunk

    async def aclose(self) -> None:
        content = self._content
        if not content.is_eof() and content.exception() is None:
            content.set_exception(aiohttp.ClientConnectionError("the answer was given up"))
        self._exchange.close()


class _Place(aiohttp.ClientRequest):
    """Where a node is, in the form in which the pool wants to be told."""

    @cached_property
    def connection_key(self) -> ConnectionKey:
        return super().connection_key


class Http:
    """A pool of connections to one node."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._base = urlsplit(settings.url).path
        self._timeout = aiohttp.ClientTimeout(sock_connect=settings.connect_timeout or None)
        self._pool: aiohttp.TCPConnector | None = None
        self._distrusted = 0.0
        """Connections that were idle then are not used: the node has closed one, so likely all."""
        self._once = 0.0
        """Until then no connection is used twice."""

    def _open(self) -> aiohttp.TCPConnector:
        """At the first call: a pool belongs to its loop."""
        loop, settings = asyncio.get_running_loop(), self._settings
        pool = self._pool = aiohttp.TCPConnector(
            limit=settings.max_connections,
            limit_per_host=0,
            ttl_dns_cache=30,
            keepalive_timeout=_UNUSED,
        )
        # A subclass does as well, which the declared type, being invariant, cannot say.
        pool._factory = partial(Protocol, loop=loop)  # type: ignore[assignment]
        place = self._place = _Place("GET", URL(settings.url), loop=loop, ssl=settings.verify_tls)
        # A user in the URL counts for more than what a client says.
        names = [name for name in ("Host", "Authorization") if name in place.headers]
        self._own: Headers = tuple((name, place.headers[name]) for name in names)
        return pool

    async def send(self, call: Call) -> HttpResponse:
        """The node's answer, once its head is there. Raises: UpstreamError."""
        node = self._settings.name
        try:
            return await self._answer(call)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            why = unreached(error)
            told = f"upstream {node} cannot be reached: {why}"
            raise UpstreamError(node, "connect", told, why=why) from error
        except TimeoutError as error:
            told = f"upstream {node} did not answer in time"
            raise UpstreamError(node, "timeout", told) from error
        except _ReusedError as error:
            raise UpstreamError(node, "reused", f"upstream {node}: {_broken(error)}") from error
        except (aiohttp.ServerDisconnectedError, OSError) as error:
            raise UpstreamError(node, "cut", f"upstream {node}: {_broken(error)}") from error
        except (aiohttp.ClientError, HttpProcessingError, ValueError) as error:
            raise UpstreamError(node, "protocol", f"upstream {node} did not speak HTTP") from error

    async def _answer(self, call: Call) -> HttpResponse:
        settings, now = self._settings, asyncio.get_running_loop().time()
        pool, until = self._pool or self._open(), now + (settings.total_timeout or inf)
        whole = call.body is None or isinstance(call.body, bytes)
        # An upload may take longer than any first byte; its client watches over it.
        first = min(until, now + ((whole and settings.first_byte_timeout) or inf))
        async with asyncio.timeout_at(None if first == inf else first):
            exchange = await self._connected(pool)
            try:
                self._send(call, exchange)
                message, content = await exchange.answered()
            except BaseException as error:
                exchange.close()
                if exchange.reused and whole and isinstance(error, _CLOSED):
                    self._distrusted = asyncio.get_running_loop().time()
                    raise _ReusedError from error
                raise
        limits = Limits(until, settings.idle_timeout or inf)
        return HttpResponse(settings.name, message, content, exchange, limits)

    async def _connected(self, pool: aiohttp.TCPConnector) -> Exchange:
        while True:
            try:
                connection = await pool.connect(self._place, [], self._timeout)
            except TimeoutError as error:
                raise aiohttp.ConnectionTimeoutError from error
            protocol = connection.protocol
            assert isinstance(protocol, Protocol)
            if not (protocol.used and self._doubtful(protocol)):
                return Exchange(connection, protocol)
            connection.close()

    def _doubtful(self, protocol: Protocol) -> bool:
        """What came since its last answer, unasked, would be taken for this one's. It may also come
        a moment later, so that whoever does that is given no connection twice for a while."""
        now = asyncio.get_running_loop().time()
        if protocol.strange:
            self._once = now + _ONCE
        stale = protocol.idle_since < self._distrusted
        return protocol.should_close or stale or now < self._once or protocol.stirring

    def _send(self, call: Call, exchange: Exchange) -> None:
        """Raises: ValueError, aiohttp.ServerDisconnectedError."""
        spelled, chunked = head(call, target(self._base, call.path), self._own)
        body, bare = call.body, call.method == "HEAD"
        if body is None or isinstance(body, bytes):
            exchange.send(spelled, body, bare=bare)
        else:
            exchange.upload(spelled, body, chunked=chunked, bare=bare)

    async def aclose(self) -> None:
        if self._pool is not None:
            await self._pool.close()


def _broken(error: BaseException) -> str:
    """What a client may know of a broken connection: neither hosts nor library internals."""
    if isinstance(error, TimeoutError):
        return "the upstream fell silent"
    return "the upstream's answer ended early"
