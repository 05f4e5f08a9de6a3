"""Several gateways over one Redis: one cache, one flight, and one dies without harm."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.client import post
from tests.e2e import crowd, fleet
from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.upstream import Channel

TEXT = "one answer for all"


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path / "redis") as server:
        yield server


@pytest.fixture
def gateways(start: Start, redis: RedisServer) -> Sequence[Gateway]:
    return fleet.gateways(start, redis.url, 3)


async def stored(gateway: Gateway, upstream: Channel) -> None:
    """Until nothing flies here any more, so that what is kept lies in all tiers."""
    await upstream.until(lambda: gateway.total("hotprefix_singleflight_flights") == 0)


async def test_what_one_gateway_stored_is_a_hit_at_the_others(
    gateways: Sequence[Gateway], upstream: Channel
) -> None:
    got = []
    for one in gateways:
        got.append(await post(one.port, upstream.key, crowd.ASKED))
        await stored(one, upstream)

    assert [one.get("x-cache") for one in got] == ["MISS", "HIT", "HIT"]
    assert [one.get("x-cache-tier") for one in got] == [None, "redis", "redis"]
    assert upstream.calls == 1
    assert len({one.body for one in got}) == 1


@pytest.mark.timeout(60)
async def test_a_crowd_at_all_gateways_makes_one_call(
    gateways: Sequence[Gateway], upstream: Channel
) -> None:
    gate = upstream.gate()
    upstream.default = crowd.in_both_forms(TEXT, gate)
    crowds = await asyncio.gather(*(crowd.gather(one, upstream, 40) for one in gateways))
    await upstream.until(lambda: upstream.calls >= 1)
    for one in gateways:
        await crowd.waiting(one, upstream, 40)
    gate.open()
    members = [member for one in crowds for member in one]
    await crowd.over(members)

    assert upstream.calls == 1
    assert {member.text for member in members} == {TEXT}
