"""Breakers: they judge the node, not its clients, and a recovering node gets one call at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from proxy.config import Breaker as Settings
from proxy.core.breaker import Breaker, Breakers, Pass
from proxy.quantity import Duration, Timeout

if TYPE_CHECKING:
    from proxy.core.breaker import Verdict
    from proxy.core.events import BreakerState

SETTINGS = Settings(min_calls=4, window=Timeout(30), open_for=Timeout(10), slow_call=Duration(5))


class Watched:
    """A breaker and its time."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        self.breaker = Breaker(settings)
        self.mono = 1000.0

    def call(self, *verdicts: Verdict, slow: bool = False) -> None:
        for verdict in verdicts:
            assert self.breaker.admits(self.mono)
            self.end(self.breaker.begin(), verdict, slow=slow)

    def end(self, call: Pass, verdict: Verdict, *, slow: bool = False) -> None:
        self.breaker.end(call, verdict, slow=slow, mono=self.mono)

    def opened(self) -> Watched:
        for _ in range(4):
            self.call("failure")
        assert self.breaker.state == "open"
        return self

    def half_open(self) -> Pass:
        self.opened().mono += 10
        assert self.breaker.admits(self.mono)
        return self.breaker.begin()


@pytest.mark.parametrize(
    ("calls", "state"),
    [
        ("fff", "closed"),  # too few to judge by
        ("ffff", "open"),
        ("ssff", "open"),
        ("sssff", "closed"),
        ("nnnnnff", "closed"),
        ("ssssssssssffff", "open"),  # in a row, however much went well before
        ("ssssssssssfffsf", "closed"),
    ],
)
def test_it_opens_by_the_share_of_failures_or_by_many_in_a_row(calls: str, state: str) -> None:
    watched = Watched()
    verdicts: dict[str, Verdict] = {"s": "success", "f": "failure", "n": "neither"}
    watched.call(*[verdicts[letter] for letter in calls])

    assert watched.breaker.state == state


def test_failures_of_long_ago_do_not_open_it() -> None:
    watched = Watched()
    watched.call("failure", "success", "failure")
    watched.mono += 34
    watched.call("success", "success", "success", "failure")

    assert watched.breaker.state == "closed"


def test_slow_calls_open_it_even_where_their_clients_left() -> None:
    watched = Watched()
    watched.call("success", "neither", "success", "neither", slow=True)

    assert watched.breaker.state == "open"


def test_open_it_admits_nothing_until_its_time() -> None:
    watched = Watched().opened()
    watched.mono += 9.9

    assert not watched.breaker.admits(watched.mono)
    assert watched.breaker.wait(watched.mono) == pytest.approx(0.1)
    watched.mono += 0.1
    assert watched.breaker.admits(watched.mono)


def test_half_open_one_call_goes_through_and_a_hundred_do_not() -> None:
    watched = Watched()
    watched.half_open()
    watched.mono += 5

    assert [watched.breaker.admits(watched.mono) for _ in range(100)] == [False] * 100


def test_a_failed_probe_opens_it_for_a_full_time() -> None:
    """A minimum of calls does not protect the failure, and later successes do not undo it."""
    watched = Watched()
    probe = watched.half_open()
    watched.mono += 3
    watched.end(probe, "failure")

    assert watched.breaker.state == "open"
    assert watched.breaker.wait(watched.mono) == 10


def test_a_slow_probe_is_a_failed_one() -> None:
    watched = Watched()
    watched.end(watched.half_open(), "success", slow=True)

    assert watched.breaker.state == "open"


def test_a_probe_that_succeeds_closes_it_and_the_past_is_forgotten() -> None:
    watched = Watched()
    watched.end(watched.half_open(), "success")
    watched.call("failure", "failure", "failure")

    assert watched.breaker.state == "closed"


def test_a_probe_that_says_nothing_leaves_the_place_to_the_next() -> None:
    watched = Watched()
    watched.end(watched.half_open(), "neither")

    assert watched.breaker.state == "half_open"
    assert watched.breaker.admits(watched.mono)


def test_a_probe_counts_once() -> None:
    watched = Watched()
    probe = watched.half_open()
    watched.end(probe, "success")
    watched.end(probe, "failure")

    assert watched.breaker.state == "closed"


@pytest.mark.parametrize("verdict", ["success", "failure"])
def test_calls_from_before_it_opened_say_nothing_after(verdict: Verdict) -> None:
    watched = Watched()
    old = watched.breaker.begin()
    watched.half_open()
    watched.end(old, verdict)

    assert watched.breaker.state == "half_open"
    assert not watched.breaker.admits(watched.mono)


