"""Session closes: the next one, also where none is known any more."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.closing import after, room

CLOSES = (100.0, 200.0, 300.0)
DAY = 86400.0


@pytest.mark.parametrize(
    ("now", "close"), [(0.0, 100.0), (99.9, 100.0), (100.0, 200.0), (250.0, 300.0)]
)
def test_the_next_close_is_later_than_now(now: float, close: float) -> None:
    assert after(CLOSES, now) == close


@pytest.mark.parametrize(
    ("now", "close"),
    [
        (300.0, 300.0 + DAY),
        (299.0 + DAY, 300.0 + DAY),
        (300.0 + DAY, 300.0 + 2 * DAY),
        (301.0 + 30 * DAY, 300.0 + 31 * DAY),
    ],
)
def test_past_the_last_close_that_is_known_every_day_has_one(now: float, close: float) -> None:
    assert after(CLOSES, now) == close


def test_where_nothing_was_ever_known_there_is_no_close() -> None:
    assert after((), 5.0) is None


@given(st.lists(st.floats(0, 1e9), min_size=1).map(sorted), st.floats(0, 2e9))
def test_a_close_is_never_past_and_never_far(closes: list[float], now: float) -> None:
    close = after(closes, now)

    assert close is not None
    assert close > now
    assert close - now <= max(DAY + 1.0, closes[-1] - now)


def test_the_room_is_up_to_the_first_close_of_any() -> None:
    closings = {"A": CLOSES, "B": (170.0,), "C": ()}

    assert room(("A", "B"), closings, 150.0) == 20.0
    assert room(("A",), closings, 150.0) == 50.0


def test_without_a_close_that_is_known_there_is_room_without_end() -> None:
    assert room((), {"A": CLOSES}, 0.0) == float("inf")
    assert room(("C", "D"), {"C": ()}, 0.0) == float("inf")
