"""What gateways spend on warming together, as Redis keeps it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.redis.spending import Spending
from tests.fakes import FakeUpstream
from tests.hearth import Hearth, conversation, telling
from tests.scripted import PREFIX, Direct

if TYPE_CHECKING:
    import redis as driver


TOKENS, MONEY = f"{PREFIX}{{warming}}:tokens", f"{PREFIX}{{warming}}:money"


def gateway(client: driver.Redis, tokens: float = 100, money: float = 2.0) -> Spending:
    return Spending(Direct(client), tokens=tokens, money=money)


async def test_what_one_gateway_spends_another_has_not(client: driver.Redis) -> None:
    one, other = gateway(client), gateway(client)
    taken = [await each.take(40, 0.0) for each in (one, other, one)]

    assert taken == [0, 0, 6]
    assert await other.take(20, 0.0) == 0


async def test_both_are_spent_or_neither(client: driver.Redis) -> None:
    one = gateway(client)

    assert await one.take(60, 2.5) == 3600
    assert await one.take(101, 1.5) == 6
    assert await one.take(100, 2.0) == 0


async def test_many_at_once_get_no_more_than_there_is(client: driver.Redis) -> None:
    gateways = [gateway(client) for _ in range(10)]
    taken = await asyncio.gather(*(each.take(7, 0.3) for each in gateways * 3))

    assert taken.count(0) == 6  # 6 * 0.3 <= 2 < 7 * 0.3


@pytest.mark.parametrize(("key", "slice_", "ago"), [(TOKENS, 6, 10), (MONEY, 3600, 24)])
async def test_it_counts_for_a_minute_or_a_day_and_no_longer(
    client: driver.Redis, key: str, slice_: int, ago: int
) -> None:
    one = gateway(client)
    now = int(client.time()[0]) // slice_
    client.hset(key, str(now - ago), 10**9)
    assert await one.take(1, 0.1) > 0
    client.delete(key)
    client.hset(key, str(now - ago - 2), 10**9)

    assert await one.take(1, 0.1) == 0
    assert len(client.hkeys(key)) == 1
    assert 0 < client.pttl(key) <= (ago + 1) * slice_ * 1000


async def test_what_is_yet_to_come_by_a_clock_that_went_back_counts(client: driver.Redis) -> None:
    client.hset(TOKENS, "99999999999", 10**9)

    assert await gateway(client).take(1, 0.0) == 6


async def test_what_is_owed_is_spent_whatever_there_is(client: driver.Redis) -> None:
    one, other = gateway(client), gateway(client)
    await one.owe(500, -1.0)

    assert await other.take(1, 0.0) == 6
    assert client.keys(MONEY) == []


async def test_free_calls_need_no_money(client: driver.Redis) -> None:
    assert await gateway(client, money=0.0).take(10, 0.0) == 0


@pytest.mark.parametrize(("money", "pause"), [(0.0, 0.0), (0.1, 6.0)])
async def test_without_redis_there_are_tokens_but_no_money(
    client: driver.Redis, money: float, pause: float
) -> None:
    link = Direct(client)
    link.down = True
    away = Spending(link, tokens=100, money=2.0)
    await away.owe(1, 1)

    assert await away.take(10, money) == pause


async def test_junk_in_redis_is_no_budget_and_no_failure(client: driver.Redis) -> None:
    client.hset(TOKENS, "junk", "junk")
    client.set(MONEY, "junk")

    assert await gateway(client).take(10, 0.1) == 6
    assert await gateway(client).take(10, 0.0) == 0


async def test_two_gateways_warm_no_more_than_one_may(client: driver.Redis) -> None:
    """About 3000 tokens each, of 7000."""
    one, other = (
        Hearth(FakeUpstream(telling(0, 3000)), common=gateway(client, 7000)) for _ in range(2)
    )
    bodies = [conversation(system=f"{i} is the number. " * 750) for i in range(4)]
    outcomes = [
        await hearth.warmed(body)
        for hearth, body in zip((one, other, one, other), bodies, strict=True)
    ]

    assert outcomes == ["warmed", "warmed", "budget", "budget"]
    assert [len(hearth.upstreams[0].calls) for hearth in (one, other)] == [1, 1]
