"""Leases, epoch, purges and buckets over servers that share the keys or replace each other."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from proxy import config
from proxy.adapters.clock import SystemClock
from proxy.adapters.epoch import Epochs
from proxy.adapters.leases import NoLeases
from proxy.adapters.redis.buckets import Buckets
from proxy.adapters.redis.feed import Feed
from proxy.adapters.redis.leases import RedisLeases
from proxy.adapters.redis.link import Link
from proxy.core.bucket import Spent
from proxy.quantity import Timeout
from tests.redis_fleet import Cluster, Sentinels
from tests.stored import key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    from proxy.core.entry import Key

CLOCK = SystemClock()
NAMES = [number.to_bytes(32, "big") + bytes(8) for number in range(100)]


class Gateway:
    """All that a gateway shares, over a link of its own."""

    def __init__(self, url: str, folder: Path, address: str) -> None:
        folder.mkdir()
        # Patient: what counts here is what is answered, on however busy a machine.
        settings = config.Redis(url=url, timeout=Timeout(1.0))
        self.link = Link(settings, None, clock=CLOCK, emit=lambda _: None)
        self.leases = RedisLeases(self.link, address, NoLeases(), clock=CLOCK)
        self.buckets = Buckets(self.link)
        self.epochs = Epochs(folder / "epoch", clock=CLOCK)
        self.purged: set[Key] = set()
        self.gaps = 0
        self.feed = Feed(
            self.link,
            self.epochs,
            on_purge=self._purged,
            on_newer=self._newer,
            on_gap=self._missed,
            clock=CLOCK,
            emit=lambda _: None,
        )

    async def _newer(self, key: Key, asked: float) -> None:
        raise AssertionError("nobody has asked anew")

    async def _purged(self, key: Key, at: float) -> None:
        self.purged.add(key)

    def _missed(self) -> None:
        self.gaps += 1


@asynccontextmanager
async def running(url: str, folder: Path) -> AsyncIterator[tuple[Gateway, Gateway]]:
    """Two gateways that have met."""
    fleet = Gateway(url, folder / "one", "one:1"), Gateway(url, folder / "two", "two:1")
    loops = [loop for one in fleet for loop in (one.link.run, one.feed.run, one.leases.run)]
    tasks = [asyncio.create_task(loop()) for loop in loops]
    try:
        assert all(await asyncio.gather(*(one.feed.meet(10.0) for one in fleet)))
        yield fleet
    finally:
        for task in tasks:
            task.cancel()
        for one in fleet:
            await one.link.aclose()
            one.epochs.close()


async def soon(true: Callable[[], Awaitable[bool]], patience: float = 10.0) -> None:
    until = CLOCK.mono() + patience
    while not await true():
        assert CLOCK.mono() < until
        await CLOCK.sleep(0.05)


@pytest.mark.timeout(60)
async def test_a_cluster_holds_all_of_it(tmp_path: Path) -> None:
    with Cluster(tmp_path / "servers") as cluster:
        async with running(cluster.url, tmp_path) as (one, two):
            first = await asyncio.gather(*map(one.leases.acquire, NAMES))
            await one.leases.renew()
            assert await asyncio.gather(*map(two.leases.acquire, NAMES)) == ["one:1"] * 100
            await asyncio.gather(*map(one.leases.release, NAMES))
            second = await asyncio.gather(*map(two.leases.acquire, NAMES))
            assert all(int(b) > int(a) > 0 for a, b in zip(first, second, strict=True))
            spent = {name[:17]: Spent(1, 60) for name in NAMES} | {b"b": Spent(5, 60)}
            assert (await one.buckets.sync(spent)).keys() == spent.keys()
            await one.feed.purge(key("a"), CLOCK.now())
            await one.feed.purge_all()
            await CLOCK.sleep(0.5)

    assert two.purged == {key("a")}
    assert (one.gaps, two.gaps) == (0, 0)


@pytest.mark.timeout(60)
async def test_a_failover_takes_nothing_back(tmp_path: Path) -> None:
    """Neither a token, nor an epoch, nor a purge that was acknowledged."""
    with Sentinels(tmp_path / "servers") as sentinels:
        async with running(sentinels.url, tmp_path) as (one, two):
            before = await one.leases.acquire(NAMES[1])
            await one.feed.purge_all()
            epoch = one.epochs.current()
            sentinels.master.kill()
            assert await two.leases.acquire(NAMES[2]) == 0
            assert not await one.feed.purge(key("a"), CLOCK.now())

            async def back() -> bool:
                return await two.leases.acquire(NAMES[3]) != 0

            async def told() -> bool:
                return key("a") in two.purged

            await soon(back, 30.0)
            await soon(told)
            after = await two.leases.acquire(NAMES[1])
            epochs = [gateway.epochs.current() for gateway in (one, two)]

    assert epochs == [epoch, epoch]
    assert isinstance(before, int)
    assert after == "one:1" or (isinstance(after, int) and after > before)
    assert (one.gaps, two.gaps) == (0, 0)
