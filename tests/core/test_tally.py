"""Counting, and the sum over workers."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.tally import MAX_SERIES, Tally, decode, encode, lasting, merged

BOUNDS = (1.0, 10.0)

words = st.sampled_from(["a", "b", "c"])
# Whole numbers: their sums do not depend on the order, as sums of fractions do.
amounts = st.integers(0, 100)


@st.composite
def tallies(draw: st.DrawFn) -> Tally:
    tally = Tally()
    for family, label, amount in draw(st.lists(st.tuples(words, words, amounts))):
        tally.count(f"{family}_total", (label,), amount)
        tally.observe(f"{family}_seconds", BOUNDS, (label,), amount)
        tally.move(f"{family}_level", (label,), amount)
        tally.level(f"{family}_shared", (label,), amount, shared=True)
    return tally


@pytest.mark.parametrize(
    ("value", "bucket"), [(0.0, 0), (1.0, 0), (1.5, 1), (10.0, 1), (10.5, 2), (1e9, 2)]
)
def test_a_value_falls_into_the_bucket_that_includes_its_upper_bound(
    value: float, bucket: int
) -> None:
    tally = Tally()
    tally.observe("f", BOUNDS, (), value)
    expected = [0.0, 0.0, 0.0, value]
    expected[bucket] = 1.0

    assert tally.spreads["f"][()] == expected


@given(tallies(), tallies(), tallies())
def test_the_order_of_workers_does_not_matter(one: Tally, two: Tally, three: Tally) -> None:
    assert merged([one, two, three]) == merged([three, one, two])
    assert merged([merged([one, two]), three]) == merged([one, two, three])


@given(tallies(), tallies())
def test_summing_changes_no_part(one: Tally, two: Tally) -> None:
    before = copy.deepcopy((one, two))
    whole = merged([one, two])
    whole.count("a_total", ("a",), 5)
    whole.observe("a_seconds", BOUNDS, ("a",), 5)

    assert (one, two) == before


def test_counts_add_up_and_shared_levels_do_not() -> None:
    one, two = Tally(), Tally()
    for tally, level in ((one, 3.0), (two, 5.0)):
        tally.count("n", ("x",), 2)
        tally.level("own", (), level, shared=False)
        tally.level("common", (), level, shared=True)
    whole = merged([one, two])

    assert whole.counters == {"n": {("x",): 4}}
    assert whole.gauges == {"own": {(): 8.0}}
    assert whole.shared == {"common": {(): 5.0}}


def test_a_level_is_set_not_added() -> None:
    tally = Tally()
    tally.level("f", (), 3.0, shared=False)
    tally.level("f", (), 2.0, shared=False)

    assert tally.gauges == {"f": {(): 2.0}}


def test_ever_new_labels_are_counted_as_other() -> None:
    """Nothing is lost from the sum, and no client can grow the metrics without end."""
    tally = Tally()
    for i in range(MAX_SERIES + 50):
        tally.count("f", (str(i), "x"))
        tally.observe("g", BOUNDS, (str(i),), 1.0)

    assert len(tally.counters["f"]) == len(tally.spreads["g"]) == MAX_SERIES + 1
    assert tally.counters["f"][("other", "other")] == 50
    assert tally.spreads["g"][("other",)] == [50.0, 0.0, 0.0, 50.0]


def test_a_worker_leaves_its_counts_but_not_its_levels() -> None:
    tally = Tally()
    tally.count("n")
    tally.observe("s", BOUNDS, (), 1.0)
    tally.move("g")
    tally.level("h", (), 1.0, shared=True)
    left = lasting(tally)

    assert (left.counters, left.spreads) == (tally.counters, tally.spreads)
    assert (left.gauges, left.shared) == ({}, {})


@given(tallies())
def test_what_is_encoded_comes_back(tally: Tally) -> None:
    assert decode(encode(tally)) == tally


@given(tallies(), st.data())
def test_a_cut_reads_as_nothing(tally: Tally, data: st.DataObject) -> None:
    whole = encode(tally)

    assert decode(whole[: data.draw(st.integers(0, len(whole) - 1))]) is None


@given(st.binary(max_size=64))
def test_foreign_bytes_never_raise(data: bytes) -> None:
    decode(data)
