"""What is heard to be purged is forgotten here, also what an owner stored before it heard of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.backlog import Backlog
from proxy.flights import Flights
from proxy.purging import Purging
from proxy.tier import Tier
from proxy.tiers import Tiers
from tests.asking import arrival, chat, lookup
from tests.fakes import FakeClock, FakeStore, settle
from tests.stored import entry, key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxy.core.entry import Key
    from proxy.core.events import Event
    from proxy.flight import Flight

KEY = key("a")
LOOKUP = msgspec.structs.replace(lookup(arrival(chat())), key=KEY, normalized=None)


def _quiet(event: Event) -> None:
    pass


class Nobody:
    """No epoch that counts, and no other worker."""

    def bump(self) -> int:
        return 1

    async def forget(self, owner: str, key: bytes, at: float) -> bool:
        return False


class Fleet:
    """Remembers what was purged."""

    def __init__(self) -> None:
        self.told: list[tuple[Key, float]] = []

    async def purge(self, key: Key, at: float) -> bool:
        self.told.append((key, at))
        return True

    async def purge_all(self) -> bool:
        return True


class Here:
    """A worker's tiers, one of them shared, and its purging."""

    def __init__(self, *, sweeps: bool = False) -> None:
        self.clock = FakeClock()
        self.near, self.far = FakeStore(), FakeStore()
        tiers = [Tier("memory", self.near), Tier("redis", self.far, shared=True)]
        self.aside: list[Key] = []
        self.gone: list[Key] = []
        self.tiers = Tiers(tiers, self.clock, _quiet, Backlog(_quiet))
        nobody, self.flights = Nobody(), Flights(_quiet, limit=1)
        self.fleet = Fleet()
        self.purging = Purging(
            self.flights,
            self.tiers,
            nobody,
            nobody,
            self._others,
            self._aside,
            self.fleet,
            self.clock,
            gone=self.gone.append,
            sweeps=sweeps,
        )

    async def wait(self) -> None:
        """Until all that is done later is done."""
        running = asyncio.create_task(self.purging.run())
        for _ in range(8):
            await settle()
            self.clock.advance(0.25)
        await settle()
        running.cancel()

    async def where(self) -> tuple[bool, bool]:
        """Whether it is near, and far away."""
        near = await self.near.get(KEY, self.clock.now())
        return near is not None, await self.far.get(KEY, self.clock.now()) is not None

    def _others(self) -> Iterable[str]:
        return ()

    async def _aside(self, key: Key) -> None:
        self.aside.append(key)


async def test_what_is_heard_is_forgotten_and_its_flights_step_aside() -> None:
    """Who purged has seen to what is shared."""
    here = Here()
    await here.tiers.put(entry("a", here.clock.now()))

    assert await here.purging.forget(KEY, here.clock.now())
    assert await here.where() == (False, True)
    assert here.aside == [KEY]


async def test_who_purges_forgets_everywhere_and_tells() -> None:
    here = Here()
    await here.tiers.put(entry("a", here.clock.now()))

    assert await here.purging.key(KEY)
    assert await here.where() == (False, False)
    assert here.fleet.told == [(KEY, here.clock.now())]


@pytest.mark.parametrize(("asked", "ahead", "found"), [(-1.0, 0, 0), (0.0, 0, 1), (1.0, 60, 1)])
async def test_what_another_worker_could_not_delete_is_not_served_here_either(
    asked: float, ahead: float, found: int
) -> None:
    """`ahead`: seconds by which the clock of who purged is."""
    here = Here()
    now = here.clock.now()
    stored = entry("a", asked=now + asked, created=now, tenant=LOOKUP.request.tenant)
    await here.far.put(stored, now)
    await here.purging.forget(KEY, now + ahead)
    here.clock.advance(2.0)

    assert bool(await here.tiers.find(LOOKUP)) is bool(found)
    assert (await here.where())[1]


async def test_what_was_asked_for_since_a_purge_outlives_its_echo() -> None:
    """Neither who purged asks twice, nor do the others when they are told again."""
    here, door = Here(sweeps=True), asyncio.Event()
    await here.purging.key(KEY)

    async def fly(flight: Flight) -> None:
        await door.wait()

    flight = here.flights.join((KEY, 1), fly)[0].flight
    here.clock.advance(0.1)
    await here.tiers.put(entry("a", here.clock.now()))
    for told in here.fleet.told:
        await here.purging.forget(*told)
    await here.wait()

    purged = flight.purged
    assert (purged, await here.where()) == (False, (True, True))
    await here.purging.forget(KEY, here.clock.now())
    assert flight.purged
    await here.flights.aclose()


@pytest.mark.parametrize("sweeps", [True, False])
async def test_what_was_stored_before_all_had_heard_does_not_stay(*, sweeps: bool) -> None:
    """One worker of a machine sees to what is shared: each look at a far tier is paid for."""
    here = Here(sweeps=sweeps)
    at = here.clock.now()
    await here.purging.forget(KEY, at)
    await here.tiers.put(entry("a", at - 1.0))
    await here.wait()

    assert await here.where() == (False, not sweeps)


async def test_what_is_remembered_of_purges_is_bounded() -> None:
    here = Here(sweeps=True)
    for number in range(10_500):
        await here.purging.forget(key(number), 1.0)

    purging = here.purging
    kept = [len(part) for part in (purging._known, purging._unswept, purging._echoes)]
    assert kept == [10_000] * 3


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
