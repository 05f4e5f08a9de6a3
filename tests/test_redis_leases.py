"""What leases in Redis promise: one holder, growing tokens, and no request that waits for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy import config
from proxy.adapters.clock import SystemClock
from proxy.adapters.leases import NoLeases
from proxy.adapters.redis.leases import RENEW_EVERY, TERM, RedisLeases
from proxy.adapters.redis.link import Link
from proxy.quantity import Timeout
from tests.fakes import FakeClock, FakeLeases, settle
from tests.offspring import Offspring
from tests.redis_server import RedisServer
from tests.scripted import PREFIX, Direct, names, value

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    import redis as driver

HOLDS = """
import asyncio, sys
from proxy import config
from proxy.adapters.clock import SystemClock
from proxy.adapters.leases import NoLeases
from proxy.adapters.redis.leases import RedisLeases
from proxy.adapters.redis.link import Link

async def main():
    clock = SystemClock()
    link = Link(config.Redis(url=sys.argv[1]), None, clock=clock, emit=lambda _: None)
    leases = RedisLeases(link, "child:1", NoLeases(), clock=clock)
    tending = asyncio.get_running_loop().create_task(link.run())
    while not await leases.acquire(b"n" * 32 + (7).to_bytes(8, "big")):
        await clock.sleep(0.05)
    print("held", flush=True)
    await leases.run()

asyncio.run(main())
"""

NAME = b"n" * 32 + (7).to_bytes(8, "big")
LEASE = f"{PREFIX}{{{NAME[:32].hex()}}}:l7"
SHORT = 0.05
"""Seconds; a term that a test can see the end of."""


class Gateway:
    """A gateway with a link of its own, and the leases of its machine."""

    def __init__(self, client: driver.Redis, address: str, term: float = TERM) -> None:
        self.link = Direct(client)
        self.clock = FakeClock()
        self.machine: dict[bytes, tuple[str, float]] = {}
        local = FakeLeases(self.machine, address, self.clock)
        self.leases = RedisLeases(self.link, address, local, clock=self.clock, term=term)

    async def token(self) -> int:
        found = await self.leases.acquire(NAME)
        assert isinstance(found, int), found
        return found


async def expired(client: driver.Redis) -> None:
    """Once the lease has run out."""
    while client.exists(LEASE):
        await SystemClock().sleep(SHORT / 10)


async def test_the_first_to_ask_has_it_and_the_others_learn_who(client: driver.Redis) -> None:
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")

    assert await a.token() > 0
    assert await b.leases.acquire(NAME) == "a:1"
    assert await b.leases.acquire(b"o" * 40) != "a:1"


async def test_who_was_let_down_a_moment_ago_does_not_wait_for_a_lease_too(
    client: driver.Redis,
) -> None:
    """Redis is silent: the machine's own leases serve at once, and nothing is asked of it."""
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    a.link.silent = True

    assert await a.leases.acquire(NAME) == 0
    assert names(client) == []
    await a.leases.release(NAME)
    assert await b.token() > 0


async def test_it_is_taken_away_from_the_owner_that_is_named_only(client: driver.Redis) -> None:
    a, b, c = Gateway(client, "a:1"), Gateway(client, "b:1"), Gateway(client, "c:1")
    first = await a.token()
    taken = await b.leases.acquire(NAME, "a:1")

    assert isinstance(taken, int)
    assert taken > first
    assert await c.leases.acquire(NAME, "a:1") == "b:1"
    await a.leases.renew()
    await a.leases.release(NAME)
    assert await c.leases.acquire(NAME) == "b:1"


async def test_another_epoch_is_another_flight(client: driver.Redis) -> None:
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    await a.token()

    assert isinstance(await b.leases.acquire(NAME[:32] + bytes(8)), int)


async def test_what_was_given_back_goes_to_the_next_with_a_larger_token(
    client: driver.Redis,
) -> None:
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    first = await a.token()
    await a.leases.release(NAME)

    assert await b.token() > first
    assert await a.leases.acquire(NAME) == "b:1"


async def test_a_lease_that_is_not_renewed_ends_and_its_late_release_takes_nothing(
    client: driver.Redis,
) -> None:
    a, b = Gateway(client, "a:1", SHORT), Gateway(client, "b:1")
    first = await a.token()
    await expired(client)
    second = await b.token()
    await a.leases.release(NAME)

    assert second > first
    assert value(client, LEASE) == b"%d|b:1" % second


