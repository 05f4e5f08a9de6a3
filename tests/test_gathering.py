"""A semantic process told of what there is, whenever it begins anew."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from proxy.core.entry import Key, Question
from proxy.core.events import MeaningForgotten, MeaningMeasured, TierFailed, TierKnown, TierTurned
from proxy.gathering import Gathering
from proxy.ports import SemanticError, StoreError
from tests.fakes import FakeClock, settle
from tests.stored import entry, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from proxy.core.entry import Entry
    from proxy.core.events import Event

ASKED = Question(key("scope"), "how do I get a refund")
STORED = [entry(number, question=ASKED) for number in range(3)]


class Process:
    """A semantic process that was started at a time, or is away."""

    def __init__(self) -> None:
        self.born = 1.0
        self.away = self.full = self.blind = False
        self.tried = 0
        self.known: list[Key] = []
        self.lessons: list[bytes] = []
        self.forgotten: dict[str, float] = {}

    def restart(self) -> None:
        self.born += 1.0
        self.known, self.lessons, self.forgotten = [], [], {}

    async def learn(self, entries: Sequence[Entry]) -> list[Key]:
        self.tried += 1
        if self.away or self.full:
            raise SemanticError("gone")
        self.known += [one.key for one in entries]
        return [one.key for one in entries[:1]] if self.blind else []

    async def hear(self, news: bytes) -> None:
        self.lessons.append(news)

    async def state(self) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        if self.away:
            raise SemanticError("gone")
        figures = {"born": self.born, "entries": 3.0, "vectors": 2.0, "scopes": 1.0, "bytes": 99.0}
        figures |= {f"forgotten_{why}": count for why, count in self.forgotten.items()}
        closed = {"labels": 4.0, "errors": 3.0, "bound": 0.9, "closed": 1.0}
        sound = {"labels": 300.0, "errors": 0.0, "bound": 0.01, "closed": 0.0}
        young = {"labels": 20.0, "errors": 0.0, "bound": 0.14, "closed": 0.0, "unopened": 1.0}
        groups = {
            "n/en": {f"semantic_{name}": value for name, value in young.items()},
            "m/en": {f"semantic_{name}": value for name, value in closed.items()},
            "m/zh": {f"canonical_{name}": value for name, value in sound.items()},
        }
        return figures, groups


class Fleet:
    """What others told, two at a time."""

    def __init__(self) -> None:
        self.told: list[Entry] = []
        self.lessons: list[bytes] = []
        self.place = 0
        self.down = False

    def again(self) -> None:
        self.place = 0

    async def heard(self) -> tuple[list[Entry], list[bytes], bool]:
        if self.down:
            raise StoreError("redis", "down")
        place, self.place = self.place, min(self.place + 2, len(self.told))
        lessons = self.lessons if place == 0 else []
        return self.told[place : self.place], lessons, self.place < len(self.told)


class Stage:
    def __init__(self, *, disk: bool = True, counts: bool = True) -> None:
        self.process, self.fleet, self.clock = Process(), Fleet(), FakeClock()
        self.events: list[Event] = []
        self.missed: list[Entry] = []
        told = (self.process, self.stored if disk else None, self.fleet, self.clock)
        self.gathering = Gathering(
            *told, self.events.append, missed=self.missed.extend, counts=counts
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While it gathers."""
        running = asyncio.create_task(self.gathering.run())
        yield
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    async def spend(self, looks: int) -> None:
        """Time goes by in which it would look so many times."""
        for _ in range(looks):
            await settle()
            self.clock.advance(0.25)

    async def stored(self, now: float) -> AsyncIterator[list[Entry]]:
        yield STORED[:2]
        yield STORED[2:]


async def test_a_process_that_begins_is_told_all_that_is_stored_once() -> None:
    stage = Stage()
    for _ in range(3):
        await stage.gathering.round()

    assert stage.process.known == [one.key for one in STORED]


async def test_a_process_that_begins_anew_is_told_again() -> None:
    stage = Stage()
    stage.fleet.told = [entry("theirs", question=ASKED)]
    await stage.gathering.round()
    stage.process.restart()
    await stage.gathering.round()

    assert stage.process.known == [*(one.key for one in STORED), key("theirs")]


async def test_what_it_missed_is_to_be_told_again() -> None:
    """Its embedder may be away when it begins: what it was told of by nobody else stayed
    without a vector until it began once more."""
    stage = Stage()
    stage.process.blind = True
    stage.fleet.told = [entry("theirs", question=ASKED)]
    await stage.gathering.round()

    assert [one.key for one in stage.missed] == [STORED[0].key, key("theirs")]


