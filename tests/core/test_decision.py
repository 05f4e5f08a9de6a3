"""What was found, judged: served, served and refreshed, or asked for anew."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.controls import Controls
from proxy.core.decision import Found, Hit, Miss, Outcome, Stale, evaluate
from tests.stored import NOW, entry

# Fresh for 60 s, then served stale for 30 s, then only instead of an error for 10 s.
FOUND = Found(
    entry("a", stale_while_revalidate=30.0, stale_if_error=10.0, epoch=3), "memory", "exact"
)
ENDLESS = float("inf")


def judged(age: float, epoch: int = 3, **asked: Any) -> Outcome:
    return evaluate(FOUND, NOW + age, epoch, Controls(**asked))


@pytest.mark.parametrize("age", [0.0, 0.5, 59.5])
def test_fresh(age: float) -> None:
    assert judged(age) == Hit(FOUND, age)


@pytest.mark.parametrize("age", [60.0, 60.5, 89.5])
def test_past_its_ttl_but_within_grace(age: float) -> None:
    assert judged(age) == Stale(FOUND, age)


@pytest.mark.parametrize("age", [90.0, 99.5])
def test_past_its_grace_but_better_than_an_error(age: float) -> None:
    assert judged(age) == Miss("expired", FOUND)


@pytest.mark.parametrize("age", [100.0, 1e9])
def test_past_everything(age: float) -> None:
    assert judged(age) == Miss("expired")


def test_nothing_found() -> None:
    assert evaluate(None, NOW, 0, Controls()) == Miss("absent")


def test_a_clock_that_was_set_back_makes_nothing_younger_than_new() -> None:
    assert judged(-3600.0) == Hit(FOUND, 0.0)


@pytest.mark.parametrize(
    ("epoch", "expected"), [(2, Hit(FOUND, 0.0)), (3, Hit(FOUND, 0.0)), (4, Miss("void"))]
)
def test_what_was_asked_before_an_invalidation_is_void_after_it(
    epoch: int, expected: Outcome
) -> None:
    """Not even instead of an error."""
    assert judged(0.0, epoch) == expected


@pytest.mark.parametrize(
    ("age", "asked", "expected"),
    [
        (10.0, {"read": False}, Miss("request")),
        (99.0, {"read": False}, Miss("request")),
        (100.0, {"read": False}, Miss("request")),
        (10.0, {"max_age": 10.0}, Hit(FOUND, 10.0)),
        (10.0, {"max_age": 9.0}, Miss("request")),
        (10.0, {"max_age": 0.0}, Miss("request")),
        (70.0, {"max_age": 80.0}, Miss("expired", FOUND)),
        (70.0, {"max_age": 60.0}, Miss("request")),
        (10.0, {"min_fresh": 49.0}, Hit(FOUND, 10.0)),
        (10.0, {"min_fresh": 51.0}, Miss("request")),
        (70.0, {"min_fresh": 1.0}, Miss("expired", FOUND)),
        (70.0, {"max_stale": 10.0}, Hit(FOUND, 70.0)),
        (70.0, {"max_stale": 9.0}, Miss("expired", FOUND)),
        (95.0, {"max_stale": 40.0}, Hit(FOUND, 95.0)),
        (95.0, {"max_stale": ENDLESS}, Hit(FOUND, 95.0)),
        (100.0, {"max_stale": ENDLESS}, Miss("expired")),
        (70.0, {"max_age": 80.0, "max_stale": 10.0}, Hit(FOUND, 70.0)),
        (85.0, {"max_age": 80.0, "max_stale": ENDLESS}, Miss("request")),
    ],
)
def test_a_request_that_is_choosy(age: float, asked: dict[str, Any], expected: Outcome) -> None:
    """RFC 9111 §5.2.1: whoever limits age or freshness is not given a
    stale answer, nor one that was ruled out in place of an error."""
    assert judged(age, **asked) == expected


limits = st.none() | st.floats(min_value=0, max_value=200)
choosy = st.builds(Controls, read=st.booleans(), max_age=limits, min_fresh=limits, max_stale=limits)


@given(st.floats(min_value=-10, max_value=200), choosy)
def test_nothing_is_served_in_any_way_after_it_expired(age: float, controls: Controls) -> None:
    outcome = evaluate(FOUND, NOW + age, 3, controls)
    served = outcome.fallback if isinstance(outcome, Miss) else outcome.found

    assert served is None or NOW + age < FOUND.entry.expires


@given(st.floats(min_value=0, max_value=200), choosy)
def test_what_is_served_is_no_older_than_the_request_allows(age: float, controls: Controls) -> None:
    outcome = evaluate(FOUND, NOW + age, 3, controls)

    if not isinstance(outcome, Miss):
        assert controls.read
        assert controls.max_age is None or outcome.age <= controls.max_age
