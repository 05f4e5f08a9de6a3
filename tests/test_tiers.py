"""The tiers as one store: nearest first, filled up, and never a request's failure."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.adapters.memory import Memory
from proxy.core.decision import Found
from proxy.core.entry import Alias, Entry, Tenant
from proxy.core.events import TierFailed, TierLooked
from proxy.tiers import Tier, Tiers
from tests import answers
from tests.asking import arrival, chat, lookup
from tests.fakes import BrokenStore, FakeClock, FakeStore
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


class House:
    """Some stores as tiers, and what happened."""

    def __init__(self, *stores: Store, timeout: float = 0.0) -> None:
        self.events: list[Event] = []
        names = ("memory", "disk", "redis")
        tiers = [Tier(name, store, timeout) for name, store in zip(names, stores, strict=False)]
        self.tiers = Tiers(tiers, FakeClock(NOW), self.events.append)

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
    assert await near.get(LOOKUP.key, NOW) == await middle.get(LOOKUP.key, NOW) == answer()


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
    tiers = Tiers([Tier("memory", store, peek=store.peek)], FakeClock(NOW), lambda _: None)

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
    assert TierFailed("memory", "get") in house.events
    assert TierFailed("memory", "put") in house.events
    assert house.looked() == [("memory", "error"), ("disk", "hit")]


async def test_a_tier_that_takes_too_long_is_a_miss_and_told() -> None:
    house = House(StuckStore(), timeout=0.001)

    assert await house.tiers.find(LOOKUP) is None
    assert TierFailed("memory", "get") in house.events


async def test_an_answer_is_stored_in_every_tier_whatever_becomes_of_one() -> None:
    near, far = FakeStore(), FakeStore()
    house = House(near, BrokenStore(), far)
    await house.tiers.put(answer(), pointer())

    assert list(near.data) == list(far.data) == [answer().key, pointer().key]
    assert house.events == [TierFailed("disk", "put")] * 2


@pytest.mark.parametrize(("had", "told"), [("near", True), ("far", True), ("none", False)])
async def test_a_purge_forgets_in_every_tier(had: str, told: bool) -> None:
    near, far = FakeStore(), FakeStore()
    if had != "none":
        await (near if had == "near" else far).put(answer(), NOW)
    house = House(near, BrokenStore(), far)

    assert await house.tiers.delete(LOOKUP.key) is told
    assert not near.data
    assert not far.data
    assert house.events == [TierFailed("disk", "delete")]


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

    assert found is not None
    assert found.entry.body == b"later"
    assert (await near.get(LOOKUP.key, NOW)) == found.entry
