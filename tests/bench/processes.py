"""Processes of a measurement, and what they cost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Self

import msgspec

from tests.bench.client import Job, Result
from tests.gateway import free_port

ROOT = Path(__file__).parent.parent.parent
_TICK = os.sysconf("SC_CLK_TCK")


def cpu(pids: list[int]) -> float:
    """Seconds of CPU that these processes have used so far, in user and kernel."""
    seconds = 0.0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        seconds += (int(fields[11]) + int(fields[12])) / _TICK
    return seconds


class Server:
    """A module of this folder that serves on a port of its own."""

    def __init__(self, module: str, *args: str) -> None:
        self.port = free_port()
        argv = [sys.executable, "-m", f"tests.bench.{module}"]
        place = [*args[:1], str(self.port), *args[1:]]
        self._process = subprocess.Popen([*argv, *place], cwd=ROOT)
        self.pids = [self._process.pid]

    def __enter__(self) -> Self:
        until = time.monotonic() + 10
        while not _listens(self.port):
            if self._process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"did not start: {self._process.args!r}")
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


class Client:
    """The measuring client, a process of its own."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.client"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def measure(self, job: Job) -> Result:
        """Raises: RuntimeError where an answer was not as expected."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(job) + b"\n")
        self._process.stdin.flush()
        result = msgspec.json.decode(self._process.stdout.readline(), type=Result)
        if result.wrong:
            raise RuntimeError(f"{result.wrong} of {result.answers} answers lack {job.expected!r}")
        return result


def _listens(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.connect()
    except OSError:
        return False
    finally:
        connection.close()
    return True
