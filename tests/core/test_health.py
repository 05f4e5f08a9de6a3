"""Two silent probes and a node is out; one answer and one good call, and it is in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.health import Health


def out() -> Health:
    health = Health(probed=True)
    health.probe(answered=False)
    health.probe(answered=False)
    return health


def test_one_lost_probe_is_doubt_and_two_are_certainty() -> None:
    health = Health(probed=True)
    health.probe(answered=False)
    assert (health.state, health.takes, health.doubted) == ("in", True, True)
    health.probe(answered=True)
    health.probe(answered=False)
    assert (health.state, health.takes, health.doubted) == ("in", True, True)
    health.probe(answered=False)

    assert (health.state, health.takes, health.doubted) == ("out", False, False)


def test_a_refused_connection_is_enough_if_somebody_looks_after_it() -> None:
    watched, alone = Health(probed=True), Health()
    watched.refused()
    alone.refused()

    assert (watched.state, alone.state) == ("out", "in")


def test_one_call_at_a_time_is_the_trial() -> None:
    health = out()
    health.probe(answered=True)
    assert (health.state, health.takes) == ("trial", True)
    assert health.begin()
    assert not health.takes
    assert not health.begin()  # one that had to go there all the same
    health.end("success")

    assert (health.state, health.takes) == ("in", True)


@pytest.mark.parametrize(("verdict", "state"), [("failure", "out"), ("neither", "trial")])
def test_a_trial_that_does_not_go_well(verdict: str, state: str) -> None:
    health = out()
    health.probe(answered=True)
    health.begin()
    health.end(verdict)  # type: ignore[arg-type]

    assert health.state == state
    assert health.takes == (state == "trial")


def test_silence_during_the_trial_ends_it() -> None:
    health = out()
    health.probe(answered=True)
    health.begin()
    health.probe(answered=False)
    assert health.state == "out"
    health.end("success")  # it answered before it fell silent

    assert health.state == "out"


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
    health, running = Health(probed=True), 0
    for step in steps:
        match step:
            case "ok" | "lost":
                health.probe(answered=step == "ok")
            case "refused":
                health.refused()
            case "begin" if health.takes:
                running += health.begin()
            case "success" | "failure" | "neither" if running:
                running -= 1
                health.end(step)
        if health.state == "out":
            running = 0
        assert running <= 1
    for _ in range(2):
        health.probe(answered=True)
    if running or health.begin():
        health.end("success")

    assert health.state == "in"
    assert health.takes
