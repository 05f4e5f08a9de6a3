"""The composition root: the only module that names every adapter."""

from __future__ import annotations

import itertools
import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import uvloop

from proxy.adapters.clock import SystemClock
from proxy.adapters.disk.store import Disk
from proxy.adapters.door.arrival import Limits
from proxy.adapters.door.door import Door
from proxy.adapters.door.lane import Lane
from proxy.adapters.epoch import Epochs
from proxy.adapters.http import Http
from proxy.adapters.leases import Leases, NoLeases, leased
from proxy.adapters.log import Log
from proxy.adapters.memory import Memory
from proxy.adapters.metrics import Metrics, bury
from proxy.adapters.peers import NoPeers, UnixPeers
from proxy.adapters.processes.supervisor import Supervisor
from proxy.adapters.runtime import runtime
from proxy.adapters.sockets import reserved
from proxy.adapters.tunnel import Tunnel
from proxy.core.events import TierFailed
from proxy.core.keeping import Keeping
from proxy.core.rules import rules
from proxy.environment import admin_token, credential, disk_path
from proxy.fleet import Fleet, Node
from proxy.flights import Flights
from proxy.memo import Memo
from proxy.origin import Origin
from proxy.passing import Passing
from proxy.pipeline import Pipeline
from proxy.ports import StoreError
from proxy.recall import Recall
from proxy.renders import Renders
from proxy.response import Report
from proxy.sharing import Sharing
from proxy.tiers import Tier, Tiers
from proxy.worker import Parts, Stores, Worker, soon

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from aiohttp import web

    from proxy.config import Config, Upstream
    from proxy.core.events import Event
    from proxy.core.rules import Rules
    from proxy.ports import Emit


def serve(config: Config, environ: Mapping[str, str], opened: Callable[[int, int], None]) -> int:
    """Run the workers until a signal ends them; the exit code.

    `opened` is told the two ports once all workers serve. Raises: ConfigError, OSError.
    """
    clock = SystemClock()
    ready = rules(config, environ)  # a mistake in the settings ends it here, before any fork
    admin_token(config, environ)
    for table in config.upstream:
        credential(table, environ)
    log = Log(1, clock.now, requests=config.log.requests)
    addresses = (config.server.host, config.server.port), (config.admin.host, config.admin.port)
    with reserved(*addresses) as ports, runtime() as directory:
        metrics = Metrics(directory, "parent", serving=False)

        def emit(event: Event) -> None:
            metrics(event)
            metrics.publish()
            log(event)
            log.flush()  # at once: no thread may run in a process that forks

        return Supervisor(
            config.server.workers,
            partial(_work, _Site(config, ready, environ, directory, clock), ports),
            drain=config.server.drain_timeout,
            mono=clock.mono,
            emit=emit,
            reaped=lambda slot: bury(directory, str(slot)),
            opened=lambda: opened(*ports),
        ).run()


@dataclass(frozen=True, slots=True)
class _Site:
    """Where and how the workers of this run serve."""

    config: Config
    rules: Rules
    environ: Mapping[str, str]
    directory: Path
    clock: SystemClock

    @property
    def alone(self) -> bool:
        return self.config.server.workers == 1


def _work(site: _Site, ports: Sequence[int], slot: int, serving: Callable[[], None]) -> int:
    async def run() -> None:
        await _worker(site, slot).run(ports, serving)

    uvloop.run(run())
    return 0


def _worker(site: _Site, slot: int) -> Worker:
    """All parts of a worker. Called with the loop running."""
    config, clock = site.config, site.clock
    log = Log(1, clock.now, requests=config.log.requests)
    metrics = Metrics(site.directory, str(slot))

    def emit(event: Event) -> None:
        metrics(event)
        log(event)

    address = site.directory / f"worker-{slot}.sock"
    stores = _stores(site, emit)
    upstreams = [Http(settings) for settings in config.upstream]
    limit, keep = config.cache.max_entry_bytes, config.cache.finish_abandoned
    parts = Parts(
        config=config,
        directory=site.directory,
        address=address,
        token=admin_token(config, site.environ),
        stores=stores,
        flights=Flights(emit, limit=limit, keep=keep),
        leases=NoLeases() if site.alone else _leases(site, address, emit),
        upstreams=upstreams,
        origin=_origin(site, upstreams, stores.tiers, emit),
        metrics=metrics,
        log=log,
        clock=clock,
        emit=emit,
    )
    return Worker(parts, _door(site, parts))