async def test_that_it_works_is_told_once_it_knows_all_that_is_stored() -> None:
    stage = Stage()
    stage.process.away = True
    with pytest.raises(SemanticError):
        await stage.gathering.round()
    assert TierKnown("semantic") not in stage.events

    stage.process.away = False
    for _ in range(3):
        await stage.gathering.round()

    assert stage.events.count(TierKnown("semantic")) == 1


async def test_that_it_is_not_there_yet_is_told_once() -> None:
    """Its embedder may be away from the start, and a metric that is not there alerts nobody."""
    stage = Stage()
    stage.process.away = True
    async with stage.running():
        for number in range(8):
            await stage.spend(1)
            stage.process.away = number < 4

    told = [event for event in stage.events if not isinstance(event, MeaningMeasured)]
    assert told == [TierKnown("semantic", False), TierKnown("semantic")]


async def test_that_it_was_lost_and_is_back_is_told_once_each() -> None:
    """Back it is once it knows all that is stored."""
    stage = Stage()
    await stage.gathering.round()
    async with stage.running():
        stage.process.away = True
        await stage.spend(4)
        stage.process.restart()
        stage.process.away = False
        await stage.spend(4)

    turned = [event for event in stage.events if isinstance(event, TierTurned | TierKnown)]
    assert turned == [
        TierKnown("semantic"),
        TierTurned("semantic", False, "SemanticError"),
        TierTurned("semantic", True),
    ]


async def test_what_others_tell_is_passed_on_once_and_to_the_end() -> None:
    stage = Stage(disk=False)
    stage.fleet.told = [entry(f"theirs {n}", question=ASKED) for n in range(5)]
    stage.fleet.lessons = [b"a lesson"]
    for _ in range(2):
        await stage.gathering.round()

    assert len(stage.process.known) == 5
    assert stage.process.lessons == [b"a lesson"]


async def test_the_figures_are_told() -> None:
    stage = Stage()
    await stage.gathering.round()

    figures = MeaningMeasured(3.0, 2.0, 1.0, 99.0, 324.0, 3.0, 0.01, 1.0, 1.0)
    assert stage.events == [figures, TierKnown("semantic")]


async def test_what_was_forgotten_is_counted_once_whatever_process_forgot_it() -> None:
    """A worker that starts later counts from there on, and a process that begins anew from none."""
    stage = Stage()
    stage.process.forgotten = {"expired": 7.0}
    for told in ({"expired": 9.0, "evicted": 2.0}, {"expired": 9.0, "evicted": 2.0}):
        await stage.gathering.round()
        stage.process.forgotten = dict(told)
    await stage.gathering.round()
    stage.process.restart()
    stage.process.forgotten = {"evicted": 1.0}
    await stage.gathering.round()

    forgotten = [event for event in stage.events if isinstance(event, MeaningForgotten)]
    assert forgotten == [
        MeaningForgotten("expired", 2),
        MeaningForgotten("evicted", 2),
        MeaningForgotten("evicted", 1),
    ]


async def test_of_several_workers_one_counts() -> None:
    stage = Stage(counts=False)
    await stage.gathering.round()
    stage.process.forgotten = {"expired": 7.0}
    await stage.gathering.round()

    assert not [event for event in stage.events if isinstance(event, MeaningForgotten)]


@pytest.mark.parametrize("away", ["process", "fleet"])
async def test_what_is_away_is_waited_for(away: str) -> None:
    stage = Stage()
    await stage.gathering.round()
    stage.process.restart()
    stage.process.away = away == "process"
    stage.fleet.down = away == "fleet"
    async with stage.running():
        await stage.spend(3)
        stage.process.away = stage.fleet.down = False
        stage.fleet.told = [entry("theirs", question=ASKED)]
        await stage.spend(3)

    assert stage.process.known == [*(one.key for one in STORED), key("theirs")]
    assert any(isinstance(event, TierFailed) for event in stage.events)


async def test_a_process_that_has_not_come_up_yet_is_no_failure() -> None:
    stage = Stage()
    stage.process.away = True
    async with stage.running():
        await stage.spend(3)

    assert stage.events == [TierKnown("semantic", False)]


async def test_a_process_that_can_learn_nothing_is_not_told_all_without_a_pause() -> None:
    """Its index may be away for hours, and the whole disk tier is read each time."""
    stage = Stage()
    stage.process.full = True
    async with stage.running():
        await stage.spend(40)

    assert stage.process.tried == 2
