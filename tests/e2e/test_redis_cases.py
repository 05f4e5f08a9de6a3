"""What public bug reports tell of gateways whose Redis is in trouble; each names its case."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from tests.e2e import fleet
from tests.e2e.steady import FORGETFUL, Steady, quiet, truly
from tests.relay import Relay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from typing import TypeAlias

    from tests.e2e.conftest import Start
    from tests.e2e.steady import Outcome
    from tests.gateway import Gateway, Settings
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

    Begin: TypeAlias = Callable[..., Awaitable[Steady]]

pytestmark = pytest.mark.timeout(60)
NO_REDIS: Settings = {"cache": {"redis": {"url": ""}}, "peers": {"secret_env": ""}}


@pytest.fixture
async def begin(start: Start, upstream: Channel) -> AsyncIterator[Begin]:
    """Two gateways without a memory of their own."""
    async with AsyncExitStack() as stack:

        async def begun(url: str, *more: Settings, size: int = 2) -> Steady:
            gateways = await asyncio.to_thread(fleet.gateways, start, url, size, FORGETFUL, *more)
            upstream.default = truly
            steady = Steady(gateways, upstream.key)
            stack.push_async_callback(steady.over)
            return steady

        yield begun


async def one_by_one(steady: Steady, size: int, word: str) -> list[Outcome]:
    """So many different questions at the first gateway, each after the answer to the last."""
    return [await steady.ask(steady.gateways[0], steady.tenant, f"{word} {i}") for i in range(size)]


async def at_once(steady: Steady, size: int, word: str, together: int = 300) -> list[Outcome]:
    """So many different questions at the first gateway, `together` of them at any time."""
    gateway, todo = steady.gateways[0], iter(range(size))

    async def client() -> list[Outcome]:
        return [await steady.ask(gateway, steady.tenant, f"{word} {i}") for i in todo]

    found = await asyncio.gather(*(client() for _ in range(together)))
    return [one for part in found for one in part]


async def test_rd_frozen(begin: Begin, redis: RedisServer) -> None:
    steady = await begin(redis.url)
    await steady.until()
    redis.freeze()
    try:
        asked = await one_by_one(steady, 30, "frozen")
    finally:
        redis.thaw()

    assert not steady.wrong
    # A few of them wait for some operations; then it is known.
    assert max(one.seconds for one in asked) < 3
    assert sorted(one.seconds for one in asked)[20] < 0.5
    await steady.until()
    again = [await steady.ask(steady.gateways[1], steady.tenant, "frozen 0") for _ in range(2)]
    assert again[1].tier == "redis"


async def test_rd_down(begin: Begin, redis: RedisServer, upstream: Channel) -> None:
    redis.kill()
    steady = await begin(redis.url)
    first = steady.gateways[0]
    for stream in (False, True):
        await steady.ask(first, steady.tenant, "no redis", stream=stream)
    await steady.ask(first, steady.tenant, "cold start")
    redis.start()
    await steady.until()
    await steady.ask(first, steady.tenant, "cold start")
    await fleet.stored(first, upstream)
    hit = await steady.ask(first, steady.tenant, "cold start")

    assert not steady.wrong
    assert (hit.cache, hit.tier) == ("HIT", "redis")


async def test_rd_swallowed_errors(begin: Begin, redis: RedisServer, upstream: Channel) -> None:
    """Every write is refused, reads are not. An attempt is more than one write."""
    steady = await begin(redis.url)
    await steady.until()
    gateway = steady.gateways[0]
    working = "hotprefix_tier_working"
    await upstream.until(lambda: gateway.total(working, tier="redis-writes") == 1)
    await asyncio.sleep(1.5)  # until nothing is told in the background any more
    with redis.client() as client:
        client.config_set("min-replicas-to-write", 1)
        await one_by_one(steady, 200, "w")
        refused = client.info("errorstats")["errorstat_NOREPLICAS"]["count"]
        client.config_set("min-replicas-to-write", 0)

    assert not steady.wrong
    assert 0 < refused < 60
    assert gateway.total(working, tier="redis-writes") == 0
    await steady.until()
    await upstream.until(lambda: gateway.total(working, tier="redis-writes") == 1)
    await upstream.until(lambda: turns(gateway) == [False, True])


def turns(gateway: Gateway) -> list[object]:
    """What is told of whether a tier works."""
    return [line["working"] for line in gateway.log() if line["event"] == "tier_turned"]


async def test_rd_log_flood(begin: Begin, redis: RedisServer) -> None:
    steady = await begin(redis.url, size=1)
    redis.kill()
    await at_once(steady, 500, "l", together=10)

    assert not steady.wrong
    quiet(steady.gateways[0])


@pytest.mark.parametrize("timeout", ["10ms", "300ms"])
async def test_rd_pool_exhausted(begin: Begin, redis: RedisServer, timeout: str) -> None:
    """Each of two connections needs 50 ms for an answer: one after the other, 300 questions with
    some operations each would wait for tens of seconds."""
    async with Relay(redis.port, delay=0.05) as slow:
        narrow: Settings = {"cache": {"redis": {"timeout": timeout, "max_connections": 2}}}
        without = await begin(redis.url, NO_REDIS, size=1)
        steady = await begin(f"redis://127.0.0.1:{slow.port}/0", narrow, size=1)
        plain = await at_once(without, 300, "p")
        asked = await at_once(steady, 300, "q")

    assert not steady.wrong
    assert not without.wrong
    assert longest(asked) < longest(plain) + 4


def longest(outcomes: list[Outcome]) -> float:
    return max(one.seconds for one in outcomes)
