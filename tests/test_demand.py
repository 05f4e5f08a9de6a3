"""A tier that takes only what was dear and is used again, below others that take everything."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.backlog import Backlog
from proxy.core.entry import Alias, Entry
from proxy.ports import StoreError
from proxy.tier import Tier, settling
from proxy.tiers import Tiers
from tests.asking import arrival, chat, lookup
from tests.fakes import FakeClock, FakeStore, settle
from tests.stored import NOW, entry

if TYPE_CHECKING:
    from proxy.core.entry import Key, Stored
    from proxy.core.events import Event

LOOKUP = lookup(arrival(chat("two  blanks")))
KEY = LOOKUP.key


def answer(later: float = 0.0, **changes: object) -> Entry:
    plain = entry("a", tenant=LOOKUP.request.tenant, key=KEY, asked=NOW + later)
    return msgspec.structs.replace(plain, **changes)


class DeepStore(FakeStore):
    """Far away: it counts what it is asked, may be out of reach, and may hold a write up."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Key] = []
        self.writes = self.deletions = 0
        self.broken = False
        self.gate = asyncio.Event()
        self.gate.set()

    def _trouble(self) -> None:
        if self.broken:
            raise StoreError("deep", "out of reach")

    async def get(self, key: Key, now: float) -> Stored | None:
        self.asked.append(key)
        self._trouble()
        return await super().get(key, now)

    async def put(self, stored: Stored, now: float) -> bool:
        self.writes += 1
        self._trouble()
        await self.gate.wait()
        return await super().put(stored, now)

    async def delete(self, key: Key) -> bool:
        self.deletions += 1
        self._trouble()
        return await super().delete(key)


class House:
    def __init__(self, *, worthy: bool = True) -> None:
        self.events: list[Event] = []
        self.clock = FakeClock(NOW)
        self.near, self.shared, self.deep = FakeStore(), FakeStore(), DeepStore()
        self.list = [
            Tier("near", self.near),
            Tier("shared", self.shared, shared=True),
            Tier("deep", self.deep, worthy=lambda entry: worthy, shared=True),
        ]
        self.backlog = Backlog(self.events.append)
        self.tiers = Tiers(self.list, self.clock, self.events.append, self.backlog)

    async def used(self, one: Entry) -> None:
        self.tiers.used(one)
        await self.backlog.drain()

    async def stored(self, one: Entry, *, anew: bool = False) -> None:
        await self.tiers.put(one)
        self.tiers.replaced(one, anew=anew)
        await self.backlog.drain()

    async def forget_nearer(self) -> None:
        for store in (self.near, self.shared):
            await store.delete(KEY)


async def test_an_answer_goes_there_when_it_is_used_again_and_once() -> None:
    house = House()
    await house.stored(answer())
    assert not house.deep.data

    for _ in range(3):
        house.tiers.used(answer())
    assert len(house.backlog) == 1
    await house.backlog.drain()
    assert list(house.deep.data) == [KEY]


async def test_cheap_answers_do_not_go_there() -> None:
    house = House(worthy=False)
    await house.used(answer())

    assert not house.deep.data


@pytest.mark.parametrize("useless", [answer(status=404), answer(ttl=0.0)], ids=["refusal", "stale"])
async def test_refusals_and_what_is_stale_do_not_go_there(useless: Entry) -> None:
    house = House()
    await house.used(useless)

    assert not house.deep.data


async def test_only_names_of_whole_answers_are_asked_for_and_once() -> None:
    """A request looks at first, and its flight once more."""
    house = House()
    assert await house.tiers.find(LOOKUP) is None
    assert await house.tiers.find(LOOKUP, sure=True) is None
    assert house.deep.asked == [KEY]

    house.clock.advance(5.0)
    assert await house.tiers.find(LOOKUP) is None
    assert house.deep.asked == [KEY, KEY]


async def test_the_answer_that_an_alias_names_is_asked_for() -> None:
    house, target = House(), answer(key=entry("target").key)
    assert LOOKUP.normalized is not None
    await house.deep.put(target, NOW)
    await house.near.put(Alias(LOOKUP.normalized, target.tenant, target.key, NOW, NOW + 60.0), NOW)

    found = await house.tiers.find(LOOKUP)

    assert found is not None
    assert (found.entry, found.tier, found.kind) == (target, "deep", "normalized")


async def test_what_was_found_there_is_not_written_there_again() -> None:
    house = House()
    await house.deep.put(answer(), NOW)
    house.deep.writes = 0
    found = await house.tiers.find(LOOKUP)
    assert found is not None

    await house.used(found.entry)

    assert house.deep.writes == 0


async def test_after_a_look_that_found_nothing_nothing_need_be_deleted() -> None:
    house = House()
    await house.tiers.find(LOOKUP)
    await house.stored(answer(1.0))
    assert house.deep.deletions == 0

    await house.stored(answer(2.0))
    assert house.deep.deletions == 1  # that look was before another's


