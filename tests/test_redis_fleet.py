"""The link where several servers hold the keys, or take each other's place."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from redis.crc import key_slot as slot_of

from proxy import config
from proxy.adapters.redis.asked import LinkError
from proxy.adapters.redis.link import Link
from proxy.adapters.redis.store import RedisStore
from proxy.coder import PLAIN
from proxy.core.events import TierTurned
from proxy.ports import StoreError
from proxy.quantity import Timeout
from tests.fakes import FakeClock
from tests.redis_fleet import Cluster, Sentinels
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from proxy.core.events import Event


CLOCK = FakeClock()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@asynccontextmanager
async def linked(url: str, timeout: float = 0.25) -> AsyncIterator[tuple[Link, list[TierTurned]]]:
    events: list[TierTurned] = []

    def emit(event: Event) -> None:
        if isinstance(event, TierTurned):
            events.append(event)

    settings = config.Redis(url=url, timeout=Timeout(timeout))
    link = Link(settings, None, clock=CLOCK, emit=emit)
    try:
        await link.tend()
        yield link, events
    finally:
        await link.aclose()


async def held(link: Link) -> None:
    """What works has done so for a while."""
    await link.tend()
    CLOCK.advance(5.0)
    await link.tend()


async def until(true: Callable[[], bool], link: Link) -> None:
    async with asyncio.timeout(15):
        while not true():
            await link.tend()
            await asyncio.sleep(0.02)


async def test_keys_are_spread_and_found(cluster: Cluster) -> None:
    async with linked(cluster.url) as (link, events):
        store = RedisStore(link, PLAIN)
        await asyncio.gather(*(store.put(entry(n, fence=1), NOW) for n in range(300)))
        found = await asyncio.gather(*(store.get(key(n), NOW) for n in range(300)))
        held = [cluster.ask(server, "DBSIZE") for server in cluster.masters]

        assert found == [entry(n, fence=1) for n in range(300)]
        assert min(held) > 50
        assert events == []


async def test_one_key_s_names_lie_together(cluster: Cluster) -> None:
    """A script may touch an entry and its lease; nothing ever crosses slots."""
    async with linked(cluster.url) as (link, _):
        for number in range(50):
            names = [link.name(key(number), kind) for kind in ("e", "l7")]
            assert await link.script("return #KEYS", names, []) == 2


async def test_slots_move_under_load(cluster: Cluster) -> None:
    """While slots go from server to server, no look-up fails and none finds another's answer."""
    async with linked(cluster.url) as (link, events):
        store = RedisStore(link, PLAIN)
        for number in range(200):
            await store.put(entry(number), NOW)
        names = {number: link.name(key(number), "e") for number in range(200)}
        target, done = cluster.masters[0], False

        def move() -> None:
            slots = {slot_of(name) for name in names.values()}
            moving = [slot for slot in slots if cluster.holder(slot) is not target][:40]
            for slot in moving:
                cluster.begin_move(slot, target)
            for slot in moving:
                cluster.move_keys(slot, target)
            for slot in moving:
                cluster.end_move(slot, target)

        async def ask() -> int:
            asked = 0
            while not done:
                found = await asyncio.gather(*(store.get(key(n), NOW) for n in range(200)))
                assert found == [entry(n) for n in range(200)]
                assert await store.put(entry(asked % 200), NOW)
                asked += 1
                await asyncio.sleep(0.005)
            return asked

        task = asyncio.get_running_loop().create_task(ask())
        try:
            await asyncio.to_thread(move)
        finally:
            done = True
            rounds = await task
        before = _calls(cluster)
        await link.tend()
        await asyncio.gather(*(store.get(key(n), NOW) for n in range(200)))

        assert rounds > 5
        assert _calls(cluster) - before == 200  # nobody was asked in vain
        assert events == []


def _calls(cluster: Cluster) -> int:
    return sum(
        server.client().info("commandstats")["cmdstat_get"]["calls"] for server in cluster.masters
    )


