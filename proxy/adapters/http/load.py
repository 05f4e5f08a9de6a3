"""Reads how much engines have to do, from the metrics that they show: a setting of each node.

Nothing that comes, or does not come, touches a request. A node that says nothing counts as one that
is not asked.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from urllib.parse import urljoin, urlsplit

import msgspec

from proxy.adapters.http.node import Http
from proxy.core.events import EngineAsked, EngineLoaded
from proxy.core.headers import with_credential
from proxy.core.message import Call
from proxy.core.workload import NOBODY, Workload, strangers, workload
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.config import Upstream
    from proxy.core.message import Headers
    from proxy.node import Node
    from proxy.ports import Clock, Emit
    from proxy.router import Router

EVERY: Final = 1.0
_TIMEOUT: Final = 1.0
_MOST: Final = 1 << 20
"""Bytes of a text; vLLM's have some 100,000."""
_HEADERS: Final = (("accept", "text/plain"), ("accept-encoding", "identity"))

Result: TypeAlias = Literal["ok", "failed", "unreadable", "too_large"]


class Loads:
    """All nodes whose engines are asked, for one worker."""

    def __init__(
        self,
        nodes: Sequence[tuple[Upstream, Node]],
        router: Router,
        clock: Clock,
        emit: Emit,
        chance: Callable[[], float],
    ) -> None:
        """`chance`: uniform in [0, 1)."""
        self._readers = [Reader(*one, router, clock, emit) for one in nodes]
        self._clock, self._chance = clock, chance

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for one in self._readers:
                group.create_task(self._read(one))

    async def _read(self, reader: Reader) -> None:
        async with aclosing(Http(reader.settings)) as pool:
            # Workers, and gateways, that were started together shall not ask together.
            await self._clock.sleep(EVERY * self._chance())
            while True:
                await reader.look(pool)
                await self._clock.sleep(EVERY)


class Reader:
    """Of one node."""

    def __init__(
        self, settings: Upstream, node: Node, router: Router, clock: Clock, emit: Emit
    ) -> None:
        url, own = urlsplit(urljoin(settings.url, settings.metrics)), urlsplit(settings.url)
        self.settings = msgspec.structs.replace(
            settings, url=f"{url.scheme}://{url.netloc}", max_connections=1
        )
        headers: Headers = _HEADERS
        if node.credential is not None and (url.scheme, url.netloc) == (own.scheme, own.netloc):
            headers = with_credential(headers, node.credential)
        self._call = Call("GET", url.path or "/", url.query, headers, None)
        self._node, self._router = node, router
        self._clock, self._emit = clock, emit

    async def look(self, pool: Http) -> None:
        """Ask it once."""
        node, known = self._node, self._router.known(self._node)
        result, told = await self._asked(pool)
        self._emit(EngineAsked(node.name, result))
        if told is not None:
            # Some of ours may have come or gone meanwhile, and are none of others.
            known = max(known, self._router.known(node))
            node.strangers = strangers(told, known, self._clock.mono())
            self._emit(EngineLoaded(node.name, *told, node.strangers.requests))
        elif node.strangers is not NOBODY and node.strangers.now(self._clock.mono()) == NOBODY.load:
            node.strangers = NOBODY
            self._emit(EngineLoaded(node.name, 0, 0, 0))

    async def _asked(self, pool: Http) -> tuple[Result, Workload | None]:
        try:
            async with asyncio.timeout(_TIMEOUT):
                text = await self._text(pool)
        except (UpstreamError, TimeoutError):
            return "failed", None
        if text is None:
            return "too_large", None
        told = workload(text)
        return ("unreadable" if told is None else "ok"), told

    async def _text(self, pool: Http) -> bytes | None:
        """None: it does not end. Raises: UpstreamError."""
        text = b""
        async with aclosing(await pool.send(self._call)) as response:
            if response.head.status != 200:
                told = "no metrics"
                raise UpstreamError(self._node.name, "status", told, response.head.status)
            async for chunk in response:
                text += chunk
                if len(text) > _MOST:
                    return None
        return text

    def __repr__(self) -> str:
        return f"<Reader {self._node.name} {self._node.strangers.requests:.0f} of others>"
