"""What is heard to be purged is forgotten here, also what an owner stored before it heard of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from proxy.backlog import Backlog
from proxy.flights import Flights
from proxy.purging import Purging
from proxy.tier import Tier
from proxy.tiers import Tiers
from tests.fakes import FakeClock, FakeStore, settle
from tests.stored import entry, key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxy.core.entry import Key
    from proxy.core.events import Event
    from proxy.flight import Flight

KEY = key("a")


def _quiet(event: Event) -> None:
    pass


class Nobody:
    """No epoch that counts, and no other worker."""

    def bump(self) -> int:
        return 1

    async def forget(self, owner: str, key: bytes) -> bool:
        return False


class Here:
    """A worker's tiers, one of them shared, and its purging."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.near, self.far = FakeStore(), FakeStore()
        tiers = [Tier("memory", self.near), Tier("redis", self.far, shared=True)]
        self.aside: list[Key] = []
        self.tiers = Tiers(tiers, self.clock, _quiet, Backlog(_quiet))
        nobody, self.flights = Nobody(), Flights(_quiet, limit=1)
        self.purging = Purging(
            self.flights, self.tiers, nobody, nobody, self._others, self._aside, None, self.clock
        )

    def _others(self) -> Iterable[str]:
        return ()

    async def _aside(self, key: Key) -> None:
        self.aside.append(key)


async def test_what_is_heard_is_forgotten_and_its_flights_step_aside() -> None:
    here = Here()
    await here.tiers.put(entry("a", here.clock.now()))
    await here.purging.heard(KEY)

    assert await here.tiers.delete(KEY) is False
    assert here.aside == [KEY]


async def test_what_was_found_in_a_shared_tier_just_then_does_not_stay_here() -> None:
    here = Here()
    running = asyncio.create_task(here.purging.run())
    await here.purging.heard(KEY)
    await here.tiers.put(entry("a", here.clock.now()))
    for _ in range(8):
        await settle()
        here.clock.advance(0.25)
    await settle()

    assert await here.near.get(KEY, here.clock.now()) is None
    assert await here.far.get(KEY, here.clock.now()) is not None
    running.cancel()


async def test_what_is_on_its_way_is_not_stored_where_a_purge_may_have_gone_unheard() -> None:
    """It would be shared with all others, and outlive the purge there."""
    here, door = Here(), asyncio.Event()
    flown: list[Flight] = []

    async def fly(flight: Flight) -> None:
        flown.append(flight)
        await door.wait()

    reader, _ = here.flights.join((KEY, 1), fly)
    await settle()
    here.purging.missed(here.clock.now())
    _, joined = here.flights.join((KEY, 1), fly)

    assert (reader.flight.purged, joined) == (True, False)
    await here.flights.aclose()