async def test_a_lease_that_is_renewed_goes_on(client: driver.Redis) -> None:
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    await a.token()
    client.pexpire(LEASE, 50)
    await a.leases.renew()

    assert 2000 < client.pttl(LEASE) <= 3000
    assert await b.leases.acquire(NAME) == "a:1"


async def test_it_is_renewed_often_enough_to_miss_some(client: driver.Redis) -> None:
    a = Gateway(client, "a:1")
    await a.token()
    running = asyncio.create_task(a.leases.run())
    await settle()
    client.pexpire(LEASE, 50)
    a.clock.advance(RENEW_EVERY)
    await settle()
    running.cancel()

    assert client.pttl(LEASE) > 2000
    assert 3 * RENEW_EVERY < TERM


async def test_who_slept_through_the_term_does_not_take_it_back(client: driver.Redis) -> None:
    """Neither while the successor flies, nor after it has landed."""
    a, b = Gateway(client, "a:1", SHORT), Gateway(client, "b:1")
    await a.token()
    await expired(client)
    await b.token()
    await a.leases.renew()
    assert await a.leases.acquire(NAME) == "b:1"
    await b.leases.release(NAME)
    await a.leases.renew()

    assert not client.exists(LEASE)


async def test_who_wakes_after_its_successor_has_landed_does_not_take_it_back(
    client: driver.Redis,
) -> None:
    a, b = Gateway(client, "a:1", SHORT), Gateway(client, "b:1")
    await a.token()
    await expired(client)
    await b.token()
    await b.leases.release(NAME)
    await a.leases.renew()

    assert not client.exists(LEASE)


async def test_what_was_lost_once_is_lost(client: driver.Redis) -> None:
    """Also when nothing is left that would tell."""
    a, b = Gateway(client, "a:1", SHORT), Gateway(client, "b:1")
    await a.token()
    await expired(client)
    await b.token()
    await a.leases.renew()
    client.flushall()
    await a.leases.renew()

    assert not client.exists(LEASE)


async def test_a_redis_that_was_emptied_learns_who_holds_what(client: driver.Redis) -> None:
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    first = await a.token()
    client.flushall()
    await a.leases.renew()

    assert await b.leases.acquire(NAME) == "a:1"
    assert value(client, LEASE) == b"%d|a:1" % first


async def test_a_full_redis_still_renews(server: RedisServer, client: driver.Redis) -> None:
    a = Gateway(client, "a:1")
    await a.token()
    client.pexpire(LEASE, 1000)
    client.config_set("maxmemory", "1")
    try:
        await a.leases.renew()
        assert client.pttl(LEASE) > 2000
    finally:
        client.config_set("maxmemory", "0")


async def test_tokens_grow_where_redis_clock_went_back(client: driver.Redis) -> None:
    """A replica that takes over may be behind."""
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    first = await a.token()
    ahead = first + 30_000_000
    client.set(LEASE[:-2] + "t", ahead, px=1000)
    await a.leases.release(NAME)
    second = await b.token()
    await b.leases.release(NAME)
    client.flushall()

    assert second == ahead + 1
    assert await b.token() > second  # by what this gateway itself remembers


async def test_two_flights_of_one_name_give_it_back_once(client: driver.Redis) -> None:
    """After a purge, a second one starts beside the first."""
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    first = await a.token()
    second = await a.token()
    await a.leases.release(NAME)
    assert await b.leases.acquire(NAME) == "a:1"
    await a.leases.release(NAME)

    assert second > first
    assert await b.token() > second


async def test_a_gateway_that_was_started_again_takes_what_it_had(client: driver.Redis) -> None:
    before, after = Gateway(client, "a:1"), Gateway(client, "a:1")
    first = await before.token()

    second = await after.token()
    await before.leases.release(NAME)
    assert second > first
    assert value(client, LEASE) == b"%d|a:1" % second


@pytest.mark.parametrize("foreign", [b"", b"x", b"|", b"12|", b"|a:1", b"\xff" * 100])
async def test_what_is_no_lease_is_replaced(client: driver.Redis, foreign: bytes) -> None:
    client.set(LEASE, foreign)
    token = await Gateway(client, "a:1").token()

    assert value(client, LEASE) == b"%d|a:1" % token


