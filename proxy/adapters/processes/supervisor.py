"""The parent process: forks the workers, replaces those that die, and ends them in order."""

from __future__ import annotations

import gc
import os
import selectors
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from proxy.adapters.processes.pause import AIDE, MAX_DELAY, YOUNG, delay
from proxy.adapters.processes.wake import SIGNALS, woken
from proxy.adapters.processes.worker import become
from proxy.core.events import WorkerDied, WorkersGaveUp, WorkerSilent, WorkerStarted
from proxy.core.pulse import Pulse

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.ports import Emit

    Work: TypeAlias = Callable[[int, int], int]
    """Serve as the worker of a slot, `say` so on the descriptor once requests are taken, return an
    exit code. SIGTERM means: drain and return. An aide says so again and again."""

MARGIN: Final = 2.0
"""Seconds that a worker may take beyond its drain before it is killed."""
SILENCE: Final = 30.0
"""Seconds after which an aide that says no more that it is well is killed: it is frozen, or waits
for itself. One that has not said so yet may take as long as it likes to start."""
MAX_DEATHS: Final = 5
"""Deaths after which nothing is tried again, if no worker has served yet."""


@dataclass(slots=True)
class _Worker:
    slot: int
    pid: int
    born: float
    told: int
    """The pipe on which it tells that it serves."""
    ready: bool = False


