"""What runs behind the requests of a worker."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from proxy.core.events import TierFailed
from proxy.worker import kept_up
from tests.fakes import FakeClock, settle

if TYPE_CHECKING:
    from proxy.core.events import Event


async def test_a_loop_that_meets_what_it_did_not_expect_begins_again() -> None:
    """In one task group with all others it would end the worker, and every request with it."""
    clock = FakeClock()
    told: list[Event] = []
    rounds: list[float] = []

    async def loop() -> None:
        rounds.append(clock.mono())
        raise TypeError("bytes that nobody of ours wrote")

    running = asyncio.create_task(kept_up(loop, clock, told.append))
    await settle()
    clock.advance(1.0)
    await settle()

    assert rounds == [1000.0, 1001.0]
    assert told == [TierFailed("worker", "loop", "TypeError")] * 2
    running.cancel()


async def test_a_loop_that_has_nothing_to_do_ends() -> None:
    async def loop() -> None:
        pass

    await kept_up(loop, FakeClock(), lambda event: None)
