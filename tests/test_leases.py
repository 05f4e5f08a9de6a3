"""What leases promise, for LMDB and for the fake; and what becomes of workers that die."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.adapters.clock import SystemClock
from proxy.adapters.leases import PATIENCE, RENEW_EVERY, Board, Leases, NoLeases, leased
from proxy.core.events import TierFailed
from proxy.core.lease import TERM
from tests.fakes import FakeClock, FakeLeases
from tests.offspring import Offspring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from proxy.core.events import Event

NAME = b"n" * 40
Workers: TypeAlias = "Callable[[str], Leases | FakeLeases]"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@contextmanager
def competing(kind: str, clock: FakeClock) -> Iterator[Workers]:
    """Makes workers that compete with each other."""
    if kind == "fake":
        shared: dict[bytes, tuple[str, float]] = {}
        yield lambda address: FakeLeases(shared, address, clock)
        return
    with tempfile.TemporaryDirectory() as directory:
        board, made = Board(directory), list[Leases]()

        def make(address: str) -> Leases:
            made.append(Leases(board, address, clock=clock, emit=lambda _: None))
            return made[-1]

        yield make
        assert all(leases.close() for leases in made)
        board.close()


@pytest.fixture(params=["lmdb", "fake"])
def worker(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Workers]:
    with competing(request.param, clock) as make:
        yield make


async def test_the_first_to_ask_has_it_and_the_others_learn_who(worker: Workers) -> None:
    a, b = worker("a"), worker("b")

    assert await a.acquire(NAME) == 0
    assert await b.acquire(NAME) == "a"
    assert await b.acquire(b"other") == 0


async def test_what_was_given_back_goes_to_the_next(worker: Workers) -> None:
    a, b = worker("a"), worker("b")
    await a.acquire(NAME)
    await a.release(NAME)

    assert await b.acquire(NAME) == 0
    assert await a.acquire(NAME) == "b"


async def test_giving_back_takes_nothing_from_others(worker: Workers) -> None:
    a, b = worker("a"), worker("b")
    await a.acquire(NAME)
    await b.release(NAME)

    assert await b.acquire(NAME) == "a"


async def test_a_worker_that_is_silent_for_a_term_is_replaced(
    worker: Workers, clock: FakeClock
) -> None:
    a, b = worker("a"), worker("b")
    await a.acquire(NAME)
    clock.advance(TERM - 0.01)
    assert await b.acquire(NAME) == "a"
    clock.advance(0.02)

    assert await b.acquire(NAME) == 0


async def test_a_living_worker_keeps_what_it_renews(worker: Workers, clock: FakeClock) -> None:
    a, b = worker("a"), worker("b")
    await a.acquire(NAME)
    for _ in range(20):
        clock.advance(RENEW_EVERY)
        await a.renew()

    assert await b.acquire(NAME) == "a"


@pytest.mark.parametrize("renewing", [True, False])
async def test_a_late_release_leaves_the_successors_lease_alone(
    worker: Workers, clock: FakeClock, renewing: bool
) -> None:
    a, b, c = worker("a"), worker("b"), worker("c")
    await a.acquire(NAME)
    clock.advance(TERM + 0.1)
    await b.acquire(NAME)
    if renewing:
        await a.renew()
    await a.release(NAME)

    assert await c.acquire(NAME) == "b"


async def test_a_worker_that_came_back_under_its_old_address_may_fly(worker: Workers) -> None:
    before, after = worker("a"), worker("a")
    await before.acquire(NAME)

    assert await after.acquire(NAME) == 0


async def test_the_late_release_of_a_worker_that_came_back_leaves_its_new_lease_alone(
    worker: Workers, clock: FakeClock
) -> None:
    """Of the same address, so that only the token tells the two apart."""
    before, after, other = worker("a"), worker("a"), worker("b")
    await before.acquire(NAME)
    clock.advance(0.1)
    await after.acquire(NAME)
    await before.release(NAME)

    assert await other.acquire(NAME) == "a"


async def test_of_many_that_ask_at_once_one_has_it(worker: Workers) -> None:
    workers = [worker(str(n)) for n in range(8)]
    owners = await asyncio.gather(*(one.acquire(NAME) for one in workers))

    winners = [n for n, owner in enumerate(owners) if owner == 0]
    assert len(winners) == 1
    assert set(owners) == {0, str(winners[0])}


actions = st.sampled_from(["acquire", "release", "renew", "wait"])
moves = st.lists(st.tuples(actions, st.integers(0, 2), st.integers(0, 1)), max_size=40)


@pytest.mark.parametrize("kind", ["lmdb", "fake"])
@settings(max_examples=40)
@given(moves=moves)
def test_never_do_two_workers_have_it(kind: str, moves: list[tuple[str, int, int]]) -> None:
    """Whoever was told to fly flies alone until it gives back or its term is over."""
    clock = FakeClock()
    with competing(kind, clock) as make:
        asyncio.run(play([make(str(n)) for n in range(3)], clock, moves))


async def play(
    workers: list[Leases | FakeLeases], clock: FakeClock, moves: list[tuple[str, int, int]]
) -> None:
    until: dict[int, tuple[int, float]] = {}
    for move, who, what in moves:
        holder, end = until.get(what, (who, 0.0))
        if move == "acquire":
            taken = holder != who and end > clock.mono()
            assert await workers[who].acquire(bytes([what])) == (str(holder) if taken else 0)
            if not taken:
                until[what] = (who, clock.mono() + TERM)
        elif move == "release":
            await workers[who].release(bytes([what]))
            if holder == who:
                until.pop(what, None)
        elif move == "renew":
            await workers[who].renew()
            renewed = (who, clock.mono() + TERM)
            until |= {name: renewed for name, (owner, _) in until.items() if owner == who}
        else:
            clock.advance(0.3 * who)


# LMDB alone.


async def test_the_loop_renews(tmp_path: Path, clock: FakeClock) -> None:
    board = Board(tmp_path)
    a, b = (Leases(board, name, clock=clock, emit=lambda _: None) for name in "ab")
    await a.acquire(NAME)
    async with asyncio.TaskGroup() as group:
        loop = group.create_task(a.run())
        for _ in range(20):
            await asyncio.sleep(0)
            clock.advance(RENEW_EVERY)
            # The loop's change and this one stand in line for the same thread.
            await a.acquire(b"another")
        loop.cancel()

    assert await b.acquire(NAME) == "a"
    assert a.close()
    assert b.close()
    board.close()


async def test_what_dead_workers_left_is_swept(tmp_path: Path, clock: FakeClock) -> None:
    board = Board(tmp_path)
    a = Leases(board, "a", clock=clock, emit=lambda _: None)
    for n in range(100):
        await a.acquire(bytes([n]) * 40)
    for n in range(1, 100):
        a._held.pop(bytes([n]) * 40)
    clock.advance(1.0)
    await a.renew()
    clock.advance(1.0)
    await a.sweep()

    assert board.env.stat()["entries"] == 2  # the one held, and the token
    assert list(a._held) == [b"\0" * 40]
    assert a.close()
    board.close()


async def test_a_lease_of_the_boot_before_is_void(tmp_path: Path) -> None:
    """The monotonic clock starts anew with the machine."""
    board = Board(tmp_path)
    before = Leases(board, "a", clock=FakeClock(mono=500_000.0), emit=lambda _: None)
    await before.acquire(NAME)
    after = Leases(board, "b", clock=FakeClock(mono=60.0), emit=lambda _: None)

    assert await after.acquire(NAME) == 0
    assert before.close()
    assert after.close()
    board.close()


async def test_a_file_that_cannot_be_read_is_made_anew(tmp_path: Path, clock: FakeClock) -> None:
    (tmp_path / "data.mdb").write_bytes(b"garbage" * 2000)
    board = Board(tmp_path)
    a = Leases(board, "a", clock=clock, emit=lambda _: None)

    assert await a.acquire(NAME) == 0
    assert list(a._held) == [NAME]
    assert a.close()
    board.close()


HOLDS = """
import asyncio, sys
from proxy.adapters.clock import SystemClock
from proxy.adapters.leases import Board, Leases

