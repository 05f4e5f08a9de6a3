"""One process that serves: from its start through the drain to its end."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from proxy.adapters import admin
from proxy.adapters.sockets import listening
from proxy.core.events import Evicted, TierFailed, TierMeasured
from proxy.core.summary import summary
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from proxy.adapters.log import Log
    from proxy.adapters.memory import Memory
    from proxy.adapters.metrics import Metrics
    from proxy.backlog import Backlog
    from proxy.config import Config
    from proxy.contexts import Contexts
    from proxy.core.entry import Key
    from proxy.core.events import Event
    from proxy.core.message import Arrival
    from proxy.core.near import Blamed
    from proxy.core.warming import Result
    from proxy.fleet import Fleet
    from proxy.flights import Flights
    from proxy.meanings import Meanings
    from proxy.ports import Clock, Emit
    from proxy.purging import Purging
    from proxy.warmer import Warmer

_PUBLISH_EVERY = 0.5
"""Seconds between two moments at which a worker's numbers are written for the others."""

_AGAIN = 1.0
"""Seconds after which a loop that failed begins again."""

_GARBAGE = 10_000
"""Objects that may come up before the youngest are walked for cycles. The default of 700 has that
done every ten requests, for one request in a thousand that leaves a cycle behind."""

_TURN = 0.0003
"""Seconds after which a thread that waits for the interpreter is given it. The loop often lets go
of it, but takes it back before the thread is awake: with the default of 5 ms the one that writes to
the disk falls behind under load, and thousands of answers wait to be stored."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a worker is made of, put together in `app`."""

    config: Config
    token: str | None
    """The admin port's credential."""
    memory: Memory
    epoch: Callable[[], int]
    flights: Flights
    backlog: Backlog
    purging: Purging
    meaning: Meanings
    fleet: Fleet
    contexts: Contexts
    warmer: Warmer
    meet: Callable[[], Awaitable[object]]
    """Waits, briefly, for what should be known before the first request."""
    loops: Sequence[Callable[[], Coroutine[None, None, None]]]
    """What runs behind the requests until the end."""
    closing: Sequence[Callable[[], Awaitable[object]]]
    """What is done last, in this order."""
    metrics: Metrics
    log: Log
    clock: Clock
    emit: Emit


class Worker:
    """Runs its parts."""

    def __init__(self, parts: Parts, door: web.Server) -> None:
        self._parts = parts
        self._door = door
        self._ready = False

    async def run(self, ports: Sequence[int], serving: Callable[[], None]) -> None:
        """Serve until SIGTERM, then drain. `serving` is called once requests are taken."""
        parts, over = self._parts, asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
        parts.log.start()
        operators = self._operators()
        await operators.setup()
        assert operators.server is not None
        async with asyncio.TaskGroup() as background:
            loops = (self._publish, *parts.loops)
            tasks = [background.create_task(kept_up(one, parts.clock, parts.emit)) for one in loops]
            await parts.meet()
            server = await _listen(self._door, parts.config.server.host, ports[0])
            await _listen(operators.server, parts.config.admin.host, ports[1])
            gc.collect()
            gc.freeze()  # what lives as long as the process need not be walked again and again
            gc.set_threshold(_GARBAGE, 20, 20)
            sys.setswitchinterval(_TURN)
            self._ready = True
            serving()
            await over.wait()
            self._ready = False
            await self._drain(server)
            for task in tasks:
                task.cancel()
        await self._close(operators)

    def _operators(self) -> web.AppRunner:
        operations = admin.Operations(
            ready=lambda: self._ready,
            metrics=self._parts.metrics.exposition,
            stats=self._stats,
            decisions=self._parts.contexts.decisions,
            context=self._parts.contexts.shown,
            purge=self._purge,
            feedback=self._feedback,
            warm=self._warm,
        )
        application = admin.application(operations, self._parts.token)
        return web.AppRunner(application, access_log=None, handle_signals=False)

    async def _publish(self) -> None:
        parts = self._parts
        evicted = 0
        while True:
            await parts.clock.sleep(_PUBLISH_EVERY)
            stats = parts.memory.stats()
            if stats.evictions > evicted:
                parts.emit(Evicted("memory", "size", stats.evictions - evicted))
                evicted = stats.evictions
            parts.emit(TierMeasured("memory", stats.bytes, stats.entries))
            parts.fleet.measure()
            parts.metrics.publish()

    async def _purge(self, key: Key | None) -> bool:
        if key is not None:
            return await self._parts.purging.key(key)
        try:
            await self._parts.purging.all()
        except OSError as error:
            raise StoreError("epoch", "cannot be written") from error
        return True

    async def _feedback(self, request: str) -> Blamed | None:
        blamed = await self._parts.meaning.blame(request)
        for key in () if blamed is None else blamed.keys:
            await self._parts.purging.key(key)
        return blamed

    async def _warm(self, asked: Arrival, node: str, everywhere: bool) -> list[Result]:
        return await self._parts.warmer.demand(asked, node=node, everywhere=everywhere)

    def _stats(self) -> dict[str, object]:
        return {
            "epoch": self._parts.epoch(),
            **summary(self._parts.metrics.total()),
        }

    async def _drain(self, server: asyncio.Server) -> None:
        """Take no more; give what runs the time that is set."""
        limit, start = self._parts.config.server.drain_timeout, self._parts.clock.mono()
        server.close()
        self._door.pre_shutdown()
        await self._door.shutdown(limit)
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, start + limit - self._parts.clock.mono())):
                await self._parts.flights.drain()
                await self._parts.backlog.drain()
        await self._parts.flights.aclose()
        await self._parts.backlog.aclose()

    async def _close(self, operators: web.AppRunner) -> None:
        parts = self._parts
        await operators.cleanup()
        for close in parts.closing:
            await close()
        parts.metrics.publish()
        parts.log.close()


async def kept_up(
    loop: Callable[[], Coroutine[None, None, None]], clock: Clock, emit: Emit
) -> None:
    """A loop, until it ends or is cancelled. What it did not expect, such as bytes in a store that
    no gateway wrote, costs it a moment, and not the worker with all its requests."""
    while True:
        try:
            return await loop()
        except Exception as error:  # the top of a loop
            emit(TierFailed("worker", "loop", type(error).__name__))
        await clock.sleep(_AGAIN)


async def _listen(server: web.Server, host: str, port: int) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(server, sock=listening(host, port), backlog=1024)


def soon(emit: Emit) -> Emit:
    """For other threads than the loop's."""
    loop = asyncio.get_running_loop()

    def emit_soon(event: Event) -> None:
        with suppress(RuntimeError):  # a thread that outlives the loop tells nobody
            loop.call_soon_threadsafe(emit, event)

    return emit_soon
