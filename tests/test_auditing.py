"""Questions whose answers a tier dropped by itself: they leave, and no others, with a real disk and
a real Redis behind a real index and the line to it."""

from __future__ import annotations

import asyncio
import random
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from proxy import config
from proxy.adapters.disk.store import Disk
from proxy.adapters.meaning import Meaning
from proxy.adapters.memory import Memory
from proxy.adapters.redis.link import Link
from proxy.adapters.redis.store import RedisStore
from proxy.auditing import EVERY, PORTION, Auditing
from proxy.coder import PLAIN
from proxy.core.entry import Question
from proxy.core.events import TierFailed
from proxy.core.want import EVER
from proxy.gathering import Gathering
from proxy.holdings import Holdings
from proxy.ports import SemanticAbsentError, SemanticError
from proxy.quantity import Timeout
from proxy.tier import Tier
from semantic.server import Server
from tests.fakes import FakeClock, settle
from tests.redis_server import RedisServer
from tests.semantic.company import Company, company
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    import redis as driver

    from proxy.core.entry import Entry, Key
    from proxy.core.events import Event
    from proxy.core.near import Why
    from semantic.protocol import Found

MIB = 1 << 20
HOUR = 3600.0
_SYLLABLES = ("ba", "do", "fi", "gu", "ke", "lo", "mi", "nu", "pa", "re")


def asked(number: int, size: int = 10, now: float = NOW) -> Entry:
    """An answer, of so many bytes that do not compress, to one question of many."""
    question = Question(key("scope"), text(number))
    body = random.Random(number).randbytes(size)
    return entry(number, now, question=question, body=body, ttl=HOUR + number)


def text(number: int) -> str:
    """None that asks the same as another."""
    word = "".join(_SYLLABLES[int(digit)] for digit in f"{number:03}")
    return f"which {word} sings loudest"


class Nobody:
    """There is no other worker."""

    async def unheld(self, owner: str, keys: Sequence[Key]) -> Sequence[Key]:
        raise AssertionError(owner)


