"""What answers are kept in, near and far, put together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from proxy.adapters.clock import SystemClock
from proxy.adapters.disk.store import Disk
from proxy.adapters.epoch import Epochs
from proxy.adapters.memory import Memory
from proxy.adapters.objects import place
from proxy.adapters.objects.epoch import KeptEpoch
from proxy.adapters.objects.store import Objects
from proxy.adapters.redis.filter import Filter
from proxy.adapters.redis.store import RedisStore
from proxy.adapters.vault.keys import wrappers
from proxy.adapters.vault.vault import Vault, coder
from proxy.backlog import Backlog
from proxy.core.events import TierFailed
from proxy.core.outage import Outage
from proxy.core.ttl import PINNED
from proxy.core.worth import worth
from proxy.environment import disk_path, redis_password
from proxy.ports import StoreError
from proxy.tier import Tier, settling
from proxy.tiers import Tiers
from proxy.worker import soon

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
    from pathlib import Path

    from proxy.adapters.leases import Leases
    from proxy.adapters.redis.link import Link
    from proxy.coder import Coder
    from proxy.config import Config, Redis
    from proxy.ports import Clock, Emit

    Loop: TypeAlias = Callable[[], Coroutine[None, None, None]]
    Close: TypeAlias = Callable[[], Awaitable[object]]

_GRACE: Final = 1.1
"""Jitter lets an entry live a little longer than the settings say."""


@dataclass(frozen=True, slots=True)
class Site:
    """Where and how the processes of this run serve."""

    config: Config
    environ: Mapping[str, str]
    directory: Path
    """Of this run."""
    clock: Clock


class Storage:
    """The tiers of one worker. Made after forking, with the loop running."""

    def __init__(self, site: Site, slot: int, secret: bytes, emit: Emit) -> None:
        """`secret`: what keys the partitions; the fleet's gateways have the same."""
        self._site, self._slot, self._secret, self._emit = site, slot, secret, emit
        self.loops: list[Loop] = []
        """What runs behind the requests until the end."""
        self.closing: list[Close] = []
        self.backlog = Backlog(emit)
        self.kept: KeptEpoch | None = None
        """The epoch beside the objects, seen to by one worker of a machine."""
        self.epochs = _epochs(site)
        self.link = _link(site, emit)
        self._code = self._coder()
        near = site.config.cache.memory
        self.redis: RedisStore | None = None
        self.disk: Disk | None = None
        self.memory = Memory(near.max_bytes, near.ttl)
        tiers = (self._memory(), self._disk(), self._redis(), self._objects())
        self.all = there = [tier for tier in tiers if tier is not None]
        self.tiers = Tiers(there, site.clock, emit, self.backlog)
        self.loops.append(partial(settling, there, site.clock, emit))

    def _coder(self) -> Coder:
        keys = wrappers(self._site.config.cache.encryption, self._site.environ)
        if not keys:
            return coder(None)
        vault = Vault(keys, clock=self._site.clock, emit=self._emit)
        self.loops.append(vault.run)
        return coder(vault)

    def _memory(self) -> Tier | None:
        held, near = self.memory, self._site.config.cache.memory
        if not near.max_bytes or not near.ttl:
            return None  # it keeps nothing: each look would be in vain
        return Tier(
            "memory",
            held,
            peek=held.peek,
            keep=held.keep,
            get_all=held.get_all,
            holds=held.holds,
        )

    def _disk(self) -> Tier | None:
        path = disk_path(self._site.config, self._site.environ)
        if path is None:
            return None
        limit, clock = self._site.config.cache.disk.max_bytes, self._site.clock
        try:
            disk = Disk(path, limit, coder=self._code, clock=clock, emit=soon(self._emit))
        except StoreError as error:  # the cache may fail; what it is in front of may not
            self._emit(TierFailed("disk", "open", type(error.__cause__ or error).__name__))
            return None
        self.disk = disk
        self.loops.append(disk.run)
        self.closing.append(closing(disk))
        return Tier(
            "disk",
            disk,
            peek=disk.peek,
            get_all=disk.get_all,
            put_all=disk.put_all,
            holds=disk.scan.holds,
        )

    def _redis(self) -> Tier | None:
        if (link := self.link) is None:
            return None
        self.loops.append(link.run)
        self.closing.append(link.aclose)
        self.redis = RedisStore(link, self._code)
        return Tier(
            "redis",
            self.redis,
            holds=self.redis.holds,
            filter=self._filter("entries"),
            shared=True,
            outage=Outage.never(),  # the link has breakers: for each server, reads and writes apart
            silent=lambda: link.silent,
        )

    def _objects(self) -> Tier | None:
        config, settings = self._site.config, self._site.config.cache.objects
        if not settings.url:
            return None
        objects = Objects(
            settings.url,
            self._code,
            timeout=float(settings.timeout),
            secret=self._secret,
            longest=_longest(config),
            clock=self._site.clock,
            emit=self._emit,
        )
        if self._slot == 0:  # one for the machine sweeps, and agrees on the epoch
            self.kept = self._kept()
            self.loops += [objects.run, self.kept.run]
        self.closing.append(objects.aclose)
        known, worthy = self._filter("objects"), worth(settings.min_cost, config.model)
        return Tier(
            "objects", objects, holds=objects.holds, filter=known, worthy=worthy, shared=True
        )

    def _kept(self) -> KeptEpoch:
        settings = self._site.config.cache.objects
        return KeptEpoch(
            settings.url,
            self.epochs,
            secret=self._secret,
            timeout=float(settings.timeout),
            alone=self.link is None,
            clock=self._site.clock,
            emit=self._emit,
        )

    def pending(self) -> bool:
        """Whether the objects may still tell the fleet's epoch."""
        return self.kept is not None and self.kept.pending

    def _filter(self, tag: str) -> Filter | None:
        config, size = self._site.config, self._site.config.cache.redis.filter_bytes
        if self.link is None or not size:
            return None
        known = Filter(self.link, size, _longest(config), tag=tag, clock=self._site.clock)
        self.loops.append(known.run)
        return known


