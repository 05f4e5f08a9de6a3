"""What the Redis tier does beyond what every store does: who may write over whom, and its names."""

from __future__ import annotations

import asyncio
import math
import os
import threading
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy import config
from proxy.adapters.leases import NoLeases
from proxy.adapters.redis.filter import Filter
from proxy.adapters.redis.leases import RedisLeases
from proxy.adapters.redis.link import Link
from proxy.adapters.redis.store import LARGEST, RedisStore
from proxy.coder import PLAIN
from proxy.core import wire
from proxy.ports import StoreError
from proxy.quantity import Timeout
from tests.fakes import FakeClock
from tests.stored import NOW, alias, entry, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import redis as driver

    from tests.redis_server import RedisServer


@pytest.fixture
async def link(server: RedisServer) -> AsyncIterator[Link]:
    settings = config.Redis(url=server.url, timeout=Timeout(1.0))
    link = Link(settings, None, clock=FakeClock(NOW), emit=lambda _: None)
    yield link
    await link.aclose()


@pytest.fixture
def store(link: Link, client: driver.Redis) -> RedisStore:
    return RedisStore(link, PLAIN)


def name(of: object, kind: str = "e") -> bytes:
    return b"hotprefix:{%s}:%s" % (key(of).hex().encode(), kind.encode())


async def test_it_lives_as_long_as_it_may_be_served(
    store: RedisStore, client: driver.Redis
) -> None:
    await store.put(entry("a", ttl=60.0, stale_if_error=0.0005), NOW)

    assert 59_000 < int(client.pttl(name("a"))) <= 60_001


@pytest.mark.parametrize("ttl", [1e-9, 1e12, math.inf])
async def test_every_expiry_is_one(store: RedisStore, client: driver.Redis, ttl: float) -> None:
    """The shortest rest is a millisecond, and what is kept for ever has a century."""
    await store.put(entry("a", now=0.0, ttl=ttl), 0.0)

    assert -2 <= int(client.pttl(name("a"))) != -1


async def test_what_has_expired_already_takes_the_former_away(
    store: RedisStore, client: driver.Redis
) -> None:
    await store.put(entry("a"), NOW)

    assert await store.put(entry("a", asked=NOW + 1.0), NOW + 61.0)
    assert client.keys() == []


async def test_what_is_too_large_takes_the_former_away(
    store: RedisStore, client: driver.Redis
) -> None:
    await store.put(entry("a"), NOW)

    assert await store.put(entry("a", body=os.urandom(LARGEST)), NOW)
    assert client.keys() == []


async def test_what_is_too_large_goes_before_nothing_either(
    store: RedisStore, client: driver.Redis
) -> None:
    """What lies nearer is only retracted where it is told that another goes first."""
    large = os.urandom(LARGEST)
    await store.put(entry("a", asked=NOW + 1.0), NOW)
    client.set(name("b", "l5"), b"8|10.0.0.1:9000", px=60000)

    assert not await store.put(entry("a", body=large), NOW)
    assert await store.get(key("a"), NOW) == entry("a", asked=NOW + 1.0)
    assert not await store.put(entry("b", body=large, epoch=5, fence=7), NOW)
    assert await store.put(entry("b", body=large, epoch=5, fence=8), NOW)


@pytest.mark.parametrize(
    ("held", "new", "kept"),
    [
        ({"asked": NOW + 1}, {"asked": NOW}, False),
        ({"asked": NOW + 1, "fence": 7}, {"asked": NOW, "fence": 7}, False),
        ({"asked": NOW}, {"asked": NOW + 1}, True),
        ({"asked": NOW}, {"asked": NOW}, True),
        ({"asked": NOW, "fence": 8}, {"asked": NOW + 1, "fence": 7}, False),
        ({"asked": NOW, "fence": 8}, {"asked": NOW + 1, "fence": 9}, True),
        ({"asked": NOW, "fence": 8}, {"asked": NOW + 1, "fence": 0}, True),
        ({"asked": NOW, "fence": 0}, {"asked": NOW + 1, "fence": 7}, True),
        (
            {"asked": NOW, "fence": 1_800_000_000_000_001},
            {"asked": NOW + 1, "fence": 1_800_000_000_000_000},
            False,
        ),
        ({"asked": NOW + 1e-6}, {"asked": NOW}, False),
    ],
)
async def test_who_asked_later_or_holds_the_lease_is_right(
    store: RedisStore, held: dict[str, float], new: dict[str, float], kept: bool
) -> None:
    first, second = entry("a", body=b"first", **held), entry("a", body=b"second", **new)
    await store.put(first, NOW)

    assert await store.put(second, NOW) is kept
    assert await store.get(key("a"), NOW) == (second if kept else first)


@pytest.mark.parametrize(
    ("lease", "fence", "kept"),
    [
        (b"8|10.0.0.1:9000", 7, False),
        (b"7|10.0.0.1:9000", 7, True),
        (b"8|10.0.0.1:9000", 0, True),
        (b"1800000000000001|/run/sock", 1_800_000_000_000_000, False),
        (b"no lease at all", 7, True),
        (b"", 7, True),
    ],
)
async def test_an_owner_whose_lease_went_to_another_may_not_write(
    store: RedisStore, client: driver.Redis, lease: bytes, fence: int, kept: bool
) -> None:
    client.set(name("a", "l5"), lease, px=60000)

    assert await store.put(entry("a", epoch=5, fence=fence), NOW) is kept
    assert await store.put(entry("a", epoch=6, fence=fence), NOW)


