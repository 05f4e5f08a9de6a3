"""Bounds on a share: against known values, and their laws."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.bound import at_most, lower, needed, upper


@st.composite
def counts(draw: st.DrawFn) -> tuple[int, int]:
    """Wrong ones, and all."""
    count = draw(st.integers(1, 5000))
    return draw(st.integers(0, count)), count


@pytest.mark.parametrize(
    ("wrong", "count", "confidence", "least", "most"),
    [
        (0, 1, 0.95, 0.0, 0.95),
        (1, 1, 0.95, 0.05, 1.0),
        (0, 299, 0.95, 0.0, 0.009969147),
        (0, 298, 0.95, 0.0, 0.010002432),
        (1, 100, 0.95, 0.000512801, 0.046559811),
        (5, 1000, 0.9, 0.002434501, 0.009254858),
        (17, 400, 0.99, 0.02243734, 0.072146679),
        (250, 500, 0.95, 0.46229231, 0.53770769),
        (3, 16384, 0.9995, 9.138e-06, 0.000850182),
        (9000, 10000, 0.95, 0.894928883, 0.904897987),
    ],
)
def test_the_bounds_are_the_quantiles_of_the_beta_distribution(
    wrong: int, count: int, confidence: float, least: float, most: float
) -> None:
    """The values are scipy 1.17's: `beta.ppf(1 - c, k, n - k + 1)`, `beta.ppf(c, k + 1, n - k)`."""
    assert lower(wrong, count, confidence) == pytest.approx(least, abs=1e-9)
    assert upper(wrong, count, confidence) == pytest.approx(most, abs=1e-9)


@pytest.mark.parametrize(("share", "count"), [(0.01, 299), (0.02, 149), (0.05, 59), (0.1, 29)])
def test_so_many_without_an_error_bear_95_percent(share: float, count: int) -> None:
    assert needed(share, 0.05) == count
    assert upper(0, count) <= share < upper(0, count - 1)


@pytest.mark.parametrize(("share", "count"), [(0.0, 1 << 32), (1e-12, 1 << 32), (1.0, 1)])
def test_no_labels_bear_a_share_of_nothing(share: float, count: int) -> None:
    assert needed(share, 0.05) >= count


@given(counts(), st.floats(0.0, 1.0))
def test_the_chance_is_the_sum_of_the_binomial_terms(
    counted: tuple[int, int], share: float
) -> None:
    wrong, count = counted
    count = min(count, 60)
    wrong = min(wrong, count)
    terms = (
        math.comb(count, k) * share**k * (1.0 - share) ** (count - k) for k in range(wrong + 1)
    )

    assert at_most(wrong, count, share) == pytest.approx(math.fsum(terms), abs=1e-12)


@given(counts(), st.floats(0.5, 0.9999))
def test_what_was_seen_lies_between_the_bounds(counted: tuple[int, int], at: float) -> None:
    wrong, count = counted

    assert 0.0 <= lower(wrong, count, at) <= wrong / count <= upper(wrong, count, at) <= 1.0


@given(counts(), st.floats(0.5, 0.9999))
def test_a_wrong_one_raises_both_and_a_right_one_lowers_both(
    counted: tuple[int, int], at: float
) -> None:
    wrong, count = counted

    assert upper(wrong, count + 1, at) <= upper(wrong, count, at) <= upper(wrong + 1, count + 1, at)
    assert lower(wrong, count + 1, at) <= lower(wrong, count, at) <= lower(wrong + 1, count + 1, at)


@given(counts(), st.floats(0.5, 0.999), st.floats(0.5, 0.999))
def test_more_confidence_is_a_wider_bound(
    counted: tuple[int, int], one: float, other: float
) -> None:
    wrong, count = counted
    less, more = sorted((one, other))

    assert upper(wrong, count, less) <= upper(wrong, count, more)
    assert lower(wrong, count, less) >= lower(wrong, count, more)
