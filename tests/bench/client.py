"""The measuring client: a bare protocol, so that it takes as little as can be of the machine.

Run as `python -m tests.bench.client`: a job as JSON on each line of its input, and on each line of
its output what was measured.
"""

from __future__ import annotations

import asyncio
import re
import sys
import time
from typing import Final, cast

import msgspec
import uvloop

from tests.bench.traffic import Request

_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)


class Job(msgspec.Struct, frozen=True):
    """`request`, over and over on each of `connections`, for `seconds`."""

    port: int
    request: Request
    connections: int
    seconds: float
    expected: str = ""
    """A piece that every answer's head must have, or the answer counts as wrong."""


class Result(msgspec.Struct, frozen=True):
    """Answers in `seconds`, those that were not as expected, and how long one took (seconds)."""

    answers: int
    wrong: int
    seconds: float
    p50: float
    p99: float

    @property
    def rate(self) -> float:
        return self.answers / self.seconds


class Run:
    """One job under way."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.until = 0.0
        self.expected = job.expected.encode()
        self.times: list[float] = []
        self.wrong = 0
        self.example = b""
        # Numbers never used before, in this run or any other.
        self._number = time.time_ns() // 1000 % 10**12

    def next(self) -> bytes:
        """The bytes of the next request."""
        request = self.job.request
        if not request.unique:
            return request.before
        self._number += 1
        return b"%b%012d%b" % (request.before, self._number, request.after)

    async def measured(self) -> Result:
        """Raises: ConnectionError."""
        loop = asyncio.get_running_loop()
        start = time.perf_counter()
        self.until = start + self.job.seconds
        connections: list[Connection] = []
        for _ in range(self.job.connections):
            _, connection = await loop.create_connection(
                lambda: Connection(self), "127.0.0.1", self.job.port
            )
            connections.append(connection)
        await asyncio.gather(*(connection.over for connection in connections))
        seconds = time.perf_counter() - start
        times = sorted(self.times)
        if self.wrong:
            sys.stderr.write(f"not as expected: {self.example[:600]!r}\n")
        return Result(
            len(times), self.wrong, seconds, times[len(times) // 2], times[len(times) * 99 // 100]
        )


class Connection(asyncio.Protocol):
    """One request after the other, on a connection that is kept alive."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._held = b""
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None
        self.over = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's own class is none of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._ask()

    def _ask(self) -> None:
        assert self._transport is not None
        self._sent = time.perf_counter()
        self._transport.write(self._run.next())

    def data_received(self, data: bytes) -> None:
        held = self._held = self._held + data if self._held else data
        end = held.find(b"\r\n\r\n")
        if end < 0 or not _whole(held, end):
            return
        run, now = self._run, time.perf_counter()
        run.times.append(now - self._sent)
        if not held.startswith(b"HTTP/1.1 200") or held.find(run.expected, 0, end + 2) < 0:
            run.wrong += 1
            run.example = held
        self._held = b""
        if now < run.until:
            self._ask()
        else:
            assert self._transport is not None
            self._transport.close()
            self.over.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(exc or ConnectionError("closed by the server"))


def _whole(held: bytes, end: int) -> bool:
    length = _LENGTH.search(held, 0, end)
    if length is None:
        return held.endswith(b"0\r\n\r\n")
    return len(held) >= end + 4 + int(length[1])


def main() -> None:
    """Do what each line says."""
    for line in sys.stdin.buffer:
        job = msgspec.json.decode(line, type=Job)
        result = uvloop.run(Run(job).measured())
        sys.stdout.write(msgspec.json.encode(result).decode() + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
