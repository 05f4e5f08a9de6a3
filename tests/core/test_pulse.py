"""Processes that say that they are well, and some that no longer do."""

from __future__ import annotations

from proxy.core.pulse import Pulse


def looked(pulse: Pulse, start: float, seconds: float) -> list[tuple[float, list[int]]]:
    """What every look of these seconds finds, where it finds something."""
    found = []
    end = start + seconds
    while pulse.due and (now := pulse.due[0]) <= end:
        if silent := pulse.silent(now):
            found.append((now, silent))
    return found


def test_who_falls_silent_is_named_once() -> None:
    pulse = Pulse(30.0)
    pulse.heard(7, 100.0)

    assert looked(pulse, 100.0, 1000.0) == [(140.0, [7])]
    assert pulse.due == ()


def test_who_goes_on_saying_so_is_not() -> None:
    pulse = Pulse(30.0)
    for now in range(0, 1000, 25):
        pulse.heard(7, float(now))
        assert looked(pulse, float(now), 25.0) == []


def test_who_has_said_nothing_yet_is_not_looked_at() -> None:
    pulse = Pulse(30.0)

    assert pulse.due == ()
    assert pulse.silent(1e9) == []


def test_a_time_in_which_nobody_looked_counts_as_one_look() -> None:
    """The parent may have been stopped together with them."""
    pulse = Pulse(30.0)
    pulse.heard(7, 0.0)

    assert pulse.silent(5000.0) == []
    assert pulse.due == (5010.0,)


def test_of_several_the_silent_one_is_named() -> None:
    pulse = Pulse(30.0)
    pulse.heard(7, 0.0)
    for now in range(0, 60, 10):
        pulse.heard(8, float(now))
        assert [pid for _, pids in looked(pulse, now, 10.0) for pid in pids] in ([], [7])

    assert "7" not in repr(pulse)


def test_who_has_ended_is_not_waited_for() -> None:
    pulse = Pulse(30.0)
    pulse.heard(7, 0.0)
    pulse.over(7)
    pulse.over(7)

    assert pulse.due == ()