def closing(held: Disk | Leases) -> Close:
    """Its end, where others have one that is waited for."""

    async def close() -> None:
        held.close()

    return close


def _link(site: Site, emit: Emit) -> Link | None:
    settings = site.config.cache.redis
    if not settings.url:
        return None
    return _linked(settings, redis_password(site.config, site.environ), site.clock, emit)


def _linked(settings: Redis, password: str | None, clock: Clock, emit: Emit) -> Link:
    """Connects to nothing yet. Raises: ConfigError."""
    # The driver takes as long to load as all else together: who has no Redis does not wait for it.
    from proxy.adapters.redis.link import Link

    return Link(settings, password, clock=clock, emit=emit)


def _epochs(site: Site) -> Epochs:
    """Beside the disk tier, so that a purge outlives the run; where that fails, for this run."""
    kept = disk_path(site.config, site.environ)
    try:
        return Epochs((kept or site.directory) / "epoch", clock=site.clock)
    except OSError:
        return Epochs(site.directory / "epoch", clock=site.clock)


def _longest(config: Config) -> float:
    """Seconds that an entry lives, at most, unless it is pinned."""
    cache = config.cache
    ttl = max(cache.ttl, cache.max_ttl, *(rule.ttl for rule in cache.rule), 0.0)
    return min(_GRACE * ttl + cache.stale_while_revalidate + cache.stale_if_error, PINNED)


def tier_checks(config: Config, environ: Mapping[str, str]) -> Iterator[Callable[[], object]]:
    """What shows whether the settings of the tiers make sense; each raises ConfigError."""
    cache = config.cache
    yield partial(wrappers, cache.encryption, environ)
    yield partial(redis_password, config, environ)
    if cache.redis.url:
        yield partial(_linked, cache.redis, None, SystemClock(), lambda event: None)
    if cache.objects.url:
        yield partial(place.checked, cache.objects.url)
