"""What is purged through one gateway of a fleet is served by none, and nothing else is lost."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e import crowd, fleet
from tests.e2e.fleet import said, stored
from tests.e2e.questions import Questions, question
from tests.e2e.stores import flying, keys, purge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

ALL = {"scope": "all"}
pytestmark = pytest.mark.timeout(60)


@pytest.fixture
async def filled(gateways: Sequence[Gateway], upstream: Channel) -> Sequence[Gateway]:
    """One answer lies in everyone's memory, and on everyone's disk."""
    for one in gateways:
        assert (await said(one, upstream))[0] == "#1"
        await stored(one, upstream)
    disks = "hotprefix_cache_entries"
    await upstream.until(lambda: all(one.total(disks, tier="disk") for one in gateways))
    return gateways


def epoch(gateway: Gateway) -> int:
    return int(json.loads(gateway.admin("/admin/stats")[1])["epoch"])


async def agreed(gateways: Sequence[Gateway], upstream: Channel) -> int:
    """The epoch, once all have the same."""
    await upstream.until(lambda: len({epoch(one) for one in gateways}) == 1)
    return epoch(gateways[0])


async def heard(gateways: Sequence[Gateway], upstream: Channel) -> None:
    """Until nobody serves the first answer; and nobody does later."""

    async def old() -> bool:
        return "#1" in [(await said(one, upstream))[0] for one in gateways]

    async with asyncio.timeout(5):
        while await old():
            pass
    for _ in range(5):
        await asyncio.sleep(0.1)
        assert not await old()


async def test_a_key_is_forgotten_by_all(
    filled: Sequence[Gateway], redis: RedisServer, upstream: Channel
) -> None:
    for key in keys(redis):
        assert purge(filled[0], {"key": key}) == 200

    assert (await said(filled[0], upstream))[0] == "#2"
    await heard(filled, upstream)


async def test_what_is_asked_for_after_a_purge_is_asked_once(
    filled: Sequence[Gateway], redis: RedisServer, upstream: Channel
) -> None:
    """Though whoever purged, and answered anew, hears of the purge once more."""
    for key in keys(redis):
        purge(filled[0], {"key": key})
    assert (await said(filled[0], upstream))[0] == "#2"
    await heard(filled, upstream)
    await asyncio.sleep(1.5)

    assert {(await said(one, upstream))[0] for one in filled} == {"#2"}
    assert upstream.calls == 2


async def test_everything_is_void_for_all(filled: Sequence[Gateway], upstream: Channel) -> None:
    before = epoch(filled[0])
    assert purge(filled[2], ALL) == 200
    await heard(filled, upstream)

    assert await agreed(filled, upstream) > before
    assert {(await said(one, upstream))[0] for one in filled} == {"#2"}


@pytest.mark.parametrize("what", ["key", "all"])
async def test_an_answer_that_was_on_its_way_is_not_stored(
    gateways: Sequence[Gateway], redis: RedisServer, upstream: Channel, what: str
) -> None:
    """The purge comes through another gateway than the one that flies; whoever asks after it is
    answered anew without waiting for the old answer."""
    asked = Questions(upstream, "head")
    members = await asked.join(gateways, 1)
    for one in gateways:
        await crowd.waiting(one, upstream, 1)
    key = flying(redis)
    purge(gateways[1], {"key": key} if what == "key" else ALL)
    await asyncio.sleep(0.5)
    async with asyncio.timeout(3):
        anew = {(await said(one, upstream, question(1)))[0] for one in gateways}
    asked.gate.open()
    await crowd.over(members)
    for one in gateways:
        await stored(one, upstream)
    after = {(await said(one, upstream, question(1)))[0] for one in gateways}

    assert [member.text for member in members] == ["1/1"] * 3
    assert anew == after == {"1/2"}
    assert asked.calls[1] == 2


async def test_a_gateway_that_joins_voids_nothing(
    start: Start, filled: Sequence[Gateway], redis: RedisServer, upstream: Channel
) -> None:
    assert purge(filled[0], ALL) == 200
    await heard(filled, upstream)
    before = await agreed(filled, upstream)
    new = fleet.gateways(start, redis.url, 1)[0]

    assert await said(new, upstream) == ("#2", "HIT")
    assert await agreed([*filled, new], upstream) == before
    assert {await said(one, upstream) for one in filled} == {("#2", "HIT")}
    assert upstream.calls == 2


async def test_a_redis_that_restarts_empty_loses_no_epoch(
    start: Start, filled: Sequence[Gateway], redis: RedisServer, upstream: Channel
) -> None:
    """What was purged does not come back from the disk of a gateway that was away meanwhile."""
    filled[1].stop()
    assert purge(filled[0], ALL) == 200
    before = epoch(filled[0])
    redis.kill()
    redis.start()
    await upstream.until(lambda: told(redis) == before)
    filled[1].start()

    assert await agreed(filled, upstream) == before
    await heard(filled, upstream)
    new = fleet.gateways(start, redis.url, 1)[0]
    assert epoch(new) == before


def told(redis: RedisServer) -> int:
    """The fleet's epoch, as Redis has it."""
    with redis.client() as client:
        return int(client.get("hotprefix:{fleet}:epoch") or 0)


async def test_purges_without_redis_are_told_when_it_is_back(
    filled: Sequence[Gateway], redis: RedisServer, upstream: Channel
) -> None:
    names = keys(redis)
    redis.kill()
    for key in names:
        purge(filled[0], {"key": key})
    assert (await said(filled[0], upstream))[0] != "#1"
    redis.start()

    await heard(filled, upstream)
