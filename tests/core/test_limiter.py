"""The limit of calls: down where more only wait longer, up where not, never out of bounds."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.limiter import Limiter

samples = st.lists(
    st.tuples(st.sampled_from("ab"), st.floats(0, 1000), st.integers(1, 200), st.floats(0, 5)),
    max_size=200,
)


class Engine:
    """Answers `able` calls at once, each in `seconds`; what is more waits for its turn."""

    def __init__(self, limiter: Limiter, able: int, seconds: float = 0.5) -> None:
        self.limiter = limiter
        self.able = able
        self.seconds = seconds
        self.mono = 0.0
        self._begun: deque[float] = deque()
        self._done = 0.0

    def run(self, seconds: float, offered: int) -> None:
        """As many calls as wanted and allowed, for so long."""
        end = self.mono + seconds
        while self.mono < end:
            while len(self._begun) < min(offered, self.limiter.limit):
                self._begun.append(self.mono)
            # One of so many answers is done each `seconds / able`, as long as all are busy.
            busy = min(self.able, len(self._begun))
            self.mono += self.seconds / busy
            waited = max(self.mono - self._begun.popleft(), self.seconds)
            self.limiter.sample("m", waited, len(self._begun) + 1, self.mono)


def limiter(most: int = 200, least: int = 8) -> Limiter:
    return Limiter(most, least=least, adaptive=True)


def test_it_starts_at_the_most() -> None:
    """Nobody knows yet what is too much, and a cold burst must not be held up for nothing."""
    assert limiter().limit == 200


def test_a_node_that_is_fast_enough_keeps_its_limit() -> None:
    engine = Engine(limiter(), able=1000)
    engine.run(60, offered=200)

    assert engine.limiter.limit == 200


def test_a_flood_brings_the_limit_near_to_what_the_node_can_do() -> None:
    engine = Engine(limiter(), able=20)
    engine.run(30, offered=15)
    engine.run(30, offered=200)

    assert 20 <= engine.limiter.limit <= 60


def test_a_limit_far_above_what_runs_comes_down_at_once() -> None:
    engine = Engine(limiter(most=100_000), able=20)
    engine.run(30, offered=15)
    engine.run(20, offered=200)

    assert engine.limiter.limit <= 70


def test_a_crisis_at_the_start_is_not_what_is_usual() -> None:
    engine = Engine(limiter(), able=20)
    engine.run(20, offered=200)
    engine.run(60, offered=15)
    engine.run(30, offered=200)

    assert engine.limiter.limit <= 100


def test_after_the_flood_the_limit_comes_back() -> None:
    engine = Engine(limiter(), able=20)
    engine.run(30, offered=15)
    engine.run(30, offered=200)
    engine.run(60, offered=15)

    assert engine.limiter.limit == 200


def test_a_node_that_becomes_slow_at_little_load_keeps_room_for_it() -> None:
    engine = Engine(limiter(), able=1000)
    engine.run(30, offered=10)
    engine.seconds = 5.0
    engine.run(120, offered=10)

    assert engine.limiter.limit >= 10


def test_another_kind_of_answer_is_not_a_slower_node() -> None:
    """Whole answers take many times as long to their first byte as streams do."""
    limit, mono = limiter(), 0.0
    for number in range(2000):
        kind, seconds = ("json", 20.0) if number % 3 else ("events", 0.2)
        mono += 0.05
        limit.sample(kind, seconds, 150, mono)

    assert limit.limit == 200


@pytest.mark.parametrize("running", [200, 4])
def test_a_node_that_says_it_has_too_much_gets_less(running: int) -> None:
    limit = limiter()
    for second in range(60):
        limit.refused(running, float(second))

    assert limit.limit == 8


def test_without_adapting_nothing_changes_it() -> None:
    limit = Limiter(10, least=2)
    for second in range(100):
        limit.sample("m", float(second**2), 10, float(second))
        limit.refused(10, float(second))

    assert limit.limit == 10


def test_a_least_above_the_most_is_the_most() -> None:
    limit = limiter(most=3, least=8)
    limit.refused(3, 0.0)
    limit.refused(3, 5.0)

    assert limit.limit == 3


@given(samples)
def test_it_never_leaves_its_bounds(given: list[tuple[str, float, int, float]]) -> None:
    limit, mono = limiter(most=50, least=3), 0.0
    for kind, seconds, running, pause in given:
        mono += pause
        limit.sample(kind, seconds, running, mono)
        if seconds > 900:
            limit.refused(running, mono)

        assert 3 <= limit.limit <= 50


def test_clients_cannot_make_the_memory_grow() -> None:
    limit = limiter()
    for number in range(10_000):
        limit.sample(f"m{number}", 1.0, 10, 0.0)
        limit.sample("m", 1.0, 10, 0.0)

    assert len(limit._usual) == 64
    assert len(limit._ratios) == 1024
