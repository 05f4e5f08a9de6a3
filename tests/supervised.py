"""A supervised run for tests: `python -m tests.supervised WORKERS DRAIN MANNER AIDES SILENCE`.

Prints what happens, one line each, so that a test can wait for it.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from typing import TYPE_CHECKING

from proxy.adapters.processes.supervisor import Supervisor
from proxy.adapters.processes.worker import say

if TYPE_CHECKING:
    from proxy.core.events import Event


BEAT = 0.05
"""Seconds between two words of an aide."""


def tell(*words: object) -> None:
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def work(slot: int, word: int) -> int:
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
    say(word)
    tell("serving", slot, os.getpid())
    while slot >= int(sys.argv[1]) and not select.select([asked], [], [], BEAT)[0]:
        say(word)
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
        silence=float(sys.argv[5]),
    )
    code = supervisor.run()
    tell("over", code)
    sys.exit(code)
