"""Redis in every kind of trouble under a steady stream of requests: none fails, none gets another
answer than its own, and what Redis is good for comes back by itself."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import pytest

from tests.e2e import fleet
from tests.e2e.steady import FORGETFUL, Steady, quiet, truly
from tests.redis_faults import fill, limited, refusals, reshard, unlimited
from tests.redis_fleet import Cluster, Sentinels

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path
    from typing import TypeAlias

    from tests.e2e.conftest import Start
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

    Begin: TypeAlias = Callable[[str], Awaitable[Steady]]

pytestmark = pytest.mark.timeout(60)
FAULT = 1.0
"""Seconds that a fault lasts: enough for what is noticed after some failures, and for probes."""


@pytest.fixture
async def begin(start: Start, upstream: Channel) -> AsyncIterator[Begin]:
    """Two gateways without a memory of their own over a Redis, which they have found."""
    async with AsyncExitStack() as stack:

        async def begun(url: str) -> Steady:
            gateways = await asyncio.to_thread(fleet.gateways, start, url, 2, FORGETFUL)
            upstream.default = truly
            steady = Steady(gateways, upstream.key)
            stack.push_async_callback(steady.over)
            await steady.until()
            return steady

        yield begun


async def through(steady: Steady, *steps: Callable[[], object]) -> None:
    """The stream, with a fault that goes through these steps; then all is as it was."""
    async with steady.flowing():
        await asyncio.sleep(FAULT)
        for step in steps:
            await asyncio.to_thread(step)
            await asyncio.sleep(FAULT)
        await steady.until()
        recovered = time.monotonic()
        await asyncio.sleep(FAULT)
    assert not steady.wrong
    assert steady.tiers(recovered)["redis"] > 0
    for gateway in steady.gateways:
        quiet(gateway)


async def test_it_is_killed_and_comes_back_empty(begin: Begin, redis: RedisServer) -> None:
    steady = await begin(redis.url)
    await through(steady, redis.kill, redis.start)


async def test_it_restarts_empty_at_once(begin: Begin, redis: RedisServer) -> None:
    def restart() -> None:
        redis.kill()
        redis.start()

    steady = await begin(redis.url)
    await through(steady, restart, restart)


async def test_it_freezes(begin: Begin, redis: RedisServer) -> None:
    steady = await begin(redis.url)
    try:
        await through(steady, redis.freeze, redis.thaw)
    finally:
        redis.thaw()


async def test_it_is_full_and_takes_nothing(begin: Begin, redis: RedisServer) -> None:
    steady = await begin(redis.url)
    seen: list[float] = []
    counts: list[int] = []

    def note() -> None:
        seen.append(time.monotonic())
        counts.append(refusals(redis, "OOM"))

    await through(steady, lambda: fill(redis), note, note, lambda: unlimited(redis))
    # What is there can still be read; and it is not asked again and again to take what it refuses.
    while_full = [one for one in steady.since(seen[0]) if one.at < seen[1]]
    assert len([one for one in while_full if one.tier == "redis"]) > 3
    assert counts[1] - counts[0] < len(while_full) / 2


async def test_it_is_full_and_evicts(begin: Begin, redis: RedisServer) -> None:
    steady = await begin(redis.url)
    await through(steady, lambda: limited(redis, "allkeys-lru", 1.0))
    with redis.client() as client:
        assert client.info("stats")["evicted_keys"] > 0
    assert refusals(redis, "OOM") == 0


async def test_its_master_dies(begin: Begin, tmp_path: Path) -> None:
    with Sentinels(tmp_path / "redis") as sentinels:
        steady = await begin(sentinels.url)
        await through(steady, sentinels.master.kill)


async def test_its_master_is_replaced(begin: Begin, tmp_path: Path) -> None:
    """The old one lives, and has become a replica."""

    def replace() -> None:
        with sentinels.sentinels[0].client() as client:
            client.execute_command("SENTINEL", "FAILOVER", sentinels.service)

    with Sentinels(tmp_path / "redis") as sentinels:
        steady = await begin(sentinels.url)
        await through(steady, replace)


async def test_its_slots_move(begin: Begin, tmp_path: Path) -> None:
    with Cluster(tmp_path / "redis") as cluster:
        steady = await begin(cluster.url)
        await through(steady, lambda: reshard(cluster))


async def test_a_master_of_three_dies(begin: Begin, tmp_path: Path) -> None:
    with Cluster(tmp_path / "redis", replicas=True) as cluster:
        steady = await begin(cluster.url)
        await through(steady, cluster.masters[0].kill)
        # All slots work again, not only those of the two others.
        for _ in range(10):
            await steady.until()


def test_its_network_loses_everything(tmp_path: Path) -> None:
    """All in a network of its own, where packets can be lost without harm to anybody."""
    if forbidden():
        pytest.skip(f"no network namespaces here: {forbidden()}")
    command = ["unshare", "-rn", sys.executable, "-m", "tests.e2e.apart", str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["wrong"] == 0
    assert told["hits"] > 10
    assert told["longest"] < 5
    assert max(told["lines"]) < 20
    assert "Traceback" not in "".join(path.read_text() for path in tmp_path.glob("*/stderr"))


def forbidden() -> str:
    """Why there can be no namespace; empty: there can."""
    try:
        command = ["unshare", "-rn", "ip", "link", "add", "one", "type", "veth"]
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return tried.stderr
