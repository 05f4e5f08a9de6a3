"""Waiting for a turn: given, turned away, or over after a while, whatever comes in between."""

from __future__ import annotations

import asyncio

import pytest

from proxy.waiting import Ousted, Waiting
from tests.fakes import FakeClock, settle


class OustedError(Exception):
    """Why somebody may not wait."""


class Room:
    def __init__(self, limit: int = 10, patience: float = 10.0) -> None:
        self.clock = FakeClock()
        self.back: list[int] = []
        self.waiting = Waiting[str, int](
            limit, patience, self.clock, ousted=self.ousted, back=self.back.append
        )

    def ousted(self, reason: Ousted) -> Exception:
        return OustedError(reason)

    def come(self, wish: str) -> asyncio.Task[int]:
        return asyncio.create_task(self.waiting.wait(wish[:1].encode(), wish))

    def give(self, number: int) -> bool:
        return self.waiting.give(lambda _: True, lambda _: number)


async def test_who_fits_is_given_what_was_made_for_it() -> None:
    room = Room()
    one, two = room.come("a1"), room.come("b2")
    await settle()

    assert room.waiting.give(lambda wish: wish == "b2", lambda wish: int(wish[1:]))
    assert await two == 2
    assert list(room.waiting) == ["a1"]
    one.cancel()


async def test_nothing_is_made_where_nobody_waits() -> None:
    made: list[str] = []

    assert not Room().waiting.give(lambda _: True, lambda wish: len(made))


async def test_who_is_turned_away_is_told_why_and_the_others_wait_on() -> None:
    room = Room()
    one, two = room.come("a1"), room.come("b2")
    await settle()
    room.waiting.turn_away(lambda wish: OustedError("no") if wish == "a1" else None)

    with pytest.raises(OustedError, match="no"):
        await one
    assert room.give(7)
    assert await two == 7


async def test_what_was_given_to_who_left_comes_back() -> None:
    room = Room()
    one = room.come("a1")
    await settle()
    room.give(7)
    one.cancel()
    await settle()

    assert room.back == [7]


async def test_who_left_and_could_not_say_so_is_passed_over() -> None:
    room = Room()
    one, two = room.come("a1"), room.come("b2")
    await settle()
    one.cancel()
    room.give(7)

    assert await two == 7
    assert room.back == []


async def test_who_comes_in_the_moment_the_last_one_is_served_does_not_wait_for_ever() -> None:
    room = Room()
    one = room.come("a1")
    await settle()
    room.clock.advance(10.0)  # the sweeper wakes first and finds nobody
    two = room.come("b2")
    room.give(7)
    assert await one == 7
    await settle()
    room.clock.advance(10.1)
    await settle()

    assert two.done()
    with pytest.raises(OustedError, match="queue_timeout"):
        await two


async def test_nothing_runs_while_nobody_waits() -> None:
    room = Room()
    one = room.come("a1")
    await settle()
    room.give(7)
    await one
    await settle()

    assert len(asyncio.all_tasks()) == 1
