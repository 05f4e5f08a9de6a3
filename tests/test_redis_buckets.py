"""Buckets that gateways take from together, as Redis keeps them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.adapters.clock import SystemClock
from proxy.adapters.redis.buckets import Buckets
from proxy.core.bucket import Spent
from tests.scripted import PREFIX, Direct, names

if TYPE_CHECKING:
    import redis as driver

    from tests.redis_server import RedisServer

NAME = b"t" * 16 + b"r"
KEY = f"{PREFIX}{{{NAME.hex()}}}:b"
SLOW = 0.0001
"""A rate at which nothing to speak of flows in during a test."""


async def left(buckets: Buckets, amount: float, rate: float = 60.0) -> float:
    return (await buckets.sync({NAME: Spent(amount, rate)}))[NAME]


async def test_what_any_gateway_takes_is_gone_for_all(client: driver.Redis) -> None:
    one, other = Buckets(Direct(client)), Buckets(Direct(client))

    assert await left(one, 10) == pytest.approx(50, abs=0.1)
    assert await left(other, 20) == pytest.approx(30, abs=0.5)
    assert await left(one, 0) == pytest.approx(30, abs=0.5)


async def test_it_fills_up_again_by_redis_clock_and_no_further(client: driver.Redis) -> None:
    buckets = Buckets(Direct(client))
    await left(buckets, 60, rate=60)
    await SystemClock().sleep(0.2)
    assert await left(buckets, 0, rate=60) == pytest.approx(0.2, abs=0.15)
    client.hset(KEY, "at", "1.0")

    assert await left(buckets, 0, rate=60) == 60


async def test_a_clock_that_went_back_lets_nothing_flow(client: driver.Redis) -> None:
    buckets = Buckets(Direct(client))
    await left(buckets, 60)
    client.hset(KEY, "at", "99999999999.0")

    assert await left(buckets, 0) == pytest.approx(0, abs=0.01)


async def test_what_is_spent_before_its_price_is_known_is_a_bounded_debt(
    client: driver.Redis,
) -> None:
    buckets = Buckets(Direct(client))

    assert await left(buckets, 1e3, rate=100) == pytest.approx(-900, abs=1)
    assert await left(buckets, 1e30, rate=100) == -6000
    assert await left(buckets, -1e30, rate=100) == 100


async def test_a_lower_limit_holds_at_once(client: driver.Redis) -> None:
    buckets = Buckets(Direct(client))
    await left(buckets, 10, rate=1000)

    assert await left(buckets, 0, rate=20) == 20


async def test_it_is_forgotten_only_when_it_would_be_full(client: driver.Redis) -> None:
    buckets = Buckets(Direct(client))
    await left(buckets, 90, rate=60)

    assert names(client) == [KEY.encode()]
    assert 149_000 <= client.pttl(KEY) <= 151_000


async def test_buckets_that_redis_does_not_answer_for_are_left_out(client: driver.Redis) -> None:
    link = Direct(client)
    buckets = Buckets(link)
    client.lpush(f"{PREFIX}{{{b'bad'.hex()}}}:b", "x")
    spent = {b"bad": Spent(1, 60), b"none": Spent(1, 0), NAME: Spent(1, 60)}

    assert set(await buckets.sync(spent)) == {NAME}
    link.down = True
    assert await buckets.sync(spent) == {}


async def test_many_at_once_are_all_answered_for(client: driver.Redis) -> None:
    spent = {b"%d" % number: Spent(number, 1000) for number in range(200)}
    levels = await Buckets(Direct(client)).sync(spent)

    assert levels.keys() == spent.keys()
    assert levels[b"150"] == pytest.approx(850, abs=1)


@settings(max_examples=50)
@given(st.lists(st.floats(-1, 3), max_size=20))
def test_together_no_more_is_taken_than_what_one_may(
    server: RedisServer, amounts: list[float]
) -> None:
    """In whatever portions, the level is what is left of all."""
    with server.client() as client:
        client.flushall()
        fleet = [Buckets(Direct(client)) for _ in range(2)]
        level = SLOW
        for number, amount in enumerate(amounts):
            amount *= SLOW
            level = min(SLOW, level - amount)
            found = asyncio.run(left(fleet[number % 2], amount, SLOW))
            assert found == pytest.approx(level, abs=SLOW / 100)
