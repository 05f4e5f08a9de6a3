"""Lifetimes: spread by the key itself, within a band, below the ceiling."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.entry import Key
from proxy.core.request import Lifetime
from proxy.core.ttl import PINNED, SHORTEST, Span, jittered, span
from tests.stored import key as named

keys = st.binary(min_size=32, max_size=32).map(Key)
ttls = st.floats(min_value=1, max_value=1e9)
LAST, FIRST = Key(b"\xff" * 32), Key(bytes(32))


@pytest.mark.parametrize(
    ("ttl", "ceiling", "jitter", "earliest", "latest"),
    [
        (100.0, 1000.0, 0.1, 90.0, 110.0),
        (100.0, 1000.0, 0.0, 100.0, 100.0),
        (100.0, 105.0, 0.1, 90.0, 105.0),
        (100.0, 100.0, 0.1, 90.0, 100.0),
        (100.0, 50.0, 0.1, 45.0, 50.0),
    ],
)
def test_the_band_reaches_from_one_end_to_the_other(
    ttl: float, ceiling: float, jitter: float, earliest: float, latest: float
) -> None:
    assert jittered(Lifetime(ttl, ceiling), FIRST, jitter) == pytest.approx(earliest)
    assert jittered(Lifetime(ttl, ceiling), LAST, jitter) == pytest.approx(latest)


@given(keys, ttls, ttls)
def test_no_life_leaves_the_band_or_passes_the_ceiling(
    key: Key, ttl: float, ceiling: float
) -> None:
    lived = jittered(Lifetime(ttl, ceiling), key, 0.1)

    assert lived <= ceiling
    assert min(ttl, ceiling) * 0.9 <= lived * (1 + 1e-9)
    assert lived <= ttl * 1.1 * (1 + 1e-9)


@given(keys, ttls)
def test_all_gateways_agree_on_a_key(key: Key, ttl: float) -> None:
    assert jittered(Lifetime(ttl, ttl), key, 0.1) == jittered(
        Lifetime(ttl, ttl), Key(bytes(key)), 0.1
    )


@pytest.mark.parametrize("ceiling", [1000.0, 105.0, 100.0, 80.0])
def test_keys_spread_evenly_over_what_the_ceiling_leaves(ceiling: float) -> None:
    """Nothing piles up at the ceiling, where all of it would expire in one moment."""
    made = [bytes(28) + (n * 2**24 % 2**32).to_bytes(4, "big") for n in range(256)]
    lives = sorted(jittered(Lifetime(100.0, ceiling), Key(key), 0.1) for key in made)
    steps = [later - sooner for sooner, later in pairwise(lives)]

    assert min(steps) > 0
    assert max(steps) < 2 * min(steps)


@pytest.mark.parametrize("ttl", [0.0, 1e-9])
def test_every_life_is_longer_than_nothing(ttl: float) -> None:
    assert jittered(Lifetime(ttl, 100.0), FIRST, 0.1) == SHORTEST


def test_ten_thousand_answers_of_one_moment_end_spread_over_the_whole_band() -> None:
    """In twenty equal parts of it each, none is more than a fifth fuller than the mean."""
    counts = [0] * 20
    for number in range(10_000):
        life = jittered(Lifetime(100.0, 1000.0), named(number), 0.1)
        counts[min(19, int(life - 90.0))] += 1

    assert min(counts) > 400
    assert max(counts) < 600


GRACE = (30.0, 400.0)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (float("inf"), Span(100.0, 30.0, 400.0)),
        (530.0, Span(100.0, 30.0, 400.0)),
        (230.0, Span(100.0, 30.0, 100.0)),
        (110.0, Span(100.0, 10.0, 0.0)),
        (100.0, Span(100.0, 0.0, 0.0, ends=True)),
        (40.0, Span(40.0, 0.0, 0.0, ends=True)),
        (0.0, Span(SHORTEST, 0.0, 0.0, ends=True)),
    ],
)
def test_nothing_of_a_life_lies_past_its_set_end(room: float, expected: Span) -> None:
    assert span(Lifetime(100.0, 1000.0), FIRST, 0.0, GRACE, room) == expected


def test_what_is_pinned_is_served_on_while_it_is_refreshed() -> None:
    life = Lifetime(100.0, 1000.0, pinned=True)

    assert span(life, FIRST, 0.0, GRACE) == Span(100.0, PINNED, 400.0)
    assert span(life, FIRST, 0.0, GRACE, 150.0) == Span(100.0, 50.0, 0.0)


@given(keys, ttls, st.floats(SHORTEST, 1e9), st.booleans())
def test_whatever_is_asked_for_a_set_end_holds(
    key: Key, ttl: float, room: float, pinned: bool
) -> None:
    life = span(Lifetime(ttl, 1e10, pinned=pinned), key, 0.1, GRACE, room)

    assert min(life[:3]) >= 0 < life.ttl
    assert sum(life[:3]) <= room * (1 + 1e-9)
