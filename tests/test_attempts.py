"""The semantic process asked in time, or not at all."""

from __future__ import annotations

import asyncio

import pytest

from proxy.attempts import Attempts
from proxy.core.events import TierFailed, TierTurned
from proxy.ports import SemanticAbsentError, SemanticError, StoreError
from tests.fakes import FakeClock, settle


async def test_no_more_is_asked_than_can_be_answered_in_time() -> None:
    """And that was nobody's failure."""
    events: list[object] = []
    attempts, door = Attempts("semantic", FakeClock(), events.append), asyncio.Event()
    asked: list[int] = []

    async def work() -> str:
        asked.append(1)
        await door.wait()
        return "answer"

    tasks = [asyncio.create_task(attempts.look(work, 3.0)) for _ in range(1_100)]
    await settle()
    assert len(asked) == 1_000
    door.set()
    got = await asyncio.gather(*tasks)

    assert got.count("answer") == 1_000
    assert got.count(None) == 100
    assert not [event for event in events if isinstance(event, TierFailed)]
    assert await attempts.look(work, 3.0) == "answer"


async def test_who_gives_up_makes_room() -> None:
    attempts = Attempts("semantic", FakeClock(), lambda event: None)

    async def never() -> None:
        await asyncio.Event().wait()

    async def at_once() -> str:
        return "answer"

    for _ in range(3):
        task = asyncio.create_task(attempts.look(never, 60.0))
        await asyncio.sleep(0)
        assert await attempts.look(at_once, 0.003) is None
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert await attempts.look(at_once, 0.003) == "answer"


class Process:
    """What is asked, until it is there."""

    def __init__(self) -> None:
        self.error: Exception | None = SemanticAbsentError("FileNotFoundError")

    async def work(self) -> str:
        if self.error is not None:
            raise self.error
        return "answer"


async def test_a_process_that_is_starting_is_no_failure_and_asked_each_time() -> None:
    events: list[object] = []
    clock, process = FakeClock(), Process()
    attempts = Attempts("semantic", clock, events.append)
    starting = [attempts.starting]
    for _ in range(50):
        assert await attempts.look(process.work, 1.0) is None
        clock.advance(1.0)
    starting.append(attempts.starting)
    process.error = None

    assert await attempts.look(process.work, 1.0) == "answer"
    assert [*starting, attempts.starting] == [False, True, False]
    assert events == []


async def test_one_that_is_not_there_after_a_minute_has_failed() -> None:
    events: list[object] = []
    clock, process = FakeClock(), Process()
    attempts = Attempts("semantic", clock, events.append)
    await attempts.look(process.work, 1.0)
    clock.advance(60.0)
    for _ in range(9):
        await attempts.look(process.work, 1.0)

    assert not attempts.starting
    assert events.count(TierFailed("semantic", "get", "FileNotFoundError")) == 5
    assert events[-1] == TierTurned("semantic", False, "FileNotFoundError")


async def test_one_that_could_not_do_it_is_not_starting() -> None:
    events: list[object] = []
    clock, process = FakeClock(), Process()
    attempts = Attempts("semantic", clock, events.append)
    await attempts.look(process.work, 1.0)
    process.error = SemanticError("busy")
    await attempts.look(process.work, 1.0)

    assert not attempts.starting
    assert events == [TierFailed("semantic", "get", "busy")]


@pytest.mark.parametrize("answer", [None, "an answer"])
async def test_where_an_answer_is_needed_none_at_all_is_told_from_one(answer: str | None) -> None:
    async def work() -> str | None:
        return answer

    attempts = Attempts("semantic", FakeClock(), lambda event: None)

    assert await attempts.need("get", work, 1.0) == answer
    with pytest.raises(StoreError):
        await attempts.need("get", Process().work, 1.0)
