"""Which answers are nowhere: all tiers asked, nearest first, and nothing said for certain that one
of them could not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.adapters.memory import Memory
from proxy.core.entry import Question
from proxy.core.events import TierFailed
from proxy.core.want import EVER
from proxy.holdings import Holdings
from proxy.ports import UpstreamError
from proxy.tier import Tier
from tests.fakes import AwayStore, FakeClock, FakeStore
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.entry import Key
    from proxy.core.events import Event

ASKED = Question(key("scope"), "how do I get a refund")
KEYS = [key(name) for name in "abcd"]


class Asked(AwayStore):
    """Remembers what it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Key] = []

    async def holds(self, keys: Sequence[Key], now: float) -> dict[Key, float]:
        self.asked += keys
        return await super().holds(keys, now)


class Workers:
    """Others of this machine, each with a memory of its own, or None: it is gone."""

    def __init__(self) -> None:
        self.there: dict[str, Holdings | None] = {}

    async def unheld(self, owner: str, keys: Sequence[Key]) -> Sequence[Key]:
        there = self.there[owner]
        told = None if there is None else await there.unheld(keys)
        if told is None:
            raise UpstreamError("", "gone", "the worker that had asked is gone")
        return told


class Machine:
    """A worker with a memory and a disk of its own and a Redis that others share."""

    def __init__(self) -> None:
        self.memory, self.disk, self.redis = Memory(1 << 20, 300.0), Asked(), Asked()
        self.workers = Workers()
        self.events: list[Event] = []
        self.distrusted = EVER
        self.holdings = Holdings(
            [
                Tier("memory", self.memory, holds=self.memory.holds),
                Tier("disk", self.disk, holds=self.disk.holds),
                Tier("redis", self.redis, holds=self.redis.holds, shared=True),
            ],
            lambda: self.distrusted,
            self.workers,
            lambda: list(self.workers.there),
            FakeClock(NOW),
            self.events.append,
        )

    async def gone(self) -> set[Key]:
        return set(await self.holdings.gone(KEYS))


async def test_what_no_tier_holds_is_gone() -> None:
    here = Machine()
    for name, store in (("a", here.memory), ("b", here.disk), ("c", here.redis)):
        await store.put(entry(name, question=ASKED), NOW)

    assert await here.gone() == {key("d")}


async def test_a_farther_tier_is_asked_only_for_what_no_nearer_one_has() -> None:
    here = Machine()
    await here.memory.put(entry("a", question=ASKED), NOW)
    await here.disk.put(entry("b", question=ASKED), NOW)
    await here.gone()

    assert here.disk.asked == KEYS[1:]
    assert here.redis.asked == KEYS[2:]


async def test_what_is_paid_for_is_asked_for_again_only_after_hours() -> None:
    bucket, clock = Asked(), FakeClock(NOW)
    tier = Tier("objects", bucket, holds=bucket.holds, worthy=lambda _: True, shared=True)
    here = Holdings([tier], lambda: EVER, Workers(), list, clock, lambda _: None)
    await bucket.put(entry("a", question=ASKED, ttl=1e6), NOW)
    told = [await here.gone(KEYS[:2]) for _ in range(3)]

    assert told == [(key("b"),)] * 3
    assert bucket.asked == [key("a"), key("b"), key("b"), key("b")]
    await bucket.delete(key("a"))
    clock.advance(6 * 3600.0)
    assert await here.gone(KEYS[:1]) == (key("a"),)


async def test_where_a_tier_cannot_say_nothing_is_gone() -> None:
    here = Machine()
    here.redis.away = True

    assert await here.gone() == set()
    assert here.events == [TierFailed("redis", "audit", "StoreError")]


async def test_a_tier_that_cannot_be_asked_so_is_one_that_cannot_say() -> None:
    here = FakeStore()
    tiers = [Tier("other", here)]
    holdings = Holdings(tiers, lambda: EVER, Workers(), list, FakeClock(NOW), lambda _: None)

    assert await holdings.gone(KEYS) == ()
    assert await holdings.unheld(KEYS) is None


async def test_what_answers_nobody_else_any_more_is_gone() -> None:
    """A newer answer may have come in its place, of a kind that is never compared."""
    here = Machine()
    await here.disk.put(entry("a"), NOW)
    await here.memory.put(entry("b"), NOW)
    await here.disk.put(entry("c", NOW - 100.0, question=ASKED), NOW - 100.0)

    assert await here.gone() == set(KEYS)


async def test_what_is_distrusted_is_gone_but_what_others_share_is_not() -> None:
    here = Machine()
    await here.disk.put(entry("a", question=ASKED), NOW)
    await here.redis.put(entry("b", question=ASKED), NOW)
    here.distrusted = NOW + 1.0

    assert await here.gone() == set(KEYS) - {key("b")}


async def test_what_another_worker_of_the_machine_holds_alone_is_not_gone() -> None:
    here, other = Machine(), Machine()
    await other.memory.put(entry("a", question=ASKED), NOW)
    here.workers.there["other"] = other.holdings

    assert await here.gone() == set(KEYS[1:])
    assert other.redis.asked == []


async def test_where_another_worker_cannot_say_nothing_is_gone() -> None:
    here = Machine()
    here.workers.there["other"] = None

    assert await here.gone() == set()


async def test_another_workers_broken_disk_is_no_word() -> None:
    here, other = Machine(), Machine()
    other.disk.away = True
    here.workers.there["other"] = other.holdings

    assert await here.gone() == set()
