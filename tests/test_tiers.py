"""The tiers as one store: nearest first, filled up, and never a request's failure."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.adapters.memory import Memory
from proxy.backlog import Backlog
from proxy.core import wire
from proxy.core.decision import Found
from proxy.core.entry import Alias, Entry, Tenant
from proxy.core.events import TierFailed, TierLooked, TierSpared, TierTurned
from proxy.ports import StoreError
from proxy.tier import Tier
from proxy.tiers import Tiers
from tests import answers
from tests.asking import arrival, chat, lookup
from tests.fakes import BrokenStore, FakeClock, FakeStore, settle
from tests.stored import NOW, entry

if TYPE_CHECKING:
    from proxy.core.entry import Key, Stored
    from proxy.core.events import Event
    from proxy.ports import Store

LOOKUP = lookup(arrival(chat("two  blanks")))
OTHER = Tenant(b"o" * 16)


class StuckStore(FakeStore):
    """A store that never answers a read."""

    async def get(self, key: Key, now: float) -> Stored | None:
        await asyncio.Event().wait()
        return None


class HungStore(FakeStore):
    """A store whose disk hangs."""

    async def put(self, stored: Stored, now: float) -> bool:
        await asyncio.Event().wait()
        return True


class SlowStore(FakeStore):
    """A store whose answers are on their way for a while."""

    def __init__(self) -> None:
        super().__init__()
        self.door = asyncio.Event()

    async def get(self, key: Key, now: float) -> Stored | None:
        found = await super().get(key, now)
        await self.door.wait()
        return found


class House:
    """Some stores as tiers, and what happened."""

    def __init__(self, *stores: Store, timeout: float = 0.0, storing: float = 5.0) -> None:
        self.events: list[Event] = []
        named = zip(("memory", "disk", "redis"), stores, strict=False)
        tiers = [Tier(name, store, timeout, storing=storing) for name, store in named]
        self.backlog = Backlog(self.events.append)
        self.tiers = Tiers(tiers, FakeClock(NOW), self.events.append, self.backlog)

    def looked(self) -> list[tuple[str, str]]:
        return [(e.tier, e.result) for e in self.events if isinstance(e, TierLooked)]


def answer(**changes: object) -> Entry:
    plain = entry("a", tenant=LOOKUP.request.tenant, key=LOOKUP.key)
    return msgspec.structs.replace(plain, **changes)


def pointer(**changes: object) -> Alias:
    assert LOOKUP.normalized is not None
    plain = Alias(LOOKUP.normalized, LOOKUP.request.tenant, answer().key, NOW, NOW + 60.0)
    return msgspec.structs.replace(plain, **changes)


async def test_an_entry_is_found_in_the_nearest_tier_that_has_it() -> None:
    near, far = FakeStore(), FakeStore()
    await near.put(answer(), NOW)
    await far.put(answer(), NOW)
    house = House(near, far)

    assert await house.tiers.find(LOOKUP) == Found(answer(), "memory", "exact")
    assert house.looked() == [("memory", "hit")]


async def test_what_is_found_far_away_fills_the_nearer_tiers() -> None:
    near, middle, far = FakeStore(), FakeStore(), FakeStore()
    await far.put(answer(), NOW)
    house = House(near, middle, far)

    assert await house.tiers.find(LOOKUP) == Found(answer(), "redis", "exact")
    await house.backlog.drain()
    assert await near.get(LOOKUP.key, NOW) == await middle.get(LOOKUP.key, NOW) == answer()


async def test_what_fills_a_tier_is_not_held_for_a_late_owners_answer() -> None:
    """Who looked for it far away had the lease meanwhile, with a larger token."""
    near, far = FakeStore(), FakeStore()
    await far.put(answer(fence=7), NOW)
    house = House(near, far)
    await house.tiers.find(LOOKUP)
    await house.backlog.drain()

    assert await near.get(LOOKUP.key, NOW) == answer(fence=0)


async def test_what_is_owed_is_hidden_from_a_read_that_ends_after_it_was_deleted() -> None:
    store, clock = SlowStore(), FakeClock(NOW + 1.0)
    store.data[LOOKUP.key] = wire.encode(answer())
    tier = Tier("objects", store)
    tier.owed.owe(LOOKUP.key, clock.now())
    reading = asyncio.create_task(tier.read([LOOKUP.key], NOW, clock, _quiet, sure=True))
    await settle()
    await tier.settle(clock, _quiet)
    paid = not tier.owed
    store.door.set()

    assert (paid, await reading) == (True, {})


def _quiet(event: Event) -> None:
    pass


async def test_nothing_anywhere() -> None:
    assert await House(FakeStore(), FakeStore()).tiers.find(LOOKUP) is None


async def test_another_tenants_entry_is_not_found() -> None:
    """Even under the very same key: the entry itself must say whose it is."""
    store = FakeStore()
    await store.put(answer(tenant=OTHER), NOW)

    assert await House(store).tiers.find(LOOKUP) is None


@pytest.mark.parametrize(
    ("owner", "found"),
    [(LOOKUP.request.tenant, True), (OTHER, False)],
    ids=["its own", "another's"],
)
async def test_the_short_way_to_an_entry_is_its_tenants_alone(owner: Tenant, found: bool) -> None:
    store = Memory(1 << 20, ttl=60.0)
    await store.put(answer(tenant=owner), NOW)
    tiers = Tiers([Tier("memory", store, peek=store.peek)], FakeClock(NOW), print, Backlog(print))

    assert (tiers.near(LOOKUP) is not None) == found


async def test_a_normalized_key_leads_to_the_entry() -> None:
    store, target = FakeStore(), answer(key=entry("b").key)
    await store.put(target, NOW)
    await store.put(pointer(target=target.key), NOW)

    assert await House(store).tiers.find(LOOKUP) == Found(target, "memory", "normalized")


async def test_the_exact_answer_comes_first() -> None:
    store, near = FakeStore(), answer(key=entry("b").key)
    for stored in (answer(), near, pointer(target=near.key)):
        await store.put(stored, NOW)

    assert await House(store).tiers.find(LOOKUP) == Found(answer(), "memory", "exact")


@pytest.mark.parametrize(
    ("alias", "target"),
    [
        (pointer(tenant=OTHER), answer()),
        (pointer(), answer(tenant=OTHER)),
        (pointer(), None),
        (pointer(target=pointer().key), answer()),
    ],
    ids=["another tenant's alias", "another tenant's entry", "no entry", "itself"],
)
async def test_an_alias_that_leads_nowhere(alias: Alias, target: Entry | None) -> None:
    store, asked = FakeStore(), msgspec.structs.replace(LOOKUP, key=entry("other").key)
    await store.put(alias, NOW)
    if target is not None:
        await store.put(target, NOW)

    assert await House(store).tiers.find(asked) is None


async def test_an_entry_under_a_normalized_key_is_not_taken_for_an_alias() -> None:
    store = FakeStore()
    await store.put(answer(key=pointer().key), NOW)

    assert await House(store).tiers.find(LOOKUP) is None


async def test_a_broken_tier_is_a_miss_and_told() -> None:
    store = FakeStore()
    await store.put(answer(), NOW)
    house = House(BrokenStore(), store)

    assert await house.tiers.find(LOOKUP) == Found(answer(), "disk", "exact")
    await house.backlog.drain()
    assert TierFailed("memory", "get", "StoreError") in house.events
    assert TierFailed("memory", "put", "StoreError") in house.events
    assert house.looked() == [("memory", "error"), ("disk", "hit")]


async def test_a_tier_that_takes_too_long_is_a_miss_and_told() -> None:
    house = House(StuckStore(), timeout=0.001)

    assert await house.tiers.find(LOOKUP) is None
    assert TierFailed("memory", "get", "TimeoutError") in house.events


async def test_a_write_that_hangs_is_not_waited_for_and_told() -> None:
    """Else its flight never lands, and whoever asks is given that answer whatever its age."""
    far = FakeStore()
    house = House(HungStore(), far, storing=0.001)
    await house.tiers.put(answer())

    assert list(far.data) == [answer().key]
    assert house.events == [TierFailed("memory", "put", "TimeoutError")]


async def test_an_answer_is_stored_in_every_tier_whatever_becomes_of_one() -> None:
    near, far = FakeStore(), FakeStore()
    house = House(near, BrokenStore(), far)
    await house.tiers.put(answer(), pointer())

    assert list(near.data) == list(far.data) == [answer().key, pointer().key]
    assert house.events == [TierFailed("disk", "put", "StoreError")]


@pytest.mark.parametrize(("had", "told"), [("near", True), ("far", True), ("none", False)])
async def test_a_purge_forgets_in_every_tier(had: str, told: bool) -> None:
    near, far = FakeStore(), FakeStore()
    if had != "none":
        await (near if had == "near" else far).put(answer(), NOW)
    house = House(near, BrokenStore(), far)

    assert await house.tiers.delete(LOOKUP.key) is told
    assert not near.data
    assert not far.data
    assert house.events == [TierFailed("disk", "delete", "StoreError")]


BATCH = lookup(arrival({"model": "m", "input": ["x", "y", "x"]}, path="/v1/embeddings"))


def item(place: int, **changes: object) -> Entry:
    text = ("x", "y", "x")[place]
    body = answers.dumps(answers.embeddings({"model": "m", "input": [text]}))
    plain = answer(key=BATCH.items[place], body=body, endpoint="embeddings")
    return msgspec.structs.replace(plain, **changes)


async def test_a_batch_is_found_if_each_item_is_there_as_far_away_as_the_farthest() -> None:
    near, far = FakeStore(), FakeStore()
    await near.put(item(0), NOW)
    await far.put(item(1), NOW)
    found = await House(near, far).tiers.find(BATCH)

    assert found is not None
    assert (found.tier, found.kind, found.entry.key) == ("disk", "exact", BATCH.key)


async def test_a_batch_with_an_unknown_item_is_not_found() -> None:
    store = FakeStore()
    await store.put(item(0), NOW)

    assert await House(store).tiers.find(BATCH) is None


async def test_a_batch_with_an_item_that_cannot_be_read_is_not_found() -> None:
    store = FakeStore()
    await store.put(item(0), NOW)
    await store.put(item(1, body=b"{}"), NOW)

    assert await House(store).tiers.find(BATCH) is None


@pytest.mark.parametrize("old", [{"ttl": 1.0, "stale_if_error": 99.0}, {"epoch": 1}])
async def test_an_answer_that_is_not_current_hides_no_newer_one_farther_away(
    old: dict[str, float],
) -> None:
    """Another worker has fetched it anew, after its time was over or a purge."""
    memory, disk = FakeStore(), FakeStore()
    await memory.put(answer(**old, created=NOW - 5.0), NOW)
    await disk.put(answer(asked=NOW + 1.0, epoch=2), NOW)
    house = House(memory, disk)
    found = await house.tiers.find(LOOKUP, 2)
    await house.backlog.drain()

    assert found is not None
    assert (found.tier, found.entry.epoch) == ("disk", 2)
    assert memory.data == disk.data


async def test_an_answer_that_is_not_current_is_found_where_there_is_no_newer_one() -> None:
    """It may still be served stale, or if the upstream fails."""
    memory, disk = FakeStore(), FakeStore()
    for store in (memory, disk):
        await store.put(answer(ttl=1.0, created=NOW - 5.0, stale_if_error=99.0), NOW)
    found = await House(memory, disk).tiers.find(LOOKUP)

    assert found is not None
    assert found.tier == "memory"


async def test_an_answer_that_came_too_late_is_held_in_no_tier() -> None:
    """Another worker asked later and has stored it: what we waited for is the older one."""
    near, far = FakeStore(), FakeStore()
    house = House(near, far)
    await far.put(answer(asked=NOW, body=b"later"), NOW)
    await house.tiers.put(answer(asked=NOW - 5.0, body=b"earlier"))
    found = await house.tiers.find(LOOKUP)
    await house.backlog.drain()

    assert found is not None
    assert found.entry.body == b"later"
    assert (await near.get(LOOKUP.key, NOW)) == found.entry


class Sieve:
    """A filter that knows what it was told, and who asked."""

    def __init__(self, *keys: Key) -> None:
        self.keys = set(keys)

    def might_have(self, key: Key) -> bool:
        return key in self.keys

    def added(self, key: Key) -> None:
        self.keys.add(key)


class CountedStore(FakeStore):
    """A store that tells how often it was read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def get(self, key: Key, now: float) -> Stored | None:
        self.reads += 1
        return await super().get(key, now)


