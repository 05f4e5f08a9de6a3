"""Rolling counts: what is older than the window does not count."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.rolling import Rolling

steps = st.lists(st.tuples(st.floats(0, 20), st.integers(0, 5)), max_size=40)


def test_each_count_is_its_own() -> None:
    counts = Rolling(10, 2)
    counts.add(100.0, 1, 0)
    counts.add(105.0, 2, 3)

    assert counts.totals(105.0) == (3, 3)


def test_what_is_old_falls_out_without_anything_new() -> None:
    counts = Rolling(10, 1)
    counts.add(100.5, 1)

    assert counts.totals(110.4) == (1,)
    assert counts.totals(111.6) == (0,)


@given(steps)
def test_counts_are_those_of_the_window_or_a_tenth_more(added: list[tuple[float, int]]) -> None:
    counts, mono, past = Rolling(10, 1), 50.0, []
    for pause, amount in added:
        mono += pause
        counts.add(mono, amount)
        past.append((mono, amount))
        (total,) = counts.totals(mono)

        assert total >= sum(amount for at, amount in past if at > mono - 10)
        assert total <= sum(amount for at, amount in past if at > mono - 11.001)
        assert len(counts._slices) <= 11
