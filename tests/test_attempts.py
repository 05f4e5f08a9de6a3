"""The semantic process asked in time, or not at all."""

from __future__ import annotations

import asyncio

from proxy.attempts import Attempts
from proxy.core.events import TierFailed
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