class Far:
    """A near tier and one far away with a filter."""

    def __init__(self, *known: Key) -> None:
        self.events: list[Event] = []
        self.near, self.far = FakeStore(), CountedStore()
        self.backlog = Backlog(self.events.append)
        tiers = [
            Tier("near", self.near),
            Tier("far", self.far, filter=Sieve(*known), shared=True),
        ]
        self.clock = FakeClock(NOW)
        self.tiers = Tiers(tiers, self.clock, self.events.append, self.backlog)


async def test_a_filter_spares_the_look_for_what_a_tier_does_not_have() -> None:
    far = Far()
    await far.far.put(answer(), NOW)
    far.far.reads = 0

    assert await far.tiers.find(LOOKUP) is None
    assert far.far.reads == 0
    assert TierSpared("far") in far.events


async def test_a_flight_looks_for_sure() -> None:
    """What another gateway has stored just now is in no filter yet."""
    far = Far()
    await far.far.put(answer(), NOW)

    assert await far.tiers.find(LOOKUP, sure=True) == Found(answer(), "far", "exact")


async def test_what_was_stored_passes_the_filter() -> None:
    far = Far()
    await far.tiers.put(answer())
    far.near.data.clear()

    assert await far.tiers.find(LOOKUP) == Found(answer(), "far", "exact")