class Machine:
    """One worker's tiers, and the semantic process."""

    def __init__(self, there: Company, line: Meaning, disk: Disk, redis: RedisStore | None) -> None:
        self.there, self.line, self.disk, self.redis = there, line, disk, redis
        self.memory = Memory(MIB, 300.0)
        self.clock = FakeClock(NOW)
        self.events: list[Event] = []
        tiers = [
            Tier("memory", self.memory, holds=self.memory.holds),
            Tier("disk", disk, holds=disk.scan.holds),
        ]
        if redis is not None:
            tiers.append(Tier("redis", redis, holds=redis.holds, shared=True))
        how = (lambda: EVER, Nobody(), list, self.clock, self.events.append)
        self.holdings = Holdings(tiers, *how)
        self.auditing = self.audited()

    def audited(self) -> Auditing:
        return Auditing(self.line, self.holdings.gone, self.clock, self.events.append)

    async def stored(self, entries: Sequence[Entry]) -> None:
        await self.disk.put_all(entries, NOW)
        await self.line.learn(entries)

    async def audit(self) -> None:
        """A whole round."""
        for _ in range(len(self.there.memory) // PORTION + 1):
            await self.auditing.round()

    async def kept(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those that the disk has."""
        found = [await self.disk.get(one.key, NOW) for one in entries]
        return [one for one in entries if one in found]

    async def found(self, number: int) -> Found:
        return await self.there.ask(text(number), key("scope"))


@pytest.fixture
async def machine(tmp_path: Path) -> AsyncIterator[Machine]:
    async with made(tmp_path) as here:
        yield here


@asynccontextmanager
async def made(folder: Path, redis: RedisStore | None = None) -> AsyncIterator[Machine]:
    disk = Disk(folder / "disk", 4 * MIB, clock=FakeClock(NOW), emit=lambda _: None)
    async with company() as there:
        there.now = NOW
        server = Server(folder / "s.sock", there.service.answer)
        await server.start()
        line = Meaning(folder / "s.sock")
        yield Machine(there, line, disk, redis)
        await line.aclose()
        await server.aclose()
    disk.close()


@pytest.fixture
async def fleet(
    tmp_path: Path, server: RedisServer, client: driver.Redis
) -> AsyncIterator[Machine]:
    settings = config.Redis(url=server.url, timeout=Timeout(5))
    link = Link(settings, None, clock=FakeClock(NOW), emit=lambda _: None)
    async with made(tmp_path, RedisStore(link, PLAIN)) as here:
        yield here
    await link.aclose()


async def test_what_the_disk_drops_beyond_its_bound_leaves_the_index(machine: Machine) -> None:
    entries = [asked(number, 20_000) for number in range(300)]
    await machine.stored(entries)
    kept = await machine.kept(entries)
    assert 0 < len(kept) < 250
    await machine.audit()

    assert set(machine.there.memory.keys()) == {one.key for one in kept}
    assert machine.there.index.figures().rows == len(kept)
    assert (await machine.found(0)).action == "none"
    assert (await machine.found(299)).key == key(299)
    assert machine.there.forgotten() == {"evicted": 300 - len(kept)}


async def test_where_nothing_was_dropped_nothing_leaves(machine: Machine) -> None:
    entries = [asked(number) for number in range(600)]
    await machine.stored(entries)
    for _ in range(3):
        await machine.audit()

    assert len(machine.there.memory) == machine.there.index.figures().rows == 600
    assert machine.there.forgotten() == {}


async def test_what_a_farther_tier_holds_stays_until_that_drops_it_too(
    fleet: Machine, client: driver.Redis
) -> None:
    entries = [asked(number) for number in range(100)]
    await fleet.line.learn(entries)
    assert fleet.redis is not None
    for one in entries[:60]:
        await fleet.redis.put(one, NOW)
    await fleet.audit()
    there = set(fleet.there.memory.keys())
    client.flushall()
    await fleet.audit()

    assert there == {one.key for one in entries[:60]}
    assert len(fleet.there.memory) == fleet.there.index.figures().rows == 0


async def test_what_a_full_redis_drops_leaves(tmp_path: Path) -> None:
    room = ("--maxmemory", "4mb", "--maxmemory-policy", "allkeys-random")
    with RedisServer(tmp_path / "redis", *room) as full:
        settings = config.Redis(url=full.url, timeout=Timeout(5))
        link = Link(settings, None, clock=FakeClock(NOW), emit=lambda _: None)
        redis, entries = RedisStore(link, PLAIN), [asked(number, 20_000) for number in range(300)]
        async with made(tmp_path, redis) as here:
            await here.line.learn(entries)
            for one in entries:
                await redis.put(one, NOW)
            await here.audit()
            held = [one.key for one in entries if await redis.get(one.key, NOW) is not None]

            assert 0 < len(held) < 250
            assert set(here.there.memory.keys()) == set(held)
        await link.aclose()


async def test_a_redis_that_does_not_answer_has_nothing_forgotten(
    fleet: Machine, server: RedisServer
) -> None:
    await fleet.line.learn([asked(1)])
    server.kill()
    try:
        await fleet.audit()
        assert len(fleet.there.memory) == 1
        assert [event.operation for event in fleet.events if isinstance(event, TierFailed)] == [
            "audit"
        ]
    finally:
        server.start()


async def test_an_answer_stored_between_the_look_and_the_word_stays(machine: Machine) -> None:
    await machine.line.learn([asked(1)])

    async def gone(keys: Sequence[Key]) -> Sequence[Key]:
        found = await machine.holdings.gone(keys)
        await machine.stored([asked(1, now=NOW + 1.0)])
        return found

    await Auditing(machine.line, gone, machine.clock, machine.events.append).round()

    assert (await machine.found(1)).key == key(1)


async def test_what_is_beyond_a_bound_of_the_index_comes_and_goes_once(machine: Machine) -> None:
    """Its answers stay, and neither the audit nor the telling of what there is brings it up
    again."""
    machine.there.index._most_entries = 10
    entries = [asked(number) for number in range(100)]
    await machine.disk.put_all(entries, NOW)
    telling = Gathering(
        machine.line,
        machine.disk.scan.questions,
        None,
        machine.clock,
        machine.events.append,
        missed=lambda missed: None,
    )
    for _ in range(5):
        await telling.round()
        await machine.audit()

    assert len(await machine.kept(entries)) == 100
    assert len(machine.there.memory) == machine.there.index.figures().rows == 10
    assert machine.there.forgotten() == {"bound": 90}


class Process:
    """A semantic process that fails as it is told to."""

    def __init__(self) -> None:
        self.fails: Exception | None = None
        self.reviews = 0
        self.forgotten: list[tuple[Sequence[Key], str, int | None]] = []

    async def review(self, most: int) -> tuple[Sequence[Key], int]:
        self.reviews += 1
        if self.fails is not None:
            raise self.fails
        return [key("a"), key("b")], 7

    async def forget(self, keys: Sequence[Key], why: Why, mark: int | None = None) -> None:
        self.forgotten.append((keys, why, mark))


async def first(keys: Sequence[Key]) -> Sequence[Key]:
    return keys[:1]


async def none(keys: Sequence[Key]) -> Sequence[Key]:
    return ()


async def test_what_is_gone_is_told_with_the_mark_of_its_review() -> None:
    process = Process()
    await Auditing(process, first, FakeClock(), lambda _: None).round()
    await Auditing(process, none, FakeClock(), lambda _: None).round()

    assert process.forgotten == [([key("a")], "evicted", 7)]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (SemanticError("busy"), [TierFailed("semantic", "audit", "SemanticError")]),
        (TimeoutError(), [TierFailed("semantic", "audit", "TimeoutError")]),
        (SemanticAbsentError("gone"), []),
    ],
    ids=["busy", "late", "absent"],
)
async def test_an_audit_that_fails_is_told_and_the_next_is_made(
    error: Exception, told: list[Event]
) -> None:
    """That the process is not there is told by others."""
    process, clock = Process(), FakeClock()
    events: list[Event] = []
    process.fails = error
    running = asyncio.create_task(Auditing(process, first, clock, events.append).run())
    for turn in range(2):
        await settle()
        assert process.reviews == turn
        clock.advance(EVERY)
        await settle()
        process.fails = None
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

    assert events == told
    assert len(process.forgotten) == 1
