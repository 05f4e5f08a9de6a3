"""Several gateways over one Redis: one cache, one flight, whoever asks where."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.client import post
from tests.e2e import crowd, fleet
from tests.e2e.fleet import said, stored
from tests.e2e.questions import Questions, question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

TEXT = "one answer for all"
pytestmark = pytest.mark.timeout(60)


def held(redis: RedisServer) -> dict[bytes, bytes]:
    """The stored values in Redis, by name."""
    with redis.client() as client:
        return {name: client.get(name) for name in client.scan_iter("*:e")}


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


async def test_a_thousand_clients_at_four_gateways_make_one_call(
    start: Start, redis: RedisServer, upstream: Channel
) -> None:
    """Those who stream have the first event of all while the rest is still to come."""
    gateways = await asyncio.to_thread(fleet.gateways, start, redis.url, 4, fleet.PATIENT)
    gate = upstream.gate()
    upstream.default = crowd.in_both_forms(TEXT, gate)
    members = [await crowd.join(gateways[0], upstream, stream=True)]
    await upstream.until(lambda: upstream.calls == 1)
    for one in gateways:
        members += await crowd.gather(one, upstream, 250)
    for one in gateways:
        await crowd.waiting(one, upstream, 250)
    for member in members:
        if member.stream:
            async with asyncio.timeout(20):
                await member.first.came.wait()
    assert gate.reached
    gate.open()
    await crowd.over(members)

    assert upstream.calls == 1
    assert {member.text for member in members} == {TEXT}
    assert all(member.got.complete for member in members)
    outcomes = [member.got.get("x-cache") for member in members]
    assert (outcomes.count("MISS"), outcomes.count("COLLAPSED")) == (1, 1000)


async def test_a_crowd_that_asks_for_both_forms_at_once_makes_one_call(
    gateways: Sequence[Gateway], upstream: Channel
) -> None:
    """Whichever form comes first, and whoever has the lease."""
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


async def test_workers_of_two_gateways_are_one_fleet(
    start: Start, redis: RedisServer, upstream: Channel
) -> None:
    """Two workers each; the one that flies is killed."""
    two = {"server": {"workers": 2}}
    gateways = fleet.gateways(start, redis.url, 2, fleet.PATIENT, two)
    asked = Questions(upstream, "head")
    members = []
    for one in gateways:
        joining = (crowd.join(one, upstream, stream=False, asked=question(1)) for _ in range(40))
        members += await asyncio.gather(*joining)
    for one in gateways:
        await crowd.waiting(one, upstream, 40)
    assert upstream.calls == 1
    owners = [(one, pid) for one in gateways for pid in one.workers()]
    port = upstream.seen[0].peer
    home, owner = next((one, pid) for one, pid in owners if port in one.ports(pid))
    lost = home.clients(owner)
    os.kill(owner, signal.SIGKILL)
    others = [member for member in members if member.connection.port not in lost]
    await crowd.over(members)

    assert len(others) >= 40
    assert {member.text for member in others} == {"1/2"}
    assert asked.calls[1] == 2


async def test_a_stale_owner_replaces_nothing(
    start: Start, redis: RedisServer, gateways: Sequence[Gateway], upstream: Channel
) -> None:
    """Frozen until its successor has stored, it wakes up and has an answer of its own."""
    asked = Questions(upstream, "head")
    mine, *others = await asked.join(gateways, 1)
    os.kill(gateways[0].workers()[0], signal.SIGSTOP)
    await crowd.over(others)
    await stored(gateways[1], upstream)
    before = held(redis)
    os.kill(gateways[0].workers()[0], signal.SIGCONT)
    asked.gate.open()
    await crowd.over([mine])
    await stored(gateways[0], upstream)
    new = fleet.gateways(start, redis.url, 1)[0]
    after = [await said(one, upstream, question(1)) for one in (*gateways, new)]

    assert mine.text == "1/1"
    assert {member.text for member in others} == {"1/2"}
    assert before
    assert held(redis) == before
    assert after == [("1/2", "HIT")] * 4
    assert upstream.calls == 2


async def test_without_redis_everyone_flies_alone_and_with_it_they_share_again(
    start: Start, redis: RedisServer, upstream: Channel
) -> None:
    gateways = fleet.gateways(start, redis.url, 3)
    redis.kill()
    gate = upstream.gate()
    upstream.default = crowd.in_both_forms(TEXT, gate)
    members = []
    for one in gateways:
        members += await crowd.gather(one, upstream, 30)
    await upstream.until(lambda: upstream.calls == 3)
    gate.open()
    await crowd.over(members)

    assert {member.text for member in members} == {TEXT}
    assert upstream.calls == 3

    redis.start()
    number = await shared_again(gateways, upstream)
    upstream.default = crowd.in_both_forms(TEXT)
    calls = upstream.calls
    for one in gateways:
        assert (await said(one, upstream, question(number)))[0] == TEXT
    assert upstream.calls == calls + 1


async def shared_again(gateways: Sequence[Gateway], upstream: Channel) -> int:
    """Until what each gateway stores is a hit at the next; a question not asked so far."""
    upstream.default = crowd.in_both_forms(TEXT)
    number = 1
    for here, there in zip(gateways, [*gateways[1:], gateways[0]], strict=True):
        async with asyncio.timeout(20):
            while True:
                number += 1
                await said(here, upstream, question(number))
                await stored(here, upstream)
                if (await said(there, upstream, question(number)))[1] == "HIT":
                    break
    return number + 1


async def test_redis_that_goes_in_the_middle_disturbs_no_flight(
    gateways: Sequence[Gateway], redis: RedisServer, upstream: Channel
) -> None:
    asked = Questions(upstream, "middle")
    members = await asked.join(gateways, 1, stream=True) + await asked.join(gateways, 2)
    await crowd.waiting(gateways[0], upstream, 6)  # of its own two, and four who follow
    redis.kill()
    asked.gate.open()
    await crowd.over(members)

    assert [member.text for member in members] == ["<1/1>"] * 3 + ["2/1"] * 3