async def test_all_keys_of_a_request_are_asked_for_at_once() -> None:
    """A store that is a round trip away is to need one for all of them."""
    far, running = Far(LOOKUP.key, LOOKUP.raw, pointer().key), 0

    class Slow(FakeStore):
        async def get(self, key: Key, now: float) -> Stored | None:
            nonlocal running
            running += 1
            await asyncio.sleep(0)
            assert running == 3
            return None

    tiers = Tiers([Tier("far", Slow())], far.clock, far.events.append, far.backlog)

    assert await tiers.find(msgspec.structs.replace(LOOKUP, raw=entry("raw").key)) is None
    assert running == 3


async def test_what_may_have_been_purged_unheard_is_believed_of_shared_tiers_only() -> None:
    far = Far(LOOKUP.key)
    await far.near.put(answer(), NOW)
    far.tiers.distrusted = answer().asked + 1.0
    assert await far.tiers.find(LOOKUP) is None

    await far.far.put(answer(), NOW)
    found = await far.tiers.find(LOOKUP)
    assert found is not None
    assert found.tier == "far"


async def test_the_short_way_does_not_believe_what_may_have_been_purged_unheard() -> None:
    events: list[Event] = []
    memory = Memory(1 << 20, ttl=60.0)
    tier = Tier("memory", memory, peek=memory.peek, keep=memory.keep)
    tiers = Tiers([tier], FakeClock(NOW), events.append, Backlog(events.append))
    await memory.put(answer(), NOW)
    assert tiers.near(LOOKUP) is not None

    tiers.distrusted = answer().asked + 1.0
    assert tiers.near(LOOKUP) is None