async def test_without_redis_the_leases_of_the_machine_serve(client: driver.Redis) -> None:
    a = Gateway(client, "a:1")
    a.link.down = True

    assert await a.leases.acquire(NAME) == 0
    assert NAME in a.machine
    await a.leases.release(NAME)
    assert not a.machine
    a.machine[NAME] = ("/sock", a.clock.mono() + 100)
    assert await a.leases.acquire(NAME) == "/sock"


async def test_a_value_of_another_type_is_a_redis_that_fails(client: driver.Redis) -> None:
    client.lpush(LEASE, "x")

    assert await Gateway(client, "a:1").leases.acquire(NAME) == 0


async def test_a_lease_whose_grant_was_not_heard_is_given_back_with_the_flight(
    client: driver.Redis,
) -> None:
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    a.link.deaf = True
    assert await a.leases.acquire(NAME) == 0
    assert await b.leases.acquire(NAME) == "a:1"
    a.link.deaf = False
    await a.leases.release(NAME)

    assert await b.token() > 0


async def test_a_grant_that_was_not_heard_by_who_follows_another_is_given_back(
    client: driver.Redis,
) -> None:
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    a.machine[NAME] = ("/sock", a.clock.mono() + 100)
    a.link.deaf = True
    assert await a.leases.acquire(NAME) == "/sock"
    a.link.deaf = False
    await a.leases.renew()

    assert await b.token() > 0


async def test_a_lease_taken_for_a_flight_that_was_cancelled_is_given_back(
    client: driver.Redis,
) -> None:
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    a.link.door.clear()
    asking = asyncio.create_task(a.leases.acquire(NAME))
    await settle()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    a.link.door.set()
    await a.leases.renew()

    assert await b.token() > 0


async def test_a_lease_that_may_be_taken_for_a_flight_cancelled_later_is_given_back(
    client: driver.Redis,
) -> None:
    """While the machine's lease was asked for instead."""
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    stuck = asyncio.Event()

    class Slow(NoLeases):
        async def acquire(self, name: bytes, instead: str = "") -> int:
            await stuck.wait()
            return 0

    leases = RedisLeases(a.link, "a:1", Slow(), clock=a.clock)
    a.link.deaf = True
    asking = asyncio.create_task(leases.acquire(NAME))
    await settle()
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    a.link.deaf = False
    assert await b.leases.acquire(NAME) == "a:1"
    await leases.renew()

    assert await b.token() > 0


@pytest.mark.parametrize("there", [True, False], ids=["redis", "the machine"])
async def test_who_is_cancelled_as_it_gives_a_lease_back_gives_it_back(
    client: driver.Redis, there: bool
) -> None:
    """The last reader of a flight that fails leaves just then."""
    a, b = Gateway(client, "a:1"), Gateway(client, "b:1")
    a.link.deaf = not there
    await a.leases.acquire(NAME)
    a.link.door.clear()
    a.link.lost = True
    leaving = asyncio.create_task(a.leases.release(NAME))
    await settle()
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    a.link.door.set()
    a.link.deaf = a.link.lost = False
    await a.leases.renew()

    assert a.machine == {}
    assert await b.token() > 0


async def test_every_key_has_the_prefix_and_an_end(client: driver.Redis) -> None:
    a = Gateway(client, "a:1")
    await a.token()
    await a.leases.renew()
    keys = names(client)

    assert len(keys) == 2
    assert all(key.startswith(PREFIX.encode()) for key in keys)
    assert all(0 < client.pttl(key) <= 60_000 for key in keys)


async def test_nothing_is_held_once_all_is_given_back(client: driver.Redis) -> None:
    a = Gateway(client, "a:1")
    for number in range(20):
        name = bytes([number]) * 40
        a.link.down = number % 2 == 0
        await a.leases.acquire(name)
        await a.leases.release(name)

    assert "holds 0" in repr(a.leases)
    assert not a.machine


Step = tuple[int, str]
STEPS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["take", "back", "end", "renew", "down", "up"])),
    max_size=25,
)


@given(STEPS)
def test_one_holder_at_a_time_and_each_with_a_larger_token(
    server: RedisServer, steps: list[Step]
) -> None:
    """Whatever ends, fails and comes back in between."""
    with server.client() as client:
        client.flushall()
        asyncio.run(_played(client, steps))


