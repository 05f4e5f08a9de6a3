"""What warming has cost: never more than a day's money, whoever spends it and whoever restarts."""

from __future__ import annotations

import fcntl
import os
from itertools import count
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.adapters.ledger import Ledger
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

HOUR, DAY = 3600.0, 86400.0
numbers = count()


@given(
    steps=st.lists(st.tuples(st.floats(0, 9 * HOUR), st.floats(0, 60), st.booleans()), max_size=40)
)
def test_no_day_costs_more(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[float, float, bool]]
) -> None:
    """Two workers, each of which may be restarted at any time."""
    path, clock = tmp_path_factory.getbasetemp() / f"ledger{next(numbers)}", FakeClock()
    workers = [Ledger(path, 100.0, clock) for _ in range(2)]
    spent = []
    for number, (pause, amount, restarted) in enumerate(steps):
        clock.advance(pause)
        if restarted:
            workers[number % 2].close()
            workers[number % 2] = Ledger(path, 100.0, clock)
        if workers[number % 2].take(amount, clock.mono()):
            spent.append((clock.now(), amount))
    for one in workers:
        one.close()

    for start, _ in spent:
        assert sum(money for at, money in spent if start <= at <= start + DAY) <= 100.001


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def test_what_was_spent_may_be_spent_again_after_a_day_and_an_hour(
    tmp_path: Path, clock: FakeClock
) -> None:
    ledger = Ledger(tmp_path / "below" / "warming", 1.0, clock)
    first = ledger.take(1.0, 0.0)
    clock.advance(DAY)
    second = ledger.take(0.01, 0.0)
    clock.advance(HOUR)
    third = ledger.take(1.0, 0.0)
    ledger.close()

    assert (first, second, third) == (True, False, True)


def test_what_is_owed_counts_for_all(tmp_path: Path, clock: FakeClock) -> None:
    one, other = (Ledger(tmp_path / "warming", 1.0, clock) for _ in range(2))
    one.owe(0.9, 0.0)
    left = other.left(0.0)
    one.owe(5.0, 0.0)

    assert left == pytest.approx(0.1)
    assert (one.left(0.0), other.left(0.0), other.take(0.01, 0.0)) == (0.0, 0.0, False)
    one.close()
    other.close()


def test_a_clock_that_goes_back_frees_nothing(tmp_path: Path, clock: FakeClock) -> None:
    ledger = Ledger(tmp_path / "warming", 1.0, clock)
    ledger.take(1.0, 0.0)
    clock.advance(-3 * HOUR)
    back = ledger.take(0.01, 0.0)
    clock.advance(-40 * HOUR)

    assert not back
    assert not ledger.take(0.01, 0.0)
    ledger.close()


def test_while_another_writes_there_is_no_money_and_no_debt_is_forgotten(
    tmp_path: Path, clock: FakeClock
) -> None:
    """It may be frozen: nobody waits for it."""
    path = tmp_path / "warming"
    ledger, held = Ledger(path, 1.0, clock), os.open(path, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    refused = ledger.take(0.1, 0.0), ledger.left(0.0)
    ledger.owe(0.95, 0.0)
    os.close(held)

    assert refused == (False, 0.0)
    assert ledger.left(0.0) == pytest.approx(0.05)
    assert not ledger.take(0.1, 0.0)
    ledger.close()


def test_what_is_free_needs_no_file(tmp_path: Path, clock: FakeClock) -> None:
    """Engines of ours are warmed whatever becomes of it."""
    path = tmp_path / "warming"
    ledger, held = Ledger(path, 0.0, clock), os.open(path, os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)

    assert ledger.take(0.0, 0.0)
    os.close(held)
    ledger.close()