async def test_what_is_hoped_to_be_newer_is_looked_for_farther_away() -> None:
    """A refresh asks whether another gateway has done it already."""
    far = Far(LOOKUP.key)
    newer = answer(asked=answer().asked + 1.0)
    await far.near.put(answer(), NOW)
    await far.far.put(newer, NOW)

    assert await far.tiers.find(LOOKUP) == Found(answer(), "near", "exact")
    assert await far.tiers.find(LOOKUP, beyond=answer().asked) == Found(newer, "far", "exact")


async def test_an_alias_at_hand_hides_no_newer_answer_farther_away() -> None:
    """It stands beside the exact answer, in every tier that has that, and is current for ever."""
    far = Far(LOOKUP.key)
    old = answer(created=NOW - 5.0, ttl=1.0, stale_if_error=99.0)
    newer = answer(asked=NOW + 1.0)
    await far.near.put(old, NOW)
    await far.near.put(pointer(), NOW)
    await far.far.put(newer, NOW)

    assert await far.tiers.find(LOOKUP) == Found(newer, "far", "exact")


async def test_what_a_newer_alias_points_to_is_looked_for_farther_away() -> None:
    """Another gateway refreshed the answer by a spelling of its own, so under another key."""
    far = Far(*filter(None, (LOOKUP.normalized, entry("new").key)))
    old = answer(key=entry("old").key)
    newer = answer(key=entry("new").key, asked=old.asked + 1.0)
    await far.near.put(old, NOW)
    await far.near.put(pointer(target=old.key, asked=old.asked), NOW)
    await far.far.put(newer, NOW)
    await far.far.put(pointer(target=newer.key, asked=newer.asked), NOW)

    assert await far.tiers.find(LOOKUP, beyond=old.asked) == Found(newer, "far", "normalized")


