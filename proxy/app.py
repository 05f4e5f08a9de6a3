"""The composition root: with `front`, `company` and `storage` all that names adapters."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Final, NoReturn

import msgspec
import uvloop

from proxy.adapters.calendars import Calendars
from proxy.adapters.clock import SystemClock
from proxy.adapters.log import Log
from proxy.adapters.metrics import Metrics, bury
from proxy.adapters.processes.supervisor import Supervisor
from proxy.adapters.processes.worker import say
from proxy.adapters.runtime import runtime
from proxy.adapters.schedules import Schedules, readable, unread
from proxy.adapters.sockets import reserved
from proxy.company import Company
from proxy.comparing import compared, installed
from proxy.core.providers import Providers
from proxy.core.rules import exchanges, rules
from proxy.environment import admin_token, complete, peer_secret
from proxy.flights import Flights
from proxy.front import Front, Plan
from proxy.nodes import listening
from proxy.storage import Site, Storage, tier_checks
from proxy.worker import Parts, Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from proxy.config import Config
    from proxy.core.events import Event
    from proxy.core.rules import Rules
    from proxy.ports import Clock, Emit


def serve(config: Config, environ: Mapping[str, str], opened: Callable[[int, int], None]) -> int:
    """Run the workers until a signal ends them; the exit code.

    `opened` is told the two ports once all workers serve. Raises: ConfigError, OSError.
    """
    os.umask(0o077)  # whatever is written, answers among it, is this user's alone
    clock = SystemClock()
    ready, calendars = _checked(config, environ, clock)
    log = Log(1, clock.now, requests=config.log.requests)
    addresses = (config.server.host, config.server.port), (config.admin.host, config.admin.port)
    with reserved(*addresses) as ports, runtime() as directory:
        metrics = Metrics(directory, "parent", serving=False)

        def emit(event: Event) -> None:
            metrics(event)
            metrics.publish()
            log(event)
            log.flush()  # at once: no thread may run in a process that forks

        # A file that is written each night may come yet: it is no reason not to serve.
        for _, event in unread(config.warming):
            emit(event)
        site = Site(config, environ, directory, clock)
        return Supervisor(
            config.server.workers,
            partial(_work, Plan(site, ready, calendars), ports),
            drain=config.server.drain_timeout,
            mono=clock.mono,
            emit=emit,
            reaped=lambda slot: bury(directory, str(slot)),
            opened=lambda: opened(*ports),
            aides=int(config.semantic.mode != "off"),
        ).run()


def checks(config: Config, environ: Mapping[str, str]) -> Iterator[Callable[[], object]]:
    """What shows whether the settings can be used, but for their calendars; each raises
    ConfigError."""
    yield partial(rules, config, environ)
    yield from _others(config, environ)
    yield partial(readable, config.warming)


def _others(config: Config, environ: Mapping[str, str]) -> Iterator[Callable[[], object]]:
    """All but the rules."""
    yield partial(admin_token, config, environ)
    yield partial(peer_secret, config, environ)
    yield partial(compared, config, environ)
    yield partial(listening, config)
    yield partial(installed, config)
    yield from tier_checks(config, environ)
    yield partial(Providers, config)
    yield partial(Schedules, config.warming, environ, SystemClock(), lambda event: None)
    yield partial(complete, config, environ)


def _checked(config: Config, environ: Mapping[str, str], clock: Clock) -> tuple[Rules, Calendars]:
    """A mistake in the settings ends it here, before any fork. Raises: ConfigError."""
    ready, calendars = rules(config, environ), Calendars(exchanges(config), clock)
    for check in _others(config, environ):
        check()
    calendars.load()
    return ready, calendars


def _work(plan: Plan, ports: Sequence[int], slot: int, tell: int) -> int:
    if slot == plan.site.config.server.workers:
        _become_semantic(plan.site, tell)

    async def run() -> None:
        await (await _worker(plan, slot)).run(ports, partial(say, tell))

    uvloop.run(run())
    return 0


_ALONE: Final = {
    "OPENBLAS_NUM_THREADS": "1",  # more would only get in the workers' way
    "MALLOC_ARENA_MAX": "1",
    # Set, it does not grow: what is large goes back to the system, 35 MB of 100,000 questions.
    "MALLOC_MMAP_THRESHOLD_": "524288",
    # That alone would have the heap cut back, and grown again, page by page, at each question.
    "MALLOC_TRIM_THRESHOLD_": "4194304",
}
"""What numpy and the C library of the semantic process go by."""


def _become_semantic(site: Site, tell: int) -> NoReturn:
    """Go on as the machine's semantic process: another program, so that it has nothing of this one
    in its memory, nor this one of its models."""
    settings = compared(site.config, site.environ)
    # Without a disk, what it learnt of errors outlives it at least, if not this gateway.
    state = settings.state or str(site.directory / "semantic.state")
    given = msgspec.json.encode(msgspec.structs.replace(settings, state=state))
    with tempfile.TemporaryFile() as said:  # not its arguments: a credential is among them
        said.write(given)
        said.seek(0)
        os.dup2(said.fileno(), 0)
    environ = {**site.environ, **_ALONE}
    os.set_inheritable(tell, True)
    socket = str(site.directory / "semantic.sock")
    command = (sys.executable, "-m", "semantic", socket, str(tell))
    os.execve(sys.executable, command, environ)


def _told(site: Site, slot: int) -> tuple[Log, Metrics, Emit]:
    """Where events go."""
    log = Log(1, site.clock.now, requests=site.config.log.requests)
    metrics = Metrics(site.directory, str(slot))

    def emit(event: Event) -> None:
        metrics(event)
        log(event)

    return log, metrics, emit


async def _worker(plan: Plan, slot: int) -> Worker:
    """All parts of a worker."""
    site, config = plan.site, plan.site.config
    log, metrics, emit = _told(site, slot)
    storage, cache = Storage(site, slot, plan.rules.secret, emit), config.cache
    flights = Flights(emit, limit=cache.max_entry_bytes, keep=cache.finish_abandoned)
    company = Company(site, slot, storage, flights, emit)
    front = Front(plan, storage, company, flights, await company.join(), emit)
    parts = Parts(
        config=config,
        token=admin_token(config, site.environ),
        memory=storage.memory,
        epoch=storage.epochs.current,
        flights=flights,
        backlog=storage.backlog,
        purging=company.purging,
        meaning=company.meaning,
        fleet=front.fleet,
        contexts=front.contexts,
        warmer=front.warmer,
        meet=company.meet,
        loops=[*storage.loops, *company.loops, *front.loops],
        closing=[*company.closing, *front.closing, *storage.closing],
        metrics=metrics,
        log=log,
        clock=site.clock,
        emit=emit,
    )
    return Worker(parts, front.door())
