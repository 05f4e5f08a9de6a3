"""One process that serves: from its start through the drain to its end."""

from __future__ import annotations

import asyncio
import gc
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from proxy.adapters import admin
from proxy.adapters.leases import Leases, NoLeases
from proxy.adapters.peers import PeerServer, UnixPeers
from proxy.adapters.sockets import listening
from proxy.core.entry import Key
from proxy.core.events import Evicted, TierMeasured
from proxy.core.summary import summary
from proxy.ports import UpstreamError
from proxy.sharing import unnamed

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from pathlib import Path

    from proxy.adapters.disk.store import Disk
    from proxy.adapters.epoch import Epochs
    from proxy.adapters.http import Http
    from proxy.adapters.log import Log
    from proxy.adapters.memory import Memory
    from proxy.adapters.metrics import Metrics
    from proxy.config import Config
    from proxy.core.events import Event
    from proxy.flight import Reader
    from proxy.flights import Flights
    from proxy.origin import Origin
    from proxy.ports import Clock, Emit
    from proxy.tiers import Tiers

_PUBLISH_EVERY = 0.5
"""Seconds between two moments at which a worker's numbers are written for the others."""

_GARBAGE = 10_000
"""Objects that may come up before the youngest are walked for cycles. The default of 700 has that
done every ten requests, for one request in a thousand that leaves a cycle behind."""


@dataclass(frozen=True, slots=True)
class Stores:
    """What a worker keeps answers in, and the epoch that voids them."""

    memory: Memory
    disk: Disk | None
    tiers: Tiers
    epochs: Epochs


@dataclass(frozen=True, slots=True)
class Parts:
    """What a worker is made of, put together in `app`."""

    config: Config
    directory: Path
    """Of this run: the workers' sockets lie here."""
    address: Path
    """This worker's socket, for the others."""
    token: str | None
    """The admin port's credential."""
    stores: Stores
    flights: Flights
    leases: Leases | NoLeases
    upstreams: Sequence[Http]
    origin: Origin
    metrics: Metrics
    log: Log
    clock: Clock
    emit: Emit


class Worker:
    """Runs its parts."""

    def __init__(self, parts: Parts, door: web.Server) -> None:
        self._parts = parts
        self._door = door
        self._peers = PeerServer(self._board, self._forget, parts.address)
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
            tasks = [background.create_task(loop) for loop in self._loops()]
            if parts.config.server.workers > 1:
                await self._peers.start()
            server = await _listen(self._door, parts.config.server.host, ports[0])
            await _listen(operators.server, parts.config.admin.host, ports[1])
            gc.collect()
            gc.freeze()  # what lives as long as the process need not be walked again and again
            gc.set_threshold(_GARBAGE, 20, 20)
            self._ready = True
            serving()
            await over.wait()
            self._ready = False
            await self._drain(server)
            for task in tasks:
                task.cancel()
        await self._close(operators)

    def _board(self, name: bytes) -> Reader | None:
        """A place at a running flight, for another worker."""
        return self._parts.flights.get(unnamed(name))

    async def _forget(self, key: bytes) -> bool:
        """Forget a key, for another worker that purges it. On disk too, behind what this worker's
        flight for it may be writing."""
        self._parts.flights.purge(Key(key))
        return await self._parts.stores.tiers.delete(Key(key))

    def _operators(self) -> web.AppRunner:
        operations = admin.Operations(
            ready=lambda: self._ready,
            metrics=self._parts.metrics.exposition,
            stats=self._stats,
            purge=self._purge,
        )
        application = admin.application(operations, self._parts.token)
        return web.AppRunner(application, access_log=None, handle_signals=False)

    def _loops(self) -> list[Coroutine[None, None, None]]:
        """What runs behind the requests until the end."""
        parts = self._parts
        loops = [self._publish()]
        if parts.stores.disk is not None:
            loops.append(parts.stores.disk.run())
        if isinstance(parts.leases, Leases):
            loops.append(parts.leases.run())
        return loops

    async def _publish(self) -> None:
        parts = self._parts
        evicted = 0
        while True:
            await parts.clock.sleep(_PUBLISH_EVERY)
            stats = parts.stores.memory.stats()
            if stats.evictions > evicted:
                parts.emit(Evicted("memory", "size", stats.evictions - evicted))
                evicted = stats.evictions
            parts.emit(TierMeasured("memory", stats.bytes, stats.entries))
            parts.metrics.publish()

    async def _purge(self, key: Key | None) -> bool:
        parts = self._parts
        if key is None:
            parts.stores.epochs.bump()
            return True
        parts.flights.purge(key)
        had = await parts.stores.tiers.delete(key)
        for path in parts.directory.glob("worker-*.sock"):
            if path != parts.address:
                with suppress(UpstreamError):  # a worker that is gone holds nothing
                    had = await UnixPeers().forget(str(path), key) or had
        return had

    def _stats(self) -> dict[str, object]:
        return {
            "epoch": self._parts.stores.epochs.current(),
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
        await self._parts.flights.aclose()

    async def _close(self, operators: web.AppRunner) -> None:
        parts = self._parts
        await self._peers.aclose()
        await operators.cleanup()
        for upstream in parts.upstreams:
            await upstream.aclose()
        if isinstance(parts.leases, Leases):
            parts.leases.close()
        if parts.stores.disk is not None:
            parts.stores.disk.close()
        parts.metrics.publish()
        parts.log.close()


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
