"""The law of a token bucket: in any time, no more than flowed in and was there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.bucket import Bucket, full, level, taken, wait


def test_a_full_bucket_holds_a_minutes_worth() -> None:
    assert level(full(60, 5.0), 60, 5.0) == 60


def test_what_was_taken_flows_back() -> None:
    bucket = taken(full(60, 0.0), 60, 30, 0.0)

    assert [level(bucket, 60, now) for now in (0.0, 10.0, 30.0, 3000.0)] == [30, 40, 60, 60]


def test_more_may_be_taken_than_is_there() -> None:
    bucket = taken(full(60, 0.0), 60, 100, 0.0)

    assert level(bucket, 60, 0.0) == -40
    assert wait(bucket, 60, 1, 0.0) == 41


def test_what_is_given_back_is_no_more_than_it_holds() -> None:
    assert taken(Bucket(59, 0.0), 60, -5, 0.0) == Bucket(60, 0.0)


def test_more_than_it_holds_may_be_taken_when_it_is_full() -> None:
    assert wait(full(60, 0.0), 60, 1000, 0.0) == 0
    assert wait(Bucket(59, 0.0), 60, 1000, 0.0) == 1


def test_a_clock_that_goes_back_lets_nothing_flow_nor_away() -> None:
    assert level(Bucket(10, 100.0), 60, 50.0) == 10


def test_a_smaller_rate_makes_a_smaller_bucket() -> None:
    assert level(Bucket(60, 0.0), 6, 0.0) == 6


@given(st.integers(1, 10**6), st.integers(-1000, 0), st.floats(0, 10**6))
def test_after_the_wait_it_is_there(rate: int, debt: int, now: float) -> None:
    """To the very moment: sums of fractions may miss it by a hair."""
    bucket = Bucket(debt, now)
    later = wait(bucket, rate, 1, now)

    assert wait(bucket, rate, 1, now + later * 0.99) > 0
    assert wait(bucket, rate, 1, now + later) == 0


@given(
    st.integers(1, 1000),
    st.lists(st.tuples(st.floats(0, 30), st.integers(0, 50)), max_size=60),
)
def test_in_no_time_is_more_taken_than_there_was(rate: int, asked: list[tuple[float, int]]) -> None:
    now, bucket, got = 0.0, full(rate, 0.0), 0
    for pause, amount in asked:
        now += pause
        if amount <= rate and not wait(bucket, rate, amount, now):
            bucket, got = taken(bucket, rate, amount, now), got + amount

        assert got <= rate + rate * now / 60 + 0.001
