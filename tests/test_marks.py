"""Marks on keys: for how long, and how many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proxy.marks import Marks
from tests.fakes import FakeClock
from tests.stored import key


def test_a_mark_lasts_as_long_as_was_said() -> None:
    clock = FakeClock()
    marks = Marks(10, clock)
    marks.set(key("a"), 5.0)
    clock.advance(4.9)

    assert marks.has(key("a"))
    assert not marks.has(key("b"))

    clock.advance(0.1)

    assert not marks.has(key("a"))
    assert len(marks) == 0


def test_where_nothing_is_said_it_lasts_the_usual_time() -> None:
    clock = FakeClock()
    marks = Marks(10, clock, 120.0)
    marks.set(key("a"))
    clock.advance(119.0)

    assert marks.has(key("a"))

    clock.advance(1.0)

    assert not marks.has(key("a"))


def test_marked_again_it_lasts_from_then_on() -> None:
    clock = FakeClock()
    marks = Marks(10, clock)
    marks.set(key("a"), 5.0)
    clock.advance(4.0)
    marks.set(key("a"), 5.0)
    clock.advance(4.0)

    assert marks.has(key("a"))


def test_a_mark_can_be_taken_away() -> None:
    marks = Marks(10, FakeClock())
    marks.set(key("a"), 5.0)
    marks.drop(key("a"))
    marks.drop(key("b"))

    assert not marks.has(key("a"))


def test_a_mark_for_no_time_is_none_and_takes_away_what_was_there() -> None:
    marks = Marks(10, FakeClock(), 0.0)
    marks.set(key("a"), 5.0)
    marks.set(key("a"))

    assert not marks.has(key("a"))


def test_the_one_marked_longest_ago_gives_way() -> None:
    marks = Marks(2, FakeClock())
    for name in ("a", "b", "a", "c"):
        marks.set(key(name), 5.0)

    assert [name for name in "abc" if marks.has(key(name))] == ["a", "c"]


@given(st.integers(0, 5), st.lists(st.tuples(st.integers(0, 9), st.floats(0, 9))))
def test_there_are_never_more_than_allowed(limit: int, steps: list[tuple[int, float]]) -> None:
    clock = FakeClock()
    marks = Marks(limit, clock)
    for name, seconds in steps:
        marks.set(key(name), seconds)
        clock.advance(seconds / 3)

        assert len(marks) <= limit