def test_a_long_answer_that_arrives_does_not_keep_all_others_out_until_its_end() -> None:
    watched = Watched()
    probe = watched.half_open()
    probe.flows = watched.mono
    watched.mono += 9.9
    assert not watched.breaker.admits(watched.mono)
    watched.mono += 0.1
    assert watched.breaker.admits(watched.mono)
    second = watched.breaker.begin()
    watched.end(probe, "neither")

    assert not watched.breaker.admits(watched.mono)
    watched.end(second, "success")
    assert watched.breaker.state == "closed"


class Yard:
    def __init__(self) -> None:
        self.moves: list[tuple[str, str, BreakerState]] = []
        self.breakers = Breakers(SETTINGS, lambda *move: self.moves.append(move))

    def call(self, model: str, verdict: Verdict, times: int = 1, *, slow: bool = False) -> None:
        for _ in range(times):
            call = self.breakers.begin("gpu", model)
            self.breakers.end("gpu", model, call, verdict, slow=slow, mono=100.0)


def test_each_node_and_model_has_its_own_and_its_moves_are_told() -> None:
    yard = Yard()
    yard.call("m", "failure", 4)

    assert yard.breakers.wait("gpu", "m", 100.0) == 10
    assert yard.breakers.wait("gpu", "other", 100.0) == 0
    assert yard.breakers.wait("cpu", "m", 100.0) == 0
    assert (yard.breakers.tripped("gpu"), yard.breakers.tripped("cpu")) == (1, 0)
    probe = yard.breakers.begin("gpu", "m")
    assert yard.breakers.tripped("gpu") == 1
    yard.breakers.end("gpu", "m", probe, "success", slow=False, mono=111.0)
    assert yard.breakers.tripped("gpu") == 0
    assert [move[2] for move in yard.moves] == ["open", "half_open", "closed"]
    assert yard.moves[0][:2] == ("gpu", "m")


def test_a_call_that_ends_after_the_first_failure_counts_though_it_began_before() -> None:
    yard = Yard()
    early = [yard.breakers.begin("gpu", "m") for _ in range(3)]
    yard.call("m", "failure")
    for call in early:
        yard.breakers.end("gpu", "m", call, "failure", slow=False, mono=100.0)

    assert yard.breakers.tripped("gpu") == 1


def test_names_of_models_that_nobody_serves_leave_no_trace() -> None:
    yard = Yard()
    for number in range(1000):
        yard.call(f"m{number}", "neither")
        yard.call(f"m{number}", "success")

    assert len(yard.breakers._kept) == 0


def test_clients_cannot_make_the_memory_grow() -> None:
    yard = Yard()
    yard.call("first", "failure", 4)
    for number in range(5000):
        yard.call(f"m{number}", "failure")

    assert len(yard.breakers._kept) == 4096
    assert yard.breakers.tripped("gpu") == 0


class Played(RuleBasedStateMachine):
    """Whatever happens: half open there is one call without bytes, and it never stays shut."""

    def __init__(self) -> None:
        super().__init__()
        self.watched = Watched()
        self.calls: list[Pass] = []

    @property
    def breaker(self) -> Breaker:
        return self.watched.breaker

    @rule(seconds=st.sampled_from([0.0, 1.0, 5.0, 10.0]))
    def wait(self, seconds: float) -> None:
        self.watched.mono += seconds

    @rule()
    def begin(self) -> None:
        if self.breaker.admits(self.watched.mono):
            self.calls.append(self.breaker.begin())

    @precondition(lambda self: self.calls)
    @rule(data=st.data(), verdict=st.sampled_from(["success", "failure", "neither"]))
    def end(self, data: st.DataObject, verdict: Any) -> None:
        before, era = self.breaker.state, self.breaker.era
        call = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        self.watched.end(call, verdict)

        if before == "open" or (before == "half_open" and call.era != era):
            assert self.breaker.state == before
        elif before == "half_open":
            ends = {"success": "closed", "failure": "open", "neither": "half_open"}
            assert self.breaker.state == ends[verdict]

    @invariant()
    def one_probe(self) -> None:
        if self.breaker.state == "half_open":
            probes = [call for call in self.calls if call.era == self.breaker.era]
            assert len(probes) <= 1
            assert self.breaker.admits(self.watched.mono) == (not probes)

    @invariant()
    def not_for_ever(self) -> None:
        if self.breaker.state == "open":
            assert self.breaker.admits(self.watched.mono + 10)


TestPlayed = Played.TestCase
