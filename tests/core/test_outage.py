"""Whether something that failed again and again is worth another attempt."""

from __future__ import annotations

from proxy.core.outage import Outage


def out(failures: int = 3) -> Outage:
    """One that began at second 10, with a pause of 1 s."""
    outage = Outage(failures, 1.0)
    for _ in range(failures):
        outage.failed(10.0)
    return outage


def test_single_failures_change_nothing() -> None:
    outage = Outage(3, 1.0)
    for _ in range(10):
        assert not outage.failed(10.0)
        assert not outage.failed(10.0)
        assert not outage.worked()

    assert outage.admits(10.0)
    assert not outage.open


def test_the_failure_that_begins_an_outage_is_told_once() -> None:
    outage = Outage(2, 1.0)

    assert [outage.failed(10.0) for _ in range(4)] == [False, True, False, False]


def test_during_an_outage_there_is_one_attempt_in_each_pause() -> None:
    outage = out()

    assert not outage.admits(10.9)
    assert [outage.admits(11.0) for _ in range(3)] == [True, False, False]
    assert [outage.admits(12.0) for _ in range(2)] == [True, False]


def test_an_attempt_that_fails_goes_on_with_it_and_one_that_succeeds_ends_it() -> None:
    outage = out()
    outage.admits(11.0)
    assert not outage.failed(11.5)
    assert not outage.admits(12.4)
    assert outage.admits(12.5)

    assert outage.worked()
    assert not outage.worked()
    assert all(outage.admits(12.5) for _ in range(5))


def test_who_sees_to_it_itself_is_never_held_back() -> None:
    outage = Outage.never()

    assert not any(outage.failed(10.0) for _ in range(1000))
    assert outage.admits(10.0)
    assert not outage.worked()
