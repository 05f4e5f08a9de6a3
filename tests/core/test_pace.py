"""From when on a first byte is late: by what this node's streams took of late."""

from __future__ import annotations

from math import inf, isclose

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.pace import LEAST, Pace

TOKENS = st.integers(0, 10**7)
SECONDS = st.floats(0.0001, 600.0)


def test_where_no_first_byte_ever_came_none_is_late() -> None:
    assert Pace().allowed(0) == inf


def test_a_quick_node_is_given_half_a_second() -> None:
    pace = Pace()
    pace.took(20, 0.03)

    assert pace.allowed(20) == LEAST


def test_a_long_prompt_is_given_longer_than_a_short_one() -> None:
    pace = Pace()
    pace.took(9_488, 2.0)  # with what a call takes besides, 10,000 tokens

    assert isclose(pace.allowed(9_488), 6.0)
    assert isclose(pace.allowed(99_488), 60.0)
    assert pace.allowed(0) == LEAST


def test_what_was_slow_is_remembered_for_a_while_and_not_for_ever() -> None:
    pace = Pace()
    pace.took(0, 10.0)
    slow = pace.allowed(0)
    pace.took(0, 0.01)
    still = pace.allowed(0)
    for _ in range(200):
        pace.took(0, 0.01)

    assert slow == 30.0
    assert 20.0 < still < slow
    assert pace.allowed(0) == LEAST


@given(st.lists(st.tuples(TOKENS, SECONDS), min_size=1), TOKENS)
def test_what_was_just_seen_is_never_late(seen: list[tuple[int, float]], tokens: int) -> None:
    pace = Pace()
    for one in seen:
        pace.took(*one)
    last, seconds = seen[-1]

    assert pace.allowed(last) >= seconds
    assert pace.allowed(tokens) >= LEAST
