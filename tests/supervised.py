"""A supervised run for tests: `python -m tests.supervised WORKERS DRAIN MANNER AIDES`.

Prints what happens, one line each, so that a test can wait for it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from proxy.adapters.processes.supervisor import Supervisor

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.events import Event


def tell(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def work(slot: int, ready: Callable[[], None]) -> int:
    manner = sys.argv[3]
    if manner == "broken":
        return 3
    if manner == "lame" and slot >= int(sys.argv[1]):
        return 3
    if manner == "raising":
        raise RuntimeError("a worker that cannot start")
    asked, ask = os.pipe()
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: os.write(ask, b"1"))
    if (manner == "late" and slot == 1) or manner == "lame":
        tell("starting", slot, os.getpid())
        os.read(asked, 1)
        tell("started", slot)
    ready()
    tell("serving", slot, os.getpid())
    os.read(asked, 1)
    tell("draining", slot, os.getpid())
    if manner == "stubborn":
        os.read(asked, 1)
    return 0


def emit(event: Event) -> None:
    tell("event", event)


if __name__ == "__main__":
    supervisor = Supervisor(
        int(sys.argv[1]),
        work,
        drain=float(sys.argv[2]),
        mono=time.monotonic,
        emit=emit,
        reaped=lambda slot: tell("reaped", slot),
        opened=lambda: tell("opened"),
        aides=int(sys.argv[4]),
    )
    code = supervisor.run()
    tell("over", code)
    sys.exit(code)
