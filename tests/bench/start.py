"""How long the gateway takes to serve, and what an idle worker takes of the memory.

    python -m tests.bench.start [--times N]

Starts `serve` N times with default settings and one worker, each time with an empty disk tier:

- start: from the exec of the command to the first 200 of `/readyz`.
- worker: of that, from the fork of the worker (its line in the log) on.
- resident: the worker's resident memory (VmRSS) after a second of idleness; proportional: its
  share, where pages that it has in common with the supervisor count half (Pss).

`/readyz` is asked every 20 ms, so times are that coarse. The median of all starts is reported. Exit
code 1: a worker took a second or more to start, or 80 MB or more when idle.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from datetime import datetime
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from tests.gateway import Gateway

START: Final = 1.0
"""Seconds that a worker may take at most from its fork until it serves."""
RESIDENT: Final = 80_000_000
"""Bytes that an idle worker may have resident at most."""


class Started(NamedTuple):
    """One start: seconds and bytes."""

    whole: float
    worker: float
    resident: int
    proportional: int


def started() -> Started:
    """Start a gateway, look at it and end it."""
    with TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder), "http://127.0.0.1:9/v1", {})
        begun = time.time()
        gateway.start()
        ready = time.time()
        try:
            time.sleep(1)
            (worker,) = gateway.workers()
            (line,) = [line for line in gateway.log() if line["event"] == "worker_started"]
            forked = datetime.fromisoformat(line["time"]).timestamp()
            return Started(
                ready - begun,
                ready - forked,
                _memory(worker, "status", "VmRSS"),
                _memory(worker, "smaps_rollup", "Pss"),
            )
        finally:
            gateway.stop()


def _memory(pid: int, file: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", Path(f"/proc/{pid}/{file}").read_text(), re.M)
    assert found is not None
    return 1024 * int(found[1])


def main() -> int:
    """Measure and judge; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.start")
    parser.add_argument("--times", type=int, default=5)
    args = parser.parse_args()
    whole, worker, resident, proportional = map(
        median, zip(*[started() for _ in range(args.times)], strict=True)
    )
    print(f"start         {whole:6.3f} s")
    print(f"worker        {worker:6.3f} s    < {START} {'ok' if worker < START else 'MISSED'}")
    fits = resident < RESIDENT
    verdict = "ok" if fits else "MISSED"
    print(f"resident      {resident / 1e6:6.1f} MB   < {RESIDENT / 1e6:.0f}  {verdict}")
    print(f"proportional  {proportional / 1e6:6.1f} MB")
    return 0 if fits and worker < START else 1


if __name__ == "__main__":
    sys.exit(main())