@pytest.mark.parametrize(
    ("last", "fence", "kept"),
    [(b"8", 7, False), (b"7", 7, True), (b"8", 0, True), (b"none", 7, True), (b"", 7, True)],
)
async def test_an_owner_whose_successor_has_ended_already_may_not_write(
    store: RedisStore, client: driver.Redis, last: bytes, fence: int, *, kept: bool
) -> None:
    """Even if it stored nothing: what it learned may be that nothing is to be stored."""
    client.set(name("a", "t"), last, px=60000)

    assert await store.put(entry("a", fence=fence), NOW) is kept


async def test_the_successor_of_a_slow_owner_need_not_store_anything(
    store: RedisStore, link: Link, client: driver.Redis
) -> None:
    clock = FakeClock(NOW)
    slow, next_ = (RedisLeases(link, at, NoLeases(), clock=clock) for at in ("a:1", "b:1"))
    flight = key("a") + bytes(8)
    fence = await slow.acquire(flight)
    client.delete(name("a", "l0"))
    await next_.acquire(flight)
    await next_.release(flight)

    assert isinstance(fence, int)
    assert not await store.put(entry("a", fence=fence), NOW)


@pytest.mark.parametrize("what", ["list", "text", "nothing", "older", "torn", "swapped"])
async def test_what_is_none_of_ours_is_a_miss_and_is_replaced(
    store: RedisStore, client: driver.Redis, what: str
) -> None:
    sound = wire.encode(entry("a", asked=NOW + 9.0, fence=9))
    other = wire.encode(entry("b", asked=NOW - 9.0))
    data = {
        "text": b"someone else's text, longer than the head of a value",
        "nothing": b"",
        "older": bytes([wire.VERSION - 1]) + sound[1:],
        "torn": b"\x02" + sound[1:20],
        "swapped": other,
    }
    if what == "list":
        client.rpush(name("a"), "1")
    else:
        client.set(name("a"), data[what])

    assert await store.get(key("a"), NOW) is None
    assert await store.put(entry("a", fence=1), NOW)
    assert await store.get(key("a"), NOW) == entry("a", fence=1)


async def test_every_byte_of_a_value_is_guarded(store: RedisStore, client: driver.Redis) -> None:
    sound = wire.encode(entry("a"))
    for place in range(len(sound)):
        client.set(name("a"), sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :])
        assert await store.get(key("a"), NOW) is None, place


async def test_a_lease_that_is_no_text_is_nobodys(store: RedisStore, client: driver.Redis) -> None:
    client.rpush(name("a", "l0"), "1")

    assert await store.put(entry("a", fence=1), NOW)


async def test_what_cannot_be_encoded_is_not_stored(store: RedisStore) -> None:
    with pytest.raises(StoreError):
        await store.put(msgspec.structs.replace(entry("a"), model="\ud800"), NOW)


async def test_a_write_is_one_script_and_a_read_one_command(
    store: RedisStore, client: driver.Redis
) -> None:
    await store.put(entry("a"), NOW)
    client.config_resetstat()
    await asyncio.gather(store.get(key("a"), NOW), store.get(key("b"), NOW))
    await store.put(alias("b", "a"), NOW)

    calls = client.info("commandstats")
    assert calls["cmdstat_get"]["calls"] == 2
    assert calls["cmdstat_eval"]["calls"] == 1


async def test_everything_we_touch_is_ours_and_expires(
    store: RedisStore, link: Link, client: driver.Redis, server: RedisServer
) -> None:
    """No command goes beyond the prefix, or over all keys (litellm#31288, Artemis#3137)."""
    client.set("foreign", "kept")
    seen: list[str] = []
    filter = Filter(link, 65536, 3600.0, clock=FakeClock(NOW))
    # redis-py leaves its monitor without types.
    with client.monitor() as monitor:  # type: ignore[no-untyped-call]
        thread = threading.Thread(target=_watch, args=(monitor, seen))
        thread.start()
        await link.tend()
        for number in range(20):
            await store.put(entry(number, fence=number), NOW)
            await store.get(key(number), NOW)
            filter.added(key(number))
        await filter.exchange()
        await store.delete(key(0))
        with server.client() as other:
            other.echo("the end")
        thread.join(10)

    words = [command.split(" ") for command in seen]
    assert {command[0].upper() for command in words} <= {
        *("PING", "GET", "SET", "UNLINK", "EVAL", "GETRANGE", "GETBIT", "SETBIT", "ZADD"),
        *("ZRANGEBYSCORE", "PEXPIRE", "TIME"),
    }
    for command in words:
        if command[0].upper() not in ("PING", "EVAL", "TIME"):
            assert command[1].startswith("hotprefix:{"), command
    assert client.get("foreign") == b"kept"
    ours = [found for found in client.scan_iter() if found != b"foreign"]
    assert len(ours) >= 19 + 3
    assert all(int(client.pttl(found)) > 0 for found in ours)


def _watch(monitor: driver.client.Monitor, seen: list[str]) -> None:
    while True:
        command = str(monitor.next_command()["command"])  # type: ignore[no-untyped-call]
        if command.startswith("ECHO"):
            return
        if not command.startswith(("CLIENT", "HELLO")):  # of the test's own client
            seen.append(command)
