"""What the semantic process is told of, and told again."""

from __future__ import annotations

import asyncio

from proxy import telling
from proxy.attempts import Attempts
from proxy.core.entry import Question
from proxy.telling import Telling
from tests.fakes import FakeClock, FakeSemantic
from tests.stored import entry, key

ASKED = Question(key("scope"), "how do I get a refund")


class Stage:
    def __init__(self) -> None:
        self.semantic, self.clock = FakeSemantic(), FakeClock()
        attempts = Attempts("semantic", self.clock, lambda event: None)
        self.telling = Telling(self.semantic, attempts)

    async def tell(self, *names: object) -> None:
        for name in names:
            await self.telling.tell(entry(name, question=ASKED))

    async def again(self) -> None:
        """When another attempt is due."""
        self.clock.advance(2)
        await self.telling.again()


async def test_what_was_told_is_told_once() -> None:
    stage = Stage()
    await stage.tell("a", "b")

    assert not stage.telling.due
    await stage.again()
    assert stage.semantic.told == [1, 1]


async def test_what_was_stored_while_it_was_away_is_told_afterwards() -> None:
    """Also what was not even tried, for it had failed too often; and without the answers' texts."""
    stage = Stage()
    stage.semantic.fails = True
    await stage.tell(*range(40))
    stage.semantic.fails = False
    await stage.again()

    assert stage.semantic.told == [16, 16, 8]
    assert set(stage.semantic.known) == {key(number) for number in range(40)}
    assert not stage.telling.due
    assert {one.body for one in stage.semantic.known.values()} == {b""}


async def test_while_it_is_still_away_the_first_attempt_is_the_last() -> None:
    stage = Stage()
    stage.semantic.fails = True
    await stage.tell(*range(40))
    await stage.again()
    stage.semantic.fails = False
    await stage.again()

    assert len(stage.semantic.known) == 40


async def test_what_has_no_vector_is_told_again_but_not_for_ever() -> None:
    stage = Stage()
    stage.semantic.blind = True
    await stage.tell("a")
    for _ in range(10):
        await stage.again()

    assert stage.semantic.told == [1, 1, 1, 1]


async def test_what_is_gone_or_told_anew_is_not_told_again() -> None:
    stage = Stage()
    stage.semantic.fails = True
    await stage.tell("gone", "renewed")
    stage.semantic.fails = False
    stage.telling.gone(key("gone"))
    await stage.tell("renewed")

    assert not stage.telling.due


async def test_only_so_many_wait() -> None:
    stage = Stage()
    stage.semantic.fails = True
    await stage.tell(*range(telling.LIMIT + 1))
    stage.semantic.fails = False
    await stage.again()

    assert len(stage.semantic.known) == telling.LIMIT
    assert key(0) not in stage.semantic.known


async def test_two_tell_each_of_it_once() -> None:
    stage = Stage()
    stage.semantic.fails = True
    await stage.tell(*range(20))
    stage.semantic.fails = False
    stage.clock.advance(2)
    await asyncio.gather(stage.telling.again(), stage.telling.again())

    assert stage.semantic.told == [16, 4]


async def test_what_others_told_it_and_it_missed_is_told_again() -> None:
    stage = Stage()
    stage.telling.missed([entry(number, question=ASKED) for number in range(20)])
    await stage.again()

    assert stage.semantic.told == [16, 4]
    assert not stage.telling.due
    assert {one.body for one in stage.semantic.known.values()} == {b""}


async def test_no_more_of_that_is_kept_than_there_is_room_for() -> None:
    stage = Stage()
    entries = [entry(number, question=ASKED) for number in range(telling.LIMIT + 9)]
    stage.telling.missed(entries)
    await stage.again()

    assert set(stage.semantic.known) == {one.key for one in entries[9:]}
