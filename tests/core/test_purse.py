"""A budget holds in every stretch of time, whatever is asked for and in which order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.purse import DAY, MINUTE, Allowance, Purse

LIMIT, SPAN = 100.0, 60.0
asked = st.lists(st.tuples(st.floats(0, 50), st.floats(0, 120)), max_size=60)
"""Seconds since the one before, and an amount."""


@given(asked)
def test_no_stretch_of_time_costs_more_than_the_limit(steps: list[tuple[float, float]]) -> None:
    purse, mono, spent = Purse(LIMIT, SPAN), 0.0, []
    for pause, amount in steps:
        mono += pause
        if purse.take(amount, mono):
            spent.append((mono, amount))

    for start, _ in spent:
        within = sum(amount for at, amount in spent if start <= at <= start + SPAN)
        assert within <= LIMIT + 1e-4


@given(asked)
def test_what_is_owed_is_not_spent_again(steps: list[tuple[float, float]]) -> None:
    """After a debt nothing may be taken until it is older than the span."""
    purse, mono = Purse(LIMIT, SPAN), 0.0
    for pause, amount in steps:
        mono += pause
        purse.take(amount, mono)
    purse.owe(LIMIT, mono)

    assert purse.left(mono + SPAN - 0.1) == 0.0
    assert not purse.take(0.001, mono + SPAN - 0.1)


def test_what_was_refused_costs_nothing() -> None:
    purse = Purse(LIMIT, SPAN)

    assert not purse.take(LIMIT + 1, 0.0)
    assert purse.take(LIMIT, 0.0)
    assert not purse.take(0.01, SPAN - 1)


def test_what_was_spent_may_be_spent_again_a_little_after_the_span() -> None:
    purse = Purse(LIMIT, SPAN)
    purse.take(LIMIT, 0.0)

    assert purse.take(LIMIT, SPAN + purse.pause)


def test_small_sums_of_money_add_up() -> None:
    """Millionths, each rounded up: never less than was spent."""
    purse = Purse(0.001, SPAN)
    taken = sum(purse.take(0.0000015, 0.0) for _ in range(1000))

    assert taken == 500


def made(tokens: float, money: float) -> Allowance:
    return Allowance(Purse(tokens, MINUTE), Purse(money, DAY))


@pytest.mark.parametrize(
    ("tokens", "money", "free"), [(10, 1.0, True), (11, 0.5, False), (10, 1.1, False)]
)
def test_an_allowance_is_spent_as_a_whole_or_not_at_all(
    tokens: int, money: float, free: bool
) -> None:
    allowance = made(10, 1.0)
    pause = allowance.take(tokens, money, 0.0)

    assert (pause == 0.0) == free
    assert allowance.tokens.left(0.0) == (10 - tokens if free else 10)
    assert allowance.money.left(0.0) == (1.0 - money if free else 1.0)


def test_without_a_budget_nothing_is_spent() -> None:
    assert made(0, 0.0).take(1, 0.0, 0.0) > 0
    assert made(1, 0.0).take(1, 0.01, 0.0) > 0
