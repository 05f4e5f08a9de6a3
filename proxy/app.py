"""The composition root: the only module that names every adapter."""

from __future__ import annotations

import asyncio
import gc
import itertools
import secrets
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop
from aiohttp import web

from proxy.adapters import admin
from proxy.adapters.clock import SystemClock
from proxy.adapters.disk.store import Disk
from proxy.adapters.epoch import Epochs
from proxy.adapters.http import Http
from proxy.adapters.leases import Leases, NoLeases
from proxy.adapters.log import Log
from proxy.adapters.memory import Memory
from proxy.adapters.metrics import Metrics, bury
from proxy.adapters.peers import NoPeers, PeerServer, UnixPeers
from proxy.adapters.processes.supervisor import Supervisor
from proxy.adapters.runtime import runtime
from proxy.adapters.server import Door, Limits
from proxy.adapters.sockets import listening, reserved
from proxy.adapters.tunnel import Tunnel
from proxy.config import admin_token, credential, disk_path
from proxy.core.entry import Key
from proxy.core.events import TierFailed, TierMeasured
from proxy.core.keeping import Keeping
from proxy.core.rules import rules
from proxy.fleet import Fleet, Node
from proxy.flight import Flights
from proxy.memo import Memo
from proxy.origin import Origin
from proxy.pipeline import Pipeline
from proxy.ports import StoreError, UpstreamError
from proxy.renders import Renders
from proxy.response import Report
from proxy.sharing import Sharing, unnamed
from proxy.tiers import Tier, Tiers

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from proxy.config import Config, Upstream
    from proxy.core.events import Event
    from proxy.core.rules import Rules
    from proxy.flight import Reader

_PUBLISH_EVERY = 0.5
"""Seconds between two moments at which a worker's numbers are written for the others."""


def serve(
    config: Config, environ: Mapping[str, str], opened: Callable[[int, int], None]
) -> int:
    """Run the workers until a signal ends them; the exit code.

    `opened` is told the two ports once all workers serve. Raises: ConfigError, OSError.
    """
    clock = SystemClock()
    ready = rules(config, environ)  # a mistake in the settings ends it here, before any fork
    log = Log(1, clock.now, requests=config.log.requests)

    def emit(event: Event) -> None:
        log(event)
        log.flush()  # at once: no thread may run in a process that forks

    addresses = (config.server.host, config.server.port), (config.admin.host, config.admin.port)
    with reserved(*addresses) as ports, runtime() as directory:
        return Supervisor(
            config.server.workers,
            partial(_work, config, ready, environ, directory, ports),
            drain=config.server.drain_timeout,
            mono=clock.mono,
            emit=emit,
            reaped=lambda slot: bury(directory, str(slot)),
            opened=lambda: opened(*ports),
        ).run()


def _work(
    config: Config,
    ready: Rules,
    environ: Mapping[str, str],
    directory: Path,
    ports: list[int],
    slot: int,
    serving: Callable[[], None],
) -> int:
    uvloop.run(Worker(config, ready, environ, directory, slot).run(ports, serving))
    return 0