class Supervisor:
    """Single-threaded, without an event loop, so that forking is safe at any time.

    SIGTERM and SIGINT drain, a second SIGINT kills. SIGHUP ends a run that belongs to a terminal
    and is ignored otherwise: settings are read at the start only. Workers end with their parent.
    """

    def __init__(
        self,
        workers: int,
        work: Work,
        *,
        drain: float,
        mono: Callable[[], float],
        emit: Emit,
        reaped: Callable[[int], None],
        opened: Callable[[], None],
        aides: int = 0,
        silence: float = SILENCE,
    ) -> None:
        """`reaped` gets each slot whose worker ended; `opened` is called once, when all serve.
        `aides`: slots after the workers', for processes that help them: nobody waits for these, and
        the run goes on without them."""
        self._work, self._drain, self._mono, self._emit = work, drain, mono, emit
        self._reaped, self._opened = reaped, opened
        self._alive: dict[int, _Worker] = {}
        self._pulse = Pulse(silence)
        self._workers = workers
        self._due = dict.fromkeys(range(workers + aides), 0.0)
        """When a slot without a worker gets one."""
        self._young = dict.fromkeys(range(workers + aides), 0)
        """How many of a slot's workers died young in a row."""
        self._deaths = 0
        self._served = False
        self._open = False
        self._deadline: float | None = None
        """When workers that still drain are killed; None: nobody asked for an end."""
        self._killed = False
        self._code = 0

    def run(self) -> int:
        """Keep the workers alive until a signal ends them; the exit code."""
        gc.collect()
        gc.freeze()  # else each worker's first collection would copy every page of the imports
        self._selector = selectors.DefaultSelector()
        self._lifeline = os.pipe()
        with woken() as wake:
            self._wake = wake
            self._selector.register(wake, selectors.EVENT_READ)
            while self._alive or self._deadline is None:
                self._start_due()
                self._wait()
                self._reap()
                self._kill_late()
                self._kill_silent()
        self._selector.close()
        for end in self._lifeline:
            os.close(end)
        return self._code

    def _start_due(self) -> None:
        now = self._mono()
        for slot in [slot for slot, when in self._due.items() if when <= now]:
            self._start(slot, now)

    def _start(self, slot: int, now: float) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        told, tell = os.pipe()
        # A signal between the fork and the reset of its handlers would be taken for the parent's.
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError:
            os.close(told)
            pid = -1
        if pid == 0:
            self._selector.close()
            inherited = (told, self._wake, self._lifeline[1], *map(_told, self._alive.values()))
            become(lambda: self._work(slot, tell), parent, self._lifeline[0], inherited)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        os.close(tell)
        if pid < 0:
            self._due[slot] = now + MAX_DELAY  # no memory or processes left: others may end
            return
        del self._due[slot]
        self._alive[pid] = worker = _Worker(slot, pid, now, told)
        self._selector.register(told, selectors.EVENT_READ, worker)
        self._emit(WorkerStarted(slot, pid))

    def _wait(self) -> None:
        """Until a signal, a word from a worker, or the next thing to do."""
        times = [*self._due.values(), *self._pulse.due]
        if self._deadline is not None and not self._killed:
            times.append(self._deadline)
        timeout = max(0.0, min(times) - self._mono()) if times else None
        for key, _ in self._selector.select(timeout):
            if key.data is None:
                for number in os.read(self._wake, 4096):
                    self._signalled(number)
            else:
                self._heard(key.data)

    def _heard(self, worker: _Worker) -> None:
        word = os.read(worker.told, 64)
        if word and self._aids(worker.slot):
            self._pulse.heard(worker.pid, self._mono())
            return
        worker.ready = bool(word)
        self._selector.unregister(worker.told)
        if self._aids(worker.slot):
            return
        self._served = self._served or worker.ready
        waited = [one for one in self._alive.values() if not self._aids(one.slot)]
        if not self._open and all(w.ready for w in waited) and len(waited) == self._workers:
            self._open = True
            self._opened()

    def _aids(self, slot: int) -> bool:
        return slot >= self._workers

    def _signalled(self, number: int) -> None:
        match number:
            case signal.SIGINT if self._deadline is not None:
                self._kill()
            case signal.SIGTERM | signal.SIGINT:
                self._end()
            case signal.SIGHUP if os.isatty(0):
                self._end()

    def _end(self) -> None:
        """Tell the workers to drain."""
        if self._deadline is None:
            self._deadline = self._mono() + self._drain + MARGIN
            self._due.clear()
            for pid in self._alive:
                os.kill(pid, signal.SIGTERM)

    def _kill_late(self) -> None:
        late = self._deadline is not None and self._mono() >= self._deadline
        if late and self._alive and not self._killed:
            self._kill()

    def _kill_silent(self) -> None:
        for pid in self._pulse.silent(self._mono()):
            self._emit(WorkerSilent(self._alive[pid].slot, pid))
            os.kill(pid, signal.SIGKILL)

    def _kill(self) -> None:
        self._code = self._code or 1
        self._killed = True
        for pid in self._alive:
            os.kill(pid, signal.SIGKILL)

    def _reap(self) -> None:
        for worker in list(self._alive.values()):
            pid, status = os.waitpid(worker.pid, os.WNOHANG)
            if pid:
                self._died(worker, os.waitstatus_to_exitcode(status))

    def _died(self, worker: _Worker, code: int) -> None:
        del self._alive[worker.pid]
        self._pulse.over(worker.pid)
        with suppress(KeyError):  # it had told already
            self._selector.unregister(worker.told)
        os.close(worker.told)
        lived = self._mono() - worker.born
        asked = self._deadline is not None
        self._emit(WorkerDied(worker.slot, worker.pid, code, lived, asked))
        self._reaped(worker.slot)
        if self._deadline is None:
            self._replace(worker.slot, code, lived)
        elif all(self._aids(one.slot) for one in self._alive.values()):
            # They have nobody to serve: one that does not end now is stuck.
            self._deadline = min(self._deadline, self._mono() + MARGIN)

    def _replace(self, slot: int, code: int, lived: float) -> None:
        """Start a successor: at once, unless this slot's workers keep dying young."""
        self._deaths += not self._aids(slot)
        if self._deaths >= MAX_DEATHS and not self._served:
            self._emit(WorkersGaveUp(self._deaths))
            self._code = code if code > 0 else 1
            self._end()
            return
        slow = AIDE if self._aids(slot) else 1.0
        young = self._young[slot] = self._young[slot] + 1 if lived < YOUNG * slow else 0
        self._due[slot] = self._mono() + delay(young, MAX_DELAY * slow)


def _told(worker: _Worker) -> int:
    return worker.told