async def main():
    leases = Leases(Board(sys.argv[1]), "child", clock=SystemClock(), emit=print)
    assert await leases.acquire(b"n" * 40) == 0
    print("holding", flush=True)
    await leases.run()

asyncio.run(main())
"""

FREEZES = """
import sys
from proxy.adapters.leases import Board

txn = Board(sys.argv[1]).env.begin(write=True)
print("holding", flush=True)
sys.stdin.read()
"""


async def test_a_killed_worker_is_replaced_within_two_seconds(tmp_path: Path) -> None:
    clock, board = SystemClock(), Board(tmp_path)
    mine = Leases(board, "me", clock=clock, emit=lambda _: None)
    with Offspring(HOLDS, tmp_path) as child:
        assert child.line() == "holding"
        until = clock.mono() + TERM + 0.3
        while clock.mono() < until:
            assert await mine.acquire(NAME) == "child"
            await clock.sleep(0.1)
        child.kill()
        killed = clock.mono()
        while await mine.acquire(NAME) != 0:
            await clock.sleep(0.02)

    assert clock.mono() - killed < 2.0
    assert mine.close()
    board.close()


async def test_a_worker_frozen_in_a_write_makes_the_others_fly_alone(tmp_path: Path) -> None:
    """And once it is gone, leases work again."""
    events: list[Event] = []
    clock, board = SystemClock(), Board(tmp_path)
    mine = Leases(board, "me", clock=clock, emit=events.append)
    with Offspring(FREEZES, tmp_path) as child:
        assert child.line() == "holding"
        child.freeze()
        start = clock.mono()
        alone = [await mine.acquire(bytes([n]) * 40) for n in range(10)]
        waited = clock.mono() - start
        child.kill()
    assert alone == [0] * 10
    assert waited < 2 * PATIENCE
    assert events[0] == TierFailed("leases", "put")

    while NAME not in mine._held:
        await mine.acquire(NAME)
        await asyncio.sleep(0.01)
    assert mine.close()
    board.close()


async def test_a_single_worker_always_flies() -> None:
    leases = NoLeases()
    await leases.release(NAME)

    assert await leases.acquire(NAME) == 0


async def test_where_no_lease_can_be_kept_everyone_flies_alone(
    tmp_path: Path, clock: FakeClock
) -> None:
    (tmp_path / "leases").write_bytes(b"in the way")
    events: list[Event] = []
    leases = leased(tmp_path / "leases", "a", clock=clock, emit=events.append)

    assert isinstance(leases, NoLeases)
    assert events == [TierFailed("leases", "open", "FileExistsError")]
