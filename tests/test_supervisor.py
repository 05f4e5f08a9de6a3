"""The supervisor with real processes and real signals."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.processes.pause import delay

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Start = Callable[..., "Run"]

PATIENCE = 10.0


class Run:
    """A supervisor in a process of its own, and the lines it has printed."""

    def __init__(self, workers: int, drain: float, manner: str, aides: int, silence: float) -> None:
        how = map(str, (workers, drain, manner, aides, silence))
        command = [sys.executable, "-m", "tests.supervised", *how]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        self._out = self.process.stdout.fileno()
        self._rest = b""
        self.unasked: list[str] = []

    def until(self, *starts: str) -> list[str]:
        """For each of `starts`, the first line not yet asked for that begins so."""
        return [self._first(start) for start in starts]

    def _first(self, start: str) -> str:
        seen = 0
        while True:
            for i in range(seen, len(self.unasked)):
                if self.unasked[i].startswith(start):
                    return self.unasked.pop(i)
            seen = len(self.unasked)
            self.unasked.append(self._line())

    def _line(self) -> str:
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], PATIENCE)
            data = os.read(self._out, 65536) if ready else b""
            assert data, f"no more lines after {self.unasked}"
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()

    def pid(self, slot: int) -> int:
        """The process id of the worker of a slot that serves next."""
        return int(self.until(f"serving {slot} ")[0].split()[2])

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)  # a stubborn worker outlives its parent
        self.process.communicate()


@pytest.fixture
def start() -> Iterator[Start]:
    runs: list[Run] = []

    def begin(
        workers: int,
        drain: float = 5.0,
        manner: str = "calm",
        aides: int = 0,
        silence: float = 600.0,
    ) -> Run:
        runs.append(Run(workers, drain, manner, aides, silence))
        return runs[-1]

    yield begin
    for run in runs:
        run.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("workers", [1, 3])
def test_all_workers_serve_before_it_says_so(start: Start, workers: int) -> None:
    run = start(workers)

    run.until("opened", *[f"serving {slot} " for slot in range(workers)])


def test_it_does_not_say_so_while_one_is_not_yet_up(start: Start) -> None:
    run = start(2, manner="late")
    late = int(run.until("starting 1")[0].split()[2])
    # The parent has heard the other's first word once it has seen that one die.
    os.kill(run.pid(0), signal.SIGKILL)
    run.until("reaped 0")
    os.kill(late, signal.SIGUSR1)

    run.until("started 1")
    assert "opened" not in run.unasked
    run.until("opened")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_worker_is_replaced(start: Start, workers: int) -> None:
    run = start(workers)
    first = run.pid(0)
    os.kill(first, signal.SIGKILL)

    (died, reaped) = run.until("event WorkerDied", "reaped 0")
    assert f"slot=0, pid={first}, code=-9" in died
    assert run.pid(0) != first
    assert reaped == "reaped 0"


def test_a_worker_that_returns_unasked_is_replaced(start: Start) -> None:
    """SIGTERM to a worker alone drains that worker; its slot does not stay empty."""
    run = start(1)
    first = run.pid(0)
    os.kill(first, signal.SIGTERM)

    assert run.pid(0) != first


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_all_workers(start: Start, number: int) -> None:
    run = start(2)
    run.until("opened", "serving 0", "serving 1")
    run.signal(number)

    run.until("draining 0", "draining 1", "over 0")
    assert run.ended() == 0


def test_a_worker_that_drains_too_long_is_killed(start: Start) -> None:
    run = start(1, 0.0, "stubborn")
    pid = run.pid(0)
    run.until("opened")
    run.signal(signal.SIGTERM)

    run.until("draining 0", "event WorkerDied", "over 1")
    assert run.ended() == 1
    assert not is_alive(pid)


def test_a_second_interrupt_kills_at_once(start: Start) -> None:
    run = start(1, 3600.0, "stubborn")
    run.until("opened", "serving 0")
    run.signal(signal.SIGINT)
    run.until("draining 0")
    run.signal(signal.SIGINT)

    assert run.ended() == 1


def test_the_hangup_of_a_service_is_ignored(start: Start) -> None:
    """Without a terminal SIGHUP is somebody's habit of asking for a reload."""
    run = start(1)
    first = run.pid(0)
    run.until("opened")
    run.signal(signal.SIGHUP)
    os.kill(first, signal.SIGKILL)

    assert run.pid(0) != first