def _stores(site: _Site, emit: Emit) -> Stores:
    memory = Memory(site.config.cache.memory.max_bytes, site.config.cache.memory.ttl)
    disk = _disk(site, emit)
    tiers = [Tier("memory", memory, peek=memory.peek, keep=memory.keep)]
    if disk is not None:
        tiers.append(Tier("disk", disk, peek=disk.peek))
    return Stores(memory, disk, Tiers(tiers, site.clock, emit), _epochs(site))


def _pipeline(site: _Site, parts: Parts) -> Pipeline:
    cache, clock, stores = site.config.cache, site.clock, parts.stores
    renders = Renders(cache.memory.max_bytes // 4, zero_usage=cache.usage_on_hit == "zero")
    return Pipeline(
        site.rules,
        memo=Memo(cache.memory.memo_entries),
        tiers=stores.tiers,
        flights=parts.flights,
        sharing=Sharing(parts.leases, NoPeers() if site.alone else UnixPeers(), clock),
        origin=parts.origin,
        recall=Recall(stores.tiers, renders, stores.epochs.current, clock),
        epoch=stores.epochs.current,
        clock=clock,
        alone=site.alone,
    )


def _epochs(site: _Site) -> Epochs:
    """Beside the disk tier, so that a purge outlives the run; where that fails, for this run."""
    kept = disk_path(site.config, site.environ)
    try:
        return Epochs((kept or site.directory) / "epoch", clock=site.clock)
    except OSError:
        return Epochs(site.directory / "epoch", clock=site.clock)


def _disk(site: _Site, emit: Emit) -> Disk | None:
    path = disk_path(site.config, site.environ)
    if path is None:
        return None
    try:
        return Disk(path, site.config.cache.disk.max_bytes, clock=site.clock, emit=soon(emit))
    except StoreError:  # the cache may fail; what it is in front of may not
        emit(TierFailed("disk", "open"))
        return None


def _leases(site: _Site, address: Path, emit: Emit) -> Leases | NoLeases:
    return leased(site.directory / "leases", str(address), clock=site.clock, emit=soon(emit))


def _origin(site: _Site, upstreams: Sequence[Http], tiers: Tiers, emit: Emit) -> Origin:
    cache = site.config.cache
    pairs = zip(site.config.upstream, upstreams, strict=True)
    nodes = [_node(settings, upstream, site.environ) for settings, upstream in pairs]
    return Origin(
        Fleet(nodes, site.clock, emit),
        tiers,
        Keeping(
            jitter=cache.jitter,
            stale_while_revalidate=float(cache.stale_while_revalidate),
            stale_if_error=float(cache.stale_if_error),
            negative_ttl=float(cache.negative_ttl),
        ),
        stripped=site.rules.control_names,
        clock=site.clock,
        emit=emit,
        max_entry_bytes=cache.max_entry_bytes,
    )


def _node(settings: Upstream, upstream: Http, environ: Mapping[str, str]) -> Node:
    return Node(
        settings.name,
        upstream,
        models=settings.models,
        credential=credential(settings, environ),
        ask_usage=settings.ask_usage,
    )


def _door(site: _Site, parts: Parts) -> web.Server:
    """The public port, and the path behind it."""
    settings, first = site.config.server, site.config.upstream[0]
    passing = Passing(site.rules, parts.origin, site.clock)
    tunnel = Tunnel(first, credential(first, site.environ), passing.sender)
    run, numbers = secrets.token_hex(8), itertools.count()

    def report(method: str, endpoint: str, client_id: str | None) -> Report:
        request_id = client_id or f"req_{run}{next(numbers):08x}"
        return Report(method, endpoint, request_id, site.clock, parts.emit)

    body, request = settings.max_body_bytes, settings.max_request_bytes
    limits = Limits(body=body, request=request, header=settings.max_header_bytes)
    pipeline, entries = _pipeline(site, parts), site.config.cache.memory.memo_entries
    lane = Lane(pipeline.recall.at_once, report, entries)
    door = Door(pipeline.serve, passing, tunnel.relay, report, limits, lane)
    return door.server(keepalive_timeout=settings.keepalive_timeout)
