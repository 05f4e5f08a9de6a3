"""Early refresh: how likely it is, and what a crowd of requests makes of that."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.entry import Entry
from proxy.core.refresh import early, near
from proxy.core.request import Lifetime
from proxy.core.ttl import jittered
from tests.stored import NOW, entry, key

HALF = 0.5


def left(entry: Entry, seconds: float) -> float:
    """The moment at which the entry has so many seconds to live."""
    return entry.created + entry.ttl - seconds


@pytest.mark.parametrize(
    ("beta", "latency", "seconds", "share"),
    [
        (1.0, 4.0, 4.0, 0.3679),
        (1.0, 4.0, 2.0, 0.6065),
        (1.0, 4.0, 8.0, 0.1353),
        (2.0, 4.0, 8.0, 0.3679),
        (0.5, 4.0, 2.0, 0.3679),
        (1.0, 0.0, 3.0, 0.3679),  # by the two hundredth part of 600 s
    ],
)
def test_the_chance_grows_as_the_end_comes_near(
    beta: float, latency: float, seconds: float, share: float
) -> None:
    """A share of exp(-left / (beta * latency)) of all requests refreshes."""
    kept = entry("a", ttl=600.0, latency=latency)

    assert early(kept, left(kept, seconds), beta, share - 0.0001)
    assert not early(kept, left(kept, seconds), beta, share + 0.0001)


@pytest.mark.parametrize(
    ("latency", "first"),
    [
        (0.0, 60.0),  # the last tenth
        (2.0, 60.0),
        (50.0, 100.0),  # twice what it takes
        (400.0, 300.0),  # but never in the first half
    ],
)
def test_no_life_is_cut_short_by_more_than_it_takes_to_make_a_new_one(
    latency: float, first: float
) -> None:
    kept = entry("a", ttl=600.0, latency=latency)

    assert near(kept, left(kept, first), 1.0)
    assert not near(kept, left(kept, first + 0.1), 1.0)


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_what_has_expired_is_not_refreshed_early(seconds: float) -> None:
    kept = entry("a", ttl=600.0, latency=5.0)

    assert not near(kept, left(kept, seconds), 1.0)


@pytest.mark.parametrize(
    "kept", [entry("a", ends=True), entry("a", status=404), entry("a", created=NOW + 1000.0)]
)
def test_what_would_not_live_longer_for_it_is_not_refreshed_early(kept: Entry) -> None:
    assert not early(kept, NOW + 59.9, 1.0, 0.0)


chances = st.floats(0.0, 1.0)
lives = st.builds(
    lambda ttl, latency: entry("a", ttl=ttl, latency=latency),
    st.floats(0.001, 1e9),
    st.floats(0.0, 1e6),
)


@given(lives, st.floats(-1e9, 2e9), st.floats(0.0, 10.0), chances)
def test_only_what_is_near_its_end_is_early(
    kept: Entry, age: float, beta: float, chance: float
) -> None:
    if early(kept, NOW + age, beta, chance):
        assert near(kept, NOW + age, beta)


@given(lives, st.floats(-1e9, 2e9), chances)
def test_switched_off_it_never_is(kept: Entry, age: float, chance: float) -> None:
    assert not early(kept, NOW + age, 0.0, chance)


@given(lives, st.floats(-10, 2e9))
def test_the_last_of_all_chances_never_refreshes(kept: Entry, age: float) -> None:
    assert not early(kept, NOW + age, 1.0, 1.0)


class Crowd:
    """One answer in the memory of four gateways and in the store that they share, and the requests
    that come for it; a lease lets one call run at a time."""

    def __init__(self, name: int, rate: float, latency: float, dice: Random) -> None:
        self.calls = self.late = 0
        self._name, self._rate, self._latency, self._dice = name, rate, latency, dice
        self._stored = self._made(NOW)
        self._held = [self._stored] * 4
        self._coming: Entry | None = None

    def _made(self, now: float) -> Entry:
        ttl = jittered(Lifetime(300.0, 3000.0), key(self._name), 0.1)
        return entry(self._name, now, ttl=ttl, latency=self._latency, asked=now - self._latency)

    def run(self, until: float) -> None:
        """Requests at random moments, each at a gateway of its own choice."""
        now = NOW + 200.0
        while (now := now + self._dice.expovariate(self._rate)) < until:
            self._ask(self._dice.randrange(4), now)

    def _ask(self, gateway: int, now: float) -> None:
        if self._coming is not None and self._coming.created <= now:
            self._stored, self._coming = self._coming, None
        held = self._held[gateway]
        expired = now >= held.created + held.ttl
        if not expired and not early(held, now, 1.0, self._dice.random()):
            return
        self._held[gateway] = self._stored  # whoever has the lease looks there first
        if self._stored.asked > held.asked:
            return
        self.late += expired
        if self._coming is None:
            self.calls += 1
            self._coming = self._made(now + self._latency)


@pytest.mark.parametrize(("rate", "latency"), [(5.0, 0.05), (5.0, 4.0), (50.0, 0.5)])
def test_a_crowd_asks_once_for_each_answer_that_ends_and_before_it_does(
    rate: float, latency: float
) -> None:
    """Over one end of a hot set: nobody finds an expired answer, and next to none is asked for
    twice."""
    dice = Random(1)
    crowds = [Crowd(name, rate, latency, dice) for name in range(100)]
    for crowd in crowds:
        crowd.run(NOW + 340.0)

    assert 100 <= sum(crowd.calls for crowd in crowds) <= 110
    assert sum(crowd.late for crowd in crowds) <= 1


def test_what_hardly_anybody_asks_for_is_left_to_expire() -> None:
    """Once in five minutes: nearly every early refresh would be for nobody."""
    kept = entry("a", ttl=300.0, latency=0.5)
    dice = Random(2)
    refreshed = sum(early(kept, NOW + 300 * dice.random(), 1.0, dice.random()) for _ in range(5000))

    assert refreshed < 50