async def _played(client: driver.Redis, steps: list[Step]) -> None:
    fleet = [Gateway(client, f"{number}:1") for number in range(3)]
    taken, highest = [0, 0, 0], 0
    for number, step in steps:
        gateway = fleet[number]
        if step == "take":
            before = value(client, LEASE)
            found = await gateway.leases.acquire(NAME)
            taken[number] += isinstance(found, int)
            if isinstance(found, int) and found:
                assert before is None or before.endswith(b"|%d:1" % number)
                assert found > highest
                highest = found
            elif isinstance(found, str):
                assert before is not None and before.endswith(b"|" + found.encode())
        elif step == "back" and taken[number]:
            before = value(client, LEASE)
            await gateway.leases.release(NAME)
            taken[number] -= 1
            if before is not None and not before.endswith(b"|%d:1" % number):
                assert value(client, LEASE) == before
        elif step == "renew":
            before = value(client, LEASE)
            await gateway.leases.renew()
            if before is not None:
                assert value(client, LEASE) == before
        elif step == "end":
            client.delete(LEASE)
        else:
            gateway.link.down = step == "down"


@pytest.fixture(params=[0.05])
async def alone(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[tuple[RedisServer, RedisLeases]]:
    """A server of its own, and a gateway with a real link; `param`: its timeout."""
    with RedisServer(tmp_path) as own:
        clock = SystemClock()
        settings = config.Redis(url=own.url, timeout=Timeout(request.param))
        link = Link(settings, None, clock=clock, emit=lambda _: None)
        tending = asyncio.create_task(link.run())
        leases = RedisLeases(link, "a:1", NoLeases(), clock=clock)
        while await leases.acquire(bytes(40)) == 0:
            await clock.sleep(0.01)
        yield own, leases
        tending.cancel()
        await link.aclose()


@pytest.mark.parametrize("fault", [RedisServer.kill, RedisServer.freeze], ids=["killed", "frozen"])
async def test_a_redis_that_is_gone_costs_a_flight_next_to_nothing(
    alone: tuple[RedisServer, RedisLeases], fault: Callable[[RedisServer], None]
) -> None:
    server, leases = alone
    held = await leases.acquire(NAME)
    fault(server)
    clock = SystemClock()
    start = clock.mono()
    found = [await leases.acquire(bytes([number]) * 40) for number in range(1, 20)]
    await leases.release(NAME)

    assert isinstance(held, int) and held > 0
    assert found == [0] * 19
    assert clock.mono() - start < 1.0


@pytest.mark.parametrize("alone", [2.0], indirect=True)
async def test_all_that_is_held_is_renewed_in_a_few_writes(
    alone: tuple[RedisServer, RedisLeases],
) -> None:
    server, leases = alone
    flights = [number.to_bytes(32, "big") + bytes(8) for number in range(1, 301)]
    held = await asyncio.gather(*map(leases.acquire, flights))
    await leases.renew()
    with server.client() as client:
        keys = [key for key in names(client) if b":l" in key]
        ends = [client.pttl(key) for key in keys]

    assert all(isinstance(token, int) and token > 0 for token in held)
    assert len(keys) == 301
    assert min(ends) > 2000


@pytest.mark.parametrize("alone", [2.0], indirect=True)
@pytest.mark.parametrize(
    ("fault", "lives"),
    [(Offspring.kill, 0.3), (Offspring.freeze, TERM + 0.3)],
    ids=["killed", "frozen"],
)
async def test_a_gateway_that_is_gone_is_replaced_within_the_term(
    alone: tuple[RedisServer, RedisLeases], fault: Callable[[Offspring], None], lives: float
) -> None:
    """And not before: as long as it lives, it renews."""
    server, leases = alone
    clock = SystemClock()
    with Offspring(HOLDS, server.url) as child:
        assert child.line() == "held"
        start = clock.mono()
        while clock.mono() - start < lives:
            assert await leases.acquire(NAME) == "child:1"
            await clock.sleep(0.1)
        fault(child)
        gone = clock.mono()
        while not isinstance(await leases.acquire(NAME), int):
            await clock.sleep(0.02)
        waited = clock.mono() - gone

    assert waited < TERM + 0.3


async def test_what_was_refused_is_not_given_back(
    alone: tuple[RedisServer, RedisLeases],
) -> None:
    """It would succeed, and look as if Redis took writes again."""
    server, leases = alone
    with server.client() as client:
        client.config_set("min-replicas-to-write", 1)
        client.config_resetstat()
        found = await leases.acquire(NAME)
        await leases.release(NAME)
        ran = client.info("commandstats")["cmdstat_eval"]

    assert found == 0
    assert (ran["calls"], ran["failed_calls"]) == (1, 1)
