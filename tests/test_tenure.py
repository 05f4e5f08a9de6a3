"""Leases that outlive their use for a while."""

from __future__ import annotations

from proxy.tenure import Tenure
from tests.fakes import FakeClock, FakeLeases

NAME = b"n"


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