async def test_a_look_that_failed_has_found_nothing_out() -> None:
    house = House()
    house.deep.broken = True
    await house.tiers.find(LOOKUP)
    house.deep.broken = False
    await house.stored(answer(1.0))

    assert house.deep.deletions == 1


async def test_a_look_long_before_says_nothing() -> None:
    house = House()
    await house.tiers.find(LOOKUP)
    await house.stored(answer(60.0))

    assert house.deep.deletions == 1


@pytest.mark.parametrize("anew", [True, False])
async def test_a_newer_answer_drives_the_older_one_out(anew: bool) -> None:
    """It would come up again there once the nearer tiers have forgotten the newer one."""
    house = House()
    await house.used(answer())
    await house.stored(answer(1.0), anew=anew)

    assert not house.deep.data


async def test_asked_anew_it_is_deleted_whatever_was_seen_before() -> None:
    """Between that look and now, another gateway may have written it."""
    house = House()
    await house.tiers.find(LOOKUP)
    await house.deep.put(answer(), NOW)
    await house.stored(answer(1.0), anew=True)

    assert not house.deep.data


async def test_an_older_answer_that_is_being_written_does_not_stay() -> None:
    house = House()
    house.deep.gate.clear()
    house.tiers.used(answer())
    await settle()
    await house.tiers.put(answer(1.0))
    house.tiers.replaced(answer(1.0), anew=True)
    await settle()
    house.deep.gate.set()
    await house.backlog.drain()

    assert not house.deep.data


async def test_an_answer_that_is_used_before_all_tiers_have_it_stays() -> None:
    house = House()
    await house.deep.put(answer(), NOW)
    await house.tiers.put(answer(1.0))
    house.tiers.used(answer(1.0))
    house.tiers.replaced(answer(1.0), anew=True)
    await house.backlog.drain()

    assert await house.deep.get(KEY, NOW) == answer(1.0)


async def test_a_purged_answer_that_is_being_written_does_not_stay() -> None:
    house = House()
    house.deep.gate.clear()
    house.tiers.used(answer())
    await settle()
    await house.tiers.delete(KEY)
    house.deep.gate.set()
    await house.backlog.drain()

    assert not house.deep.data


async def test_what_another_gateway_has_replaced_does_not_stay_there() -> None:
    """This one still serves, from its own tiers, what the other has asked anew."""
    house = House()
    await house.shared.put(answer(1.0), NOW)
    await house.used(answer())

    assert not house.deep.data


async def test_a_write_that_failed_is_tried_at_a_later_use_and_not_at_each() -> None:
    house = House()
    house.deep.broken = True
    for _ in range(5):
        await house.used(answer())
    assert house.deep.writes == 1

    house.deep.broken = False
    house.clock.advance(5.0)
    await house.used(answer())
    assert list(house.deep.data) == [KEY]


@pytest.mark.parametrize("purged", [True, False])
async def test_what_cannot_be_deleted_is_hidden_and_deleted_once_it_can_be(purged: bool) -> None:
    house = House()
    await house.used(answer())
    house.deep.broken = True
    house.clock.advance(5.0)
    if purged:
        await house.tiers.delete(KEY)
    else:
        await house.stored(answer(4.0), anew=True)
        await house.forget_nearer()
    house.deep.broken = False

    assert await house.tiers.find(LOOKUP) is None
    assert list(house.deep.data) == [KEY]
    task = asyncio.get_running_loop().create_task(
        settling(house.list, house.clock, house.events.append)
    )
    await settle()
    house.clock.advance(1.0)
    await settle()
    assert not house.deep.data
    assert not house.list[-1].owed
    task.cancel()


async def test_a_newer_answer_pays_for_the_deletion_of_the_older_one() -> None:
    house = House()
    await house.used(answer())
    house.deep.broken = True
    await house.tiers.delete(KEY)
    house.deep.broken = False
    await house.used(answer(1.0))
    await house.forget_nearer()

    assert not house.list[-1].owed
    assert await house.tiers.find(LOOKUP) is not None


async def test_a_purge_waits_no_longer_for_a_store_that_says_nothing() -> None:
    """The purges of a fleet are heard one after the other."""
    house = House()
    never = asyncio.Event()

    class Frozen(DeepStore):
        async def delete(self, key: Key) -> bool:
            await never.wait()
            return True

    tier = Tier("deep", Frozen(), worthy=lambda entry: True)
    async with asyncio.timeout(5.0):
        assert not await tier.delete(KEY, house.clock, house.events.append)
    assert tier.owed


async def test_that_it_failed_a_moment_ago_says_nothing_of_what_is_there() -> None:
    house = House()
    house.deep.broken = True
    for _ in range(2):
        with pytest.raises(StoreError):
            await house.tiers.certain(LOOKUP, 0)
    house.deep.broken = False
    house.clock.advance(5.0)

    for _ in range(2):
        assert await house.tiers.certain(LOOKUP, 0) is None
    assert house.deep.asked == [KEY, KEY]