class Worker:
    """One process that serves: all its parts, from the start to the end."""

    def __init__(
        self,
        config: Config,
        ready: Rules,
        environ: Mapping[str, str],
        directory: Path,
        slot: int,
    ) -> None:
        self._config = config
        self._environ = environ
        self._directory = directory
        self._ready = False
        self._clock = clock = SystemClock()
        self._log = Log(1, clock.now, requests=config.log.requests)
        self._metrics = Metrics(directory, str(slot))
        cache, kept = config.cache, disk_path(config, environ)
        self._epochs = Epochs((kept or directory) / "epoch", clock=clock)
        self._memory = Memory(cache.memory.max_bytes, cache.memory.ttl)
        self._disk = self._opened(kept)
        self._flights = Flights(self._emit, limit=cache.max_entry_bytes, keep=cache.finish_abandoned)
        self._upstreams = [Http(settings) for settings in config.upstream]
        self._tiers = self._stores()
        self._address = str(directory / f"worker-{slot}.sock")
        self._leases = self._leased()
        self._ids = (f"req_{secrets.token_hex(8)}{n:08x}" for n in itertools.count())
        self._pipeline = Pipeline(
            ready,
            memo=Memo(cache.memory.memo_entries),
            tiers=self._tiers,
            flights=self._flights,
            sharing=Sharing(self._leases, NoPeers() if self._alone else UnixPeers(), clock),
            origin=self._origin(),
            renders=Renders(cache.memory.max_bytes // 4, zero_usage=cache.usage_on_hit == "zero"),
            epoch=self._epochs.current,
            clock=clock,
        )

    @property
    def _alone(self) -> bool:
        return self._config.server.workers == 1

    def _emit(self, event: Event) -> None:
        self._metrics(event)
        self._log(event)

    def _emit_soon(self, event: Event) -> None:
        """From another thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._emit, event)

    _loop: asyncio.AbstractEventLoop | None = None

    def _opened(self, path: Path | None) -> Disk | None:
        if path is None:
            return None
        limit = self._config.cache.disk.max_bytes
        try:
            return Disk(path, limit, clock=self._clock, emit=self._emit_soon)
        except StoreError:  # the cache may fail; what it is in front of may not
            self._emit(TierFailed("disk", "open"))
            return None

    def _stores(self) -> Tiers:
        tiers = [Tier("memory", self._memory)]
        if self._disk is not None:
            tiers.append(Tier("disk", self._disk, self._config.cache.disk.timeout))
        return Tiers(tiers, self._clock, self._emit)

    def _leased(self) -> Leases | NoLeases:
        if self._alone:
            return NoLeases()
        directory = self._directory / "leases"
        return Leases(directory, self._address, clock=self._clock, emit=self._emit_soon)

    def _origin(self) -> Origin:
        cache = self._config.cache
        return Origin(
            Fleet([*map(self._node, self._config.upstream, self._upstreams)], self._clock, self._emit),
            self._tiers,
            Keeping(
                jitter=cache.jitter,
                stale_while_revalidate=float(cache.stale_while_revalidate),
                stale_if_error=float(cache.stale_if_error),
                negative_ttl=float(cache.negative_ttl),
            ),
            clock=self._clock,
            emit=self._emit,
            max_entry_bytes=cache.max_entry_bytes,
        )

    def _node(self, settings: Upstream, upstream: Http) -> Node:
        return Node(
            settings.name,
            upstream,
            models=settings.models,
            credential=credential(settings, self._environ),
            ask_usage=settings.ask_usage,
        )

    async def run(self, ports: list[int], serving: Callable[[], None]) -> None:
        """Serve until SIGTERM, then drain."""
        self._loop = asyncio.get_running_loop()
        over = asyncio.Event()
        self._loop.add_signal_handler(signal.SIGTERM, over.set)
        self._log.start()
        public, operators = self._door(), self._operators()
        await operators.setup()
        async with asyncio.TaskGroup() as background:
            tasks = [background.create_task(loop) for loop in self._loops()]
            peers = PeerServer(self._board, self._forget, Path(self._address))
            await peers.start()
            server = await self._listen(public, self._config.server.host, ports[0])
            assert operators.server is not None
            await self._listen(operators.server, self._config.admin.host, ports[1])
            gc.collect()
            gc.freeze()  # what lives as long as the process need not be walked again and again
            self._ready = True
            serving()
            await over.wait()
            self._ready = False
            await self._drain(server, public)
            for task in tasks:
                task.cancel()
            await peers.aclose()
        await self._close(operators)

    def _door(self) -> web.Server:
        settings = self._config.server
        first = self._config.upstream[0]
        tunnel = Tunnel(first, credential(first, self._environ), self._pipeline.sender)
        limits = Limits(
            body=settings.max_body_bytes,
            request=settings.max_request_bytes,
            header=settings.max_header_bytes,
        )
        door = Door(
            self._pipeline.serve, self._pipeline.forward, tunnel.relay, self._report, limits
        )
        return door.server(keepalive_timeout=settings.keepalive_timeout)

    def _report(self, method: str, endpoint: str, client_id: str | None) -> Report:
        return Report(method, endpoint, client_id or next(self._ids), self._clock, self._emit)

    def _operators(self) -> web.AppRunner:
        operations = admin.Operations(
            ready=lambda: self._ready,
            metrics=self._metrics.exposition,
            stats=self._stats,
            purge=self._purge,
        )
        application = admin.application(operations, admin_token(self._config, self._environ))
        return web.AppRunner(application, access_log=None, handle_signals=False)

    async def _listen(self, server: web.Server, host: str, port: int) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        return await loop.create_server(server, sock=listening(host, port), backlog=1024)

    def _loops(self) -> list[Coroutine[None, None, None]]:
        """What runs behind the requests until the end."""
        loops = [self._publish()]
        if self._disk is not None:
            loops.append(self._disk.run())
        if isinstance(self._leases, Leases):
            loops.append(self._leases.run())
        return loops

    async def _publish(self) -> None:
        while True:
            await self._clock.sleep(_PUBLISH_EVERY)
            stats = self._memory.stats()
            self._emit(TierMeasured("memory", stats.bytes, stats.entries))
            self._metrics.publish()

    def _board(self, name: bytes) -> Reader | None:
        return self._flights.get(unnamed(name))

    async def _forget(self, key: bytes) -> bool:
        return await self._memory.delete(Key(key))

    async def _purge(self, key: Key | None) -> bool:
        if key is None:
            self._epochs.bump()
            return True
        had = await self._tiers.delete(key)
        for path in self._directory.glob("worker-*.sock"):
            if str(path) != self._address:
                with suppress(UpstreamError):  # a worker that is gone holds nothing
                    await UnixPeers().forget(str(path), key)
        return had

    def _stats(self) -> dict[str, object]:
        return {
            "worker": self._address.rpartition("/")[2],
            "epoch": self._epochs.current(),
            "memory": repr(self._memory),
            "disk": repr(self._disk) if self._disk is not None else "off",
            "flights": repr(self._flights),
        }

    async def _drain(self, server: asyncio.Server, public: web.Server) -> None:
        """Take no more; give what runs the time that is set."""
        server.close()
        public.pre_shutdown()
        await public.shutdown(self._config.server.drain_timeout)
        with suppress(TimeoutError):
            async with asyncio.timeout(self._config.server.drain_timeout):
                await self._flights.drain()
        await self._flights.aclose()

    async def _close(self, operators: web.AppRunner) -> None:
        await operators.cleanup()
        for upstream in self._upstreams:
            await upstream.aclose()
        if isinstance(self._leases, Leases):
            self._leases.close()
        if self._disk is not None:
            self._disk.close()
        self._metrics.publish()
        self._log.close()