async def test_a_frozen_server_costs_only_its_own_keys(cluster: Cluster) -> None:
    frozen = cluster.masters[2]
    async with linked(cluster.url) as (link, events):
        mine = {n: cluster.holder(slot_of(link.name(key(n), "e"))) is frozen for n in range(60)}
        frozen.freeze()
        try:
            codes: list[str] = []
            for _ in range(6):
                codes = await asyncio.gather(*(_code(link, n) for n in range(60)))
                assert [bool(code) for code in codes] == list(mine.values())
            assert {code for code in codes if code} == {"CircuitOpen"}
            assert not link.working
        finally:
            frozen.thaw()
        await until(lambda: link.working, link)
        assert await asyncio.gather(*(_code(link, n) for n in range(60))) == [""] * 60
        await held(link)
        told = [event for event in events if event.tier == "redis"]
        assert [event.working for event in told] == [False, True]


async def _code(link: Link, number: int) -> str:
    try:
        await link.ask("GET", link.name(key(number), "e"))
    except LinkError as error:
        return error.code
    return ""


async def test_a_cluster_that_is_not_there_is_told_and_found_later(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    cluster = Cluster(tmp_path_factory.mktemp("late"))
    async with linked(cluster.url) as (link, events):
        assert not link.working
        assert await _code(link, 1) == "ServerUnknown"
        with cluster:
            await until(lambda: link.working, link)
            assert await _code(link, 1) == ""
            await held(link)
    assert [event.working for event in events if event.tier == "redis"] == [False, True]


async def test_a_replica_takes_a_dead_master_s_place(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with Cluster(tmp_path_factory.mktemp("replicas"), replicas=True) as cluster:
        async with linked(cluster.url) as (link, _):
            store = RedisStore(link, PLAIN)
            numbers = range(100)
            dead = cluster.masters[1]
            lost = [n for n in numbers if cluster.holder(slot_of(link.name(key(n), "e"))) is dead]
            for number in numbers:
                await store.put(entry(number), NOW)
            await asyncio.sleep(0.2)  # for the replicas to have it
            dead.kill()
            assert await _kept(store, lost) == 0
            # Until the others have agreed on who has its slots, all of them refuse.
            for _ in range(200):
                if await _kept(store, list(numbers)) == 100:
                    break
                await link.tend()
                await asyncio.sleep(0.05)

            assert await _kept(store, list(numbers)) == 100
            assert all([await store.put(entry(n), NOW) for n in lost])


async def _kept(store: RedisStore, numbers: list[int]) -> int:
    kept = 0
    for number in numbers:
        try:
            kept += await store.get(key(number), NOW) is not None
        except StoreError:
            continue
    return kept


@pytest.mark.timeout(40)
async def test_sentinels_name_the_next_master(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Frozen, so that its connections stay open, and back again as a replica: it is not asked any
    more, for it would refuse writes."""
    with Sentinels(tmp_path_factory.mktemp("sentinel")) as fleet:
        fleet.sentinels[0].freeze()  # the first one to be asked says nothing
        async with linked(fleet.url) as (link, events):
            store = RedisStore(link, PLAIN)
            await store.put(entry("a"), NOW)
            await asyncio.sleep(0.2)
            fleet.sentinels[0].thaw()
            fleet.master.freeze()
            for _ in range(6):
                with pytest.raises(StoreError):
                    await store.get(key("a"), NOW)
            assert not link.working
            await until(lambda: link.working, link)

            assert await store.get(key("a"), NOW) == entry("a")
            assert await store.put(entry("b"), NOW)
            fleet.master.thaw()
            with fleet.replica.client() as client:
                assert client.exists(link.name(key("b"), "e"))
            await held(link)
            told = [event for event in events if event.tier == "redis"]
            assert [event.working for event in told] == [False, True]