async def test_an_alias_that_leads_nowhere_hides_no_exact_answer_farther_away() -> None:
    far = Far(LOOKUP.key)
    await far.near.put(pointer(target=entry("gone").key), NOW)
    await far.far.put(answer(), NOW)

    assert await far.tiers.find(LOOKUP) == Found(answer(), "far", "exact")


async def test_a_tier_that_fails_again_and_again_is_left_alone_and_tried_now_and_then() -> None:
    store, events = BrokenStore(), list[object]()
    clock = FakeClock(NOW)
    tiers = Tiers([Tier("far", store)], clock, events.append, Backlog(events.append))
    for _ in range(20):
        await tiers.find(LOOKUP)
    assert store.asked <= 10
    assert events.count(TierTurned("far", False, "StoreError")) == 1

    asked = store.asked
    clock.advance(1.0)
    await tiers.find(LOOKUP)
    await tiers.find(LOOKUP)
    assert asked < store.asked <= asked + 2


@pytest.mark.parametrize(("asked", "left"), [(-1.0, False), (0.0, True), (1.0, True)])
async def test_what_was_asked_for_earlier_is_dropped_where_it_is_not_shared(
    asked: float, left: bool
) -> None:
    """Another gateway has stored what was asked for then, as a request wanted it anew."""
    far, then = Far(LOOKUP.key), answer().asked
    held = answer(asked=then + asked)
    await far.near.put(held, NOW)
    await far.far.put(held, NOW)
    await far.tiers.drop(LOOKUP.key, then)

    assert (LOOKUP.key in far.near.data) is left
    assert far.far.data
    found = await far.tiers.find(LOOKUP)
    assert found is not None
    assert found.tier == ("near" if left else "far")


async def test_nobody_looks_a_second_time_where_somebody_has_just_waited_in_vain() -> None:
    """The flight's sure look is the second for most: it is to cost no further timeout."""
    far, silent = Far(LOOKUP.key), True
    store = CountedStore()
    await store.put(answer(), NOW)
    store.reads = 0
    tier = Tier("far", store, shared=True, silent=lambda: silent)
    tiers = Tiers([tier], far.clock, far.events.append, far.backlog)

    assert await tiers.find(LOOKUP, sure=True) is None
    assert store.reads == 0
    silent = False
    assert await tiers.find(LOOKUP, sure=True) == Found(answer(), "far", "exact")


async def test_what_a_tier_cannot_say_is_not_taken_for_nothing() -> None:
    house = House(FakeStore(), BrokenStore())
    with pytest.raises(StoreError):
        await house.tiers.certain(LOOKUP, 0)

    assert await House(FakeStore(), FakeStore()).tiers.certain(LOOKUP, 0) is None


async def test_what_one_tier_has_is_certain_whatever_fails() -> None:
    store = FakeStore()
    await store.put(answer(), NOW)

    found = await House(BrokenStore(), store).tiers.certain(LOOKUP, 0)

    assert found is not None
    assert found.entry == answer()
