"""Lives of answers over several gateways and tiers: what one says, the others hold to."""

from __future__ import annotations

import msgspec
import pytest

from proxy.adapters.memory import Memory
from proxy.backlog import Backlog
from proxy.core.controls import Controls
from proxy.core.decision import Found, Hit, Miss, Outcome, evaluate
from proxy.core.entry import Entry
from proxy.tier import Tier
from proxy.tiers import Tiers
from tests.asking import arrival, chat, lookup
from tests.fakes import FakeClock, FakeStore
from tests.stored import NOW, entry

LOOKUP = lookup(arrival(chat()))
TENANT = LOOKUP.request.tenant


class Gateway:
    """A memory of its own over a store that others share."""

    def __init__(self, shared: FakeStore, clock: FakeClock) -> None:
        memory = Memory(1 << 20, ttl=60.0)
        nearest = Tier("memory", memory, peek=memory.peek, keep=memory.keep)
        tiers = [nearest, Tier("redis", shared)]
        self.backlog = Backlog(lambda _: None)
        self.tiers = Tiers(tiers, clock, lambda _: None, self.backlog)
        self._clock = clock

    async def ask(self, controls: Controls | None = None) -> Outcome:
        found = self.tiers.near(LOOKUP) or await self.tiers.find(LOOKUP)
        await self.backlog.drain()
        return evaluate(found, self._clock.now(), 0, controls or Controls())


def answer(**changes: object) -> Entry:
    return msgspec.structs.replace(entry("a", tenant=TENANT, key=LOOKUP.key), **changes)


async def test_a_copy_in_memory_lives_no_longer_than_what_it_was_copied_from() -> None:
    """Fetched by another gateway 50 of its 60 seconds later, it is gone 10 seconds after that."""
    clock, shared = FakeClock(NOW), FakeStore()
    one, other = Gateway(shared, clock), Gateway(shared, clock)
    await one.tiers.put(answer(ttl=60.0))
    clock.advance(50.0)

    assert isinstance(await other.ask(), Hit)

    clock.advance(9.9)

    assert isinstance(await other.ask(), Hit)

    clock.advance(10.1)

    assert await other.ask() == Miss("absent")


async def test_an_answer_that_is_asked_for_all_the_time_ends_all_the_same() -> None:
    clock = FakeClock(NOW)
    gateway = Gateway(FakeStore(), clock)
    await gateway.tiers.put(answer(ttl=20.0))
    hits = 0
    while isinstance(await gateway.ask(), Hit):
        hits += 1
        clock.advance(2.0)

    assert hits == 10


@pytest.mark.parametrize(("age", "served"), [(5.0, False), (60.0, True)])
async def test_what_a_client_limits_is_the_age_and_not_what_is_left(
    age: float, served: bool
) -> None:
    clock = FakeClock(NOW)
    gateway = Gateway(FakeStore(), clock)
    await gateway.tiers.put(answer(ttl=600.0))
    clock.advance(8.0)

    assert isinstance(await gateway.ask(Controls(max_age=age)), Hit) == served


async def test_what_is_pinned_is_stale_for_years_and_not_gone() -> None:
    clock = FakeClock(NOW)
    gateway = Gateway(FakeStore(), clock)
    ten_years = 10 * 365 * 86400.0
    await gateway.tiers.put(answer(pinned=True, stale_while_revalidate=ten_years))
    clock.advance(ten_years / 2)
    outcome = await gateway.ask()

    assert not isinstance(outcome, Miss)
    assert isinstance(outcome.found, Found)
    assert not isinstance(outcome, Hit)
