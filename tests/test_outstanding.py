"""What a node was asked and has not answered: late, given up, or frozen in the middle."""

from __future__ import annotations

import asyncio
import time

import pytest

from proxy.outstanding import Outstanding
from proxy.ports import UpstreamError

SOON = 0.001
"""Seconds that are over before long."""


class Waiting:
    """Calls of one node, and whether it was told that one is late."""

    def __init__(self, *, frozen: float = 10.0) -> None:
        self.calls = Outstanding("a", frozen=frozen)
        self.calls.late = self._late
        self.told = asyncio.Event()
        self.ended = 0

    def _late(self) -> None:
        self.told.set()

    async def end(self) -> None:
        self.ended += 1


async def test_a_first_byte_that_does_not_come_is_late() -> None:
    them = Waiting()
    async with them.calls.waited_for(lambda: True, SOON):
        await them.told.wait()


async def test_one_that_comes_is_not() -> None:
    them = Waiting()
    async with them.calls.waited_for(lambda: True, SOON):
        pass
    await asyncio.sleep(20 * SOON)

    assert not them.told.is_set()


async def test_nothing_is_late_while_the_node_is_busy_with_others() -> None:
    """Then it is late once nothing comes for as long."""
    them, loop = Waiting(), asyncio.get_running_loop()
    async with them.calls.waited_for(lambda: True, SOON):
        until = loop.time() + 20 * SOON
        while loop.time() < until:
            them.calls.heard += 1
            await asyncio.sleep(0)
        assert not them.told.is_set()
        await them.told.wait()


def stand_still() -> None:
    time.sleep(0.15)


async def test_nothing_is_late_by_the_time_that_we_stood_still() -> None:
    """What came meanwhile was not read yet."""
    them = Waiting()
    async with them.calls.waited_for(lambda: True, SOON):
        stand_still()
        await asyncio.sleep(0)
        assert not them.told.is_set()
        await them.told.wait()


async def test_a_call_that_was_cancelled_is_not_late() -> None:
    them = Waiting()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), them.calls.waited_for(lambda: True, SOON):
            await asyncio.Event().wait()
    await asyncio.sleep(20 * SOON)

    assert not them.told.is_set()
    assert repr(them.calls) == "<Outstanding 0 unbegun, 0 begun>"


async def test_what_another_could_answer_is_given_up_and_the_rest_is_not() -> None:
    them, here = Waiting(), asyncio.Event()

    async def asked(*, elsewhere: bool) -> str:
        try:
            async with them.calls.waited_for(lambda: elsewhere):
                await here.wait()
        except UpstreamError as error:
            return error.kind
        return "answered"

    tasks = [asyncio.create_task(asked(elsewhere=one)) for one in (True, False)]
    await asyncio.sleep(0)
    them.calls.give_up()
    assert await tasks[0] == "ejected"
    here.set()

    assert await tasks[1] == "answered"


@pytest.mark.parametrize(
    ("frozen", "silent", "elsewhere", "ended"),
    [
        (10.0, 9.9, True, 0),
        (10.0, 10.0, True, 1),
        (10.0, 60.0, False, 0),
        (0.0, 1e9, True, 0),
    ],
)
async def test_what_has_begun_ends_after_enough_silence_where_another_is_well(
    frozen: float, silent: float, elsewhere: bool, ended: int
) -> None:
    them = Waiting(frozen=frozen)
    them.calls.begun(them.end, lambda: elsewhere)
    await them.calls.silent_for(silent)

    assert them.ended == ended


async def test_what_was_answered_is_not_ended() -> None:
    them = Waiting()
    them.calls.begun(them.end, lambda: True)
    them.calls.ended(them.end)
    await them.calls.silent_for(60.0)

    assert them.ended == 0
