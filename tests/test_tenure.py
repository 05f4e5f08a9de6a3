"""Leases that outlive their use for a while."""

from __future__ import annotations

import asyncio

from proxy.tenure import Tenure
from tests.fakes import FakeClock, FakeLeases, settle

NAME = b"n"


class SlowLeases(FakeLeases):
    """Giving back takes until the door is opened."""

    def __init__(self, board: dict[bytes, tuple[str, float]], clock: FakeClock) -> None:
        super().__init__(board, "one", clock, term=1e6)
        self.door = asyncio.Event()

    async def release(self, name: bytes) -> None:
        await self.door.wait()
        await super().release(name)


def pair() -> tuple[FakeClock, Tenure, Tenure]:
    """Two workers, and their time."""
    clock, board = FakeClock(), dict[bytes, tuple[str, float]]()
    both = [Tenure(FakeLeases(board, name, clock, term=1e6), clock) for name in ("one", "other")]
    return clock, both[0], both[1]


async def test_what_one_worker_holds_another_cannot_take() -> None:
    clock, one, other = pair()
    taken = await one.take(NAME), await other.take(NAME)
    clock.advance(3600)
    await one.settle()

    assert taken == (True, False)
    assert not await other.take(NAME)
    assert await one.take(NAME)


async def test_it_is_given_back_after_a_while_and_not_before() -> None:
    clock, one, other = pair()
    await one.take(NAME)
    one.leave(NAME, 2.0)
    clock.advance(1.9)
    await one.settle()
    early = await other.take(NAME)
    clock.advance(0.1)
    await one.settle()

    assert not early
    assert await other.take(NAME)


async def test_one_lease_may_outlast_another() -> None:
    clock, one, other = pair()
    await one.take(b"long", 60.0)
    await one.take(b"short", 1.0)
    clock.advance(2)
    await one.settle()

    assert [await other.take(name) for name in (b"long", b"short")] == [False, True]


async def test_whose_store_is_down_holds_all_it_wants() -> None:
    clock = FakeClock()
    leases = FakeLeases({b"n": ("other", 1e9)}, "one", clock)
    leases.failing = True

    assert await Tenure(leases, clock).take(NAME)


async def test_what_is_just_being_given_back_is_nobodys() -> None:
    """Taken in that moment, it would be held here without a lease, and by another with one."""
    clock, board = FakeClock(), dict[bytes, tuple[str, float]]()
    leases = SlowLeases(board, clock)
    one, other = Tenure(leases, clock), Tenure(FakeLeases(board, "other", clock, term=1e6), clock)
    await one.take(NAME, 1.0)
    clock.advance(2)
    task = asyncio.create_task(one.settle())
    await settle()
    meanwhile = await one.take(NAME), await other.take(NAME)
    leases.door.set()
    await task

    assert meanwhile == (False, False)
    assert [await other.take(NAME), await one.take(NAME)] == [True, False]


async def test_what_is_taken_again_while_another_is_given_back_stays() -> None:
    clock, board = FakeClock(), dict[bytes, tuple[str, float]]()
    leases = SlowLeases(board, clock)
    one, other = Tenure(leases, clock), Tenure(FakeLeases(board, "other", clock, term=1e6), clock)
    for name in (b"first", b"second"):
        await one.take(name, 1.0)
    clock.advance(2)
    task = asyncio.create_task(one.settle())
    await settle()
    assert await one.take(b"second", 60.0)
    leases.door.set()
    await task

    assert [await other.take(name) for name in (b"first", b"second")] == [True, False]
