"""How often something is expected: by what came lately, and by the hours of the days before."""

from __future__ import annotations

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.uses import Uses

HOUR, DAY = 3600.0, 86400.0
MIDNIGHT = 20_000 * DAY


def used(*times: float) -> Uses:
    made = Uses()
    for time in times:
        made.note(time)
    return made


def test_what_was_never_used_is_not_expected() -> None:
    assert Uses().rate(MIDNIGHT) == 0.0


@pytest.mark.parametrize(("since", "left"), [(0.0, 1.0), (600.0, 0.5), (1200.0, 0.25)])
def test_a_use_counts_half_after_ten_minutes(since: float, left: float) -> None:
    """At an hour of the day that had none."""
    made = used(*[MIDNIGHT + 60] * 8)

    expected = 8 * left * log(2) / 600
    assert made.rate(MIDNIGHT + 60 + since, ahead=12 * HOUR) == pytest.approx(expected)


@pytest.mark.parametrize(("times", "chance"), [(1, 0.293), (2, 0.5), (3, 0.646), (8, 0.9375)])
def test_after_some_uses_one_more_is_likely_within_five_minutes(times: int, chance: float) -> None:
    rate = used(*[MIDNIGHT] * times).rate(MIDNIGHT, ahead=12 * HOUR)

    assert 1 - exp(-rate * 300) == pytest.approx(chance, abs=0.001)


@pytest.mark.parametrize(("since", "counted"), [(0.0, 8.0), (3600.0, 8.0), (3601.0, 0.125)])
def test_uses_of_which_nothing_is_left_are_expected_again(since: float, counted: float) -> None:
    """All of them at once; but not what ended before."""
    made = used(*[MIDNIGHT + 60] * 8)
    now = MIDNIGHT + 60 + since
    for _ in range(2):
        made.again(now, within=3600.0)

    expected = counted * log(2) / 600
    assert made.rate(now, ahead=12 * HOUR) == pytest.approx(expected, rel=0.01)
    assert made.count == 8


def test_a_steady_rate_is_seen_as_it_is() -> None:
    made = used(*[MIDNIGHT + 10 * at for at in range(20 * 360)])

    assert made.rate(MIDNIGHT + 20 * HOUR) == pytest.approx(0.1, rel=0.02)


def test_an_hour_of_the_day_is_expected_before_it_begins() -> None:
    """For a fortnight 60 uses between nine and ten, and none at other times."""
    made = used(*[MIDNIGHT + d * DAY + 9 * HOUR + 60 * at for d in range(14) for at in range(60)])
    early = MIDNIGHT + 14 * DAY + 9 * HOUR - 30

    assert made.rate(early) < 1e-5
    assert made.rate(early, ahead=60) == pytest.approx(60 / HOUR, rel=0.01)


def test_an_hour_that_is_no_longer_used_fades_by_half_a_day() -> None:
    made = used(*[MIDNIGHT + 9 * HOUR + at for at in range(60)])
    next_day = made.rate(MIDNIGHT + DAY + 8.9 * HOUR, ahead=HOUR / 2)

    assert next_day == pytest.approx(30 / HOUR)
    assert made.rate(MIDNIGHT + 3 * DAY + 8.9 * HOUR, ahead=HOUR / 2) == pytest.approx(7.5 / HOUR)


@given(st.lists(st.floats(0, 40 * DAY), max_size=30), st.floats(0, 50 * DAY))
def test_no_order_of_times_makes_it_negative_or_endless(times: list[float], now: float) -> None:
    """Clocks go back."""
    rate = used(*times).rate(now)

    assert 0.0 <= rate <= (len(times) + 1) * log(2) / 600