@pytest.mark.parametrize(("manner", "code"), [("broken", 3), ("raising", 1)])
def test_workers_that_never_served_are_given_up(start: Start, manner: str, code: int) -> None:
    run = start(2, manner=manner)

    run.until("event WorkersGaveUp", f"over {code}")
    assert run.ended() == code


def test_workers_that_served_once_are_never_given_up(start: Start) -> None:
    run = start(1)
    for _ in range(5):
        os.kill(run.pid(0), signal.SIGKILL)

    assert run.pid(0)


def test_workers_drain_when_their_parent_is_killed(start: Start) -> None:
    run = start(2)
    run.until("opened", "serving 0", "serving 1")
    run.signal(signal.SIGKILL)

    run.until("draining 0", "draining 1")


def test_an_aide_is_started_replaced_and_ended_with_the_rest(start: Start) -> None:
    run = start(1, aides=1)
    first = run.pid(1)
    os.kill(first, signal.SIGKILL)
    second = run.pid(1)
    run.signal(signal.SIGTERM)
    run.until("draining 0", "draining 1", "over 0")

    assert run.ended() == 0
    assert not is_alive(first)
    assert not is_alive(second)


def test_an_aide_that_is_frozen_is_replaced(start: Start) -> None:
    run = start(1, aides=1, silence=1.0)
    first = run.pid(1)
    os.kill(first, signal.SIGSTOP)

    (silent, died) = run.until("event WorkerSilent", "event WorkerDied")
    assert f"slot=1, pid={first}" in silent
    assert f"slot=1, pid={first}, code=-9" in died
    assert run.pid(1) != first


def test_a_worker_that_is_frozen_is_not_its_parents_business(start: Start) -> None:
    """Its clients' requests may still be on their way; and it says but once that it serves."""
    run = start(1, aides=1, silence=0.3)
    worker = run.pid(0)
    os.kill(worker, signal.SIGSTOP)
    for _ in range(2):
        os.kill(run.pid(1), signal.SIGSTOP)
        run.until("event WorkerSilent")

    assert not [line for line in run.unasked if "slot=0" in line and "WorkerDied" in line]
    assert is_alive(worker)


def test_an_aide_that_is_stuck_does_not_hold_up_the_end(start: Start) -> None:
    """The drain is for the workers, and would be longer than this test may take."""
    run = start(1, drain=600.0, aides=1)
    aide = run.pid(1)
    run.until("opened")
    os.kill(aide, signal.SIGSTOP)
    run.signal(signal.SIGTERM)

    assert run.ended() == 1
    assert not is_alive(aide)


def test_an_aides_deaths_end_nothing_even_before_any_worker_serves(start: Start) -> None:
    run = start(1, aides=1, manner="lame")
    late = int(run.until("starting 0")[0].split()[2])
    run.until(*["reaped 1"] * 6)
    assert run.process.poll() is None
    os.kill(late, signal.SIGUSR1)

    run.until("opened", "reaped 1")


@pytest.mark.parametrize(
    ("young", "seconds"), [(0, 0.0), (1, 0.0), (2, 0.1), (3, 0.2), (8, 5.0), (5000, 5.0)]
)
def test_one_that_keeps_dying_is_started_again_for_ever(young: int, seconds: float) -> None:
    """No number of deaths is too large to be reckoned with."""
    assert delay(young, 5.0) == seconds


def test_an_aide_that_serves_does_not_speak_for_workers(start: Start) -> None:
    """Workers that never serve end the run, whatever helps them."""
    run = start(2, manner="late", aides=1)
    late = int(run.until("starting 1")[0].split()[2])
    run.until("serving 0", "serving 2")
    os.kill(run.process.pid, 0)
    assert "opened" not in run.unasked
    os.kill(late, signal.SIGUSR1)

    run.until("opened")
