"""Two silent probes and a node is out; one answer and one good call, and it is in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.health import Health


def out() -> Health:
    health = Health(probed=True)
    health.probe("silent", mono=0.0, heard=0)
    health.probe("silent", mono=0.0, heard=0)
    return health


def test_one_lost_probe_is_doubt_and_two_are_certainty() -> None:
    health = Health(probed=True)
    health.probe("silent", mono=0.0, heard=0)
    assert (health.state, health.takes, health.doubted) == ("in", True, True)
    health.probe("alive", mono=0.0, heard=0)
    health.probe("silent", mono=0.0, heard=0)
    assert (health.state, health.takes, health.doubted) == ("in", True, True)
    health.probe("silent", mono=0.0, heard=0)

    assert (health.state, health.takes, health.doubted) == ("out", False, False)


def test_a_refused_connection_is_enough_if_somebody_looks_after_it() -> None:
    watched, alone = Health(probed=True), Health()
    watched.refused()
    alone.refused()

    assert (watched.state, alone.state) == ("out", "in")


def test_one_call_at_a_time_is_the_trial() -> None:
    health = out()
    health.probe("alive", mono=0.0, heard=0)
    assert (health.state, health.takes) == ("trial", True)
    trial = health.begin()
    assert trial
    assert not health.takes
    assert not health.begin()  # one that had to go there all the same
    health.end(0, "failure")
    health.end(trial, "success")

    assert (health.state, health.takes) == ("in", True)


@pytest.mark.parametrize(("verdict", "state"), [("failure", "out"), ("neither", "trial")])
def test_a_trial_that_does_not_go_well(verdict: str, state: str) -> None:
    health = out()
    health.probe("alive", mono=0.0, heard=0)
    health.end(health.begin(), verdict)  # type: ignore[arg-type]

    assert health.state == state
    assert health.takes == (state == "trial")


def test_silence_during_the_trial_ends_it() -> None:
    health = out()
    health.probe("alive", mono=0.0, heard=0)
    trial = health.begin()
    health.probe("silent", mono=0.0, heard=0)
    assert health.state == "out"
    health.end(trial, "success")  # it answered before it fell silent

    assert health.state == "out"


@pytest.mark.parametrize("verdict", ["success", "failure", "neither"])
def test_a_trial_from_before_it_was_out_says_nothing_and_ends_no_other(verdict: str) -> None:
    health = out()
    health.probe("alive", mono=0.0, heard=0)
    before = health.begin()
    health.probe("silent", mono=0.0, heard=0)
    health.probe("alive", mono=0.0, heard=0)
    trial = health.begin()
    health.end(before, verdict)  # type: ignore[arg-type]
    assert (health.state, health.takes) == ("trial", False)
    health.end(trial, "success")

    assert (health.state, health.takes) == ("in", True)


def test_a_call_to_a_node_that_is_in_is_no_trial() -> None:
    health = Health(probed=True)

    assert not health.begin()
    assert health.takes


@given(
    st.lists(
        st.sampled_from(["ok", "lost", "refused", "begin", "success", "failure", "neither"]),
        max_size=40,
    )
)
def test_never_more_than_one_on_trial_and_always_a_way_back(steps: list[str]) -> None:
    """Those from before it was last out may end at any time, and change nothing."""
    health, running, current = Health(probed=True), list[int](), 0
    for step in steps:
        match step:
            case "ok" | "lost":
                health.probe("alive" if step == "ok" else "silent", mono=0.0, heard=0)
            case "refused":
                health.refused()
            case "begin":
                if trial := health.begin():
                    assert not current
                    running.append(current := trial)
            case "success" | "failure" | "neither" if running:
                trial, before = running.pop(0), (health.state, health.takes)
                health.end(trial, step)
                if trial == current:
                    current = 0
                else:
                    assert (health.state, health.takes) == before
        if health.state == "out":
            current = 0
        assert health.takes == (health.state == "in" or (health.state == "trial" and not current))
    for trial in running:
        health.end(trial, "neither")
    health.probe("alive", mono=0.0, heard=0)
    health.end(health.begin(), "success")

    assert health.state == "in"


def test_a_late_first_byte_and_one_failed_probe_are_certainty() -> None:
    health = Health(probed=True)
    health.suspect()
    health.suspect()
    assert (health.state, health.doubted) == ("in", True)
    health.probe("silent", mono=0.0, heard=0)

    assert health.state == "out"


def test_a_late_first_byte_of_a_node_that_answers_is_nothing() -> None:
    health = Health(probed=True)
    health.suspect()
    health.probe("alive", mono=0.0, heard=0)
    assert (health.state, health.doubted) == ("in", False)
    health.probe("silent", mono=0.0, heard=0)

    assert health.state == "in"


def test_a_suspicion_beside_a_failed_probe_is_not_a_third_sign() -> None:
    health = Health(probed=True)
    health.probe("silent", mono=0.0, heard=0)
    health.suspect()

    assert (health.state, health.doubted) == ("in", True)


def test_silence_is_what_no_probe_and_no_byte_interrupts() -> None:
    health, seen = Health(probed=True), []
    steps = [("alive", 100), ("silent", 101), ("silent", 102), ("unwell", 103), ("silent", 104)]
    for sign, mono in steps:
        health.probe(sign, mono=mono, heard=7)  # type: ignore[arg-type]  # a literal
        seen.append(health.silence)
    health.probe("silent", mono=105, heard=8)

    assert seen == [0, 1, 2, 0, 1]
    assert health.silence == 0


def test_who_stood_still_itself_heard_no_silence() -> None:
    """A gateway that was stopped for a minute finds two probes without an answer."""
    health = Health(probed=True)
    health.probe("alive", mono=100, heard=0)
    health.probe("silent", mono=160, heard=0)
    health.probe("silent", mono=160.5, heard=0)

    assert health.silence == 2.5
