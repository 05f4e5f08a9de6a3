"""One JSON line for each request and for each thing an operator should see."""

from __future__ import annotations

import os
import stat
import threading
from collections import deque
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec
import orjson

from proxy.core import events
from proxy.core.notices import TOLD, notice, safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.events import Event, Served
    from proxy.core.notices import Notice

FLUSH_SECONDS: Final = 0.2
MAX_WAITING: Final = 20_000
"""Lines held for a reader that is too slow; further ones are dropped and counted. At up to 700
bytes each this stays below 14 MB."""
_TOGETHER: Final = 64
"""Requests whose lines are made together: few enough that the next one hardly waits."""
QUIET_SECONDS: Final = 10.0
"""The same trouble is told once in this time: a broken disk fails at every request."""

_REPEATING: Final = frozenset(("tier_failed", "upstream_failed"))

# A pipe keeps a write whole only up to this size: lines of several workers must not mix.
_PIPE: Final = 4096
_ENCODER: Final = msgspec.json.Encoder()


class Log:
    """What is told is collected and made into lines many at a time, which costs a fifth of what it
    costs one by one. A thread of its own writes them, so that a reader who is slow or stuck never
    holds up an answer. Without `start` nothing is written but by `flush`."""

    def __init__(self, descriptor: int, now: Callable[[], float], *, requests: bool = True) -> None:
        self._descriptor = descriptor
        self._now = now
        self._requests = requests
        self._waiting: deque[tuple[float, Served | Notice]] = deque()
        self._lines: deque[bytes] = deque()
        self._dropped = 0
        self._told: dict[tuple[str, ...], tuple[float, int]] = {}
        self._ended = threading.Event()
        self._spelling = threading.Lock()
        self._writing = threading.Lock()

    def __call__(self, event: Event) -> None:
        """Note it, if it is something to be told."""
        if isinstance(event, events.Served):
            if self._requests:
                self._add(event)
        elif type(event) in TOLD:
            self._notice(notice(event))

    def _notice(self, told: Notice) -> None:
        if told["event"] not in _REPEATING:
            self._add(told)
            return
        now = self._now()
        # Numbers differ each time; the words, none a client's, say whether it is the same trouble.
        words = tuple(value for value in told.values() if isinstance(value, str))
        last, missed = self._told.get(words, (-QUIET_SECONDS, 0))
        if 0 <= now - last < QUIET_SECONDS:
            self._told[words] = last, missed + 1
            return
        self._told[words] = now, 0
        self._add({**told, "repeated": missed} if missed else told)

    def _add(self, told: Served | Notice) -> None:
        if len(self._waiting) + len(self._lines) >= MAX_WAITING:
            self._dropped += 1
            return
        now = self._now()
        if self._dropped:
            self._waiting.append((now, {"event": "log_dropped", "lines": self._dropped}))
            self._dropped = 0
        self._waiting.append((now, told))
        # Here and not in the thread, which would take the interpreter away from all requests.
        if len(self._waiting) >= _TOGETHER and self._spelling.acquire(blocking=False):
            self._spell()
            self._spelling.release()

    def _spell(self) -> None:
        """Make lines of what waits. Under the lock: the order is kept."""
        while self._waiting:
            self._lines.append(_line(*self._waiting.popleft()))

    def start(self) -> None:
        """Write in the background from now on. Only after the last fork: threads do not survive."""
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def _run(self) -> None:
        while not self._ended.wait(FLUSH_SECONDS):
            self.flush()

    def close(self, timeout: float = 1.0) -> None:
        """Write what is left, but do not wait longer than `timeout` for a stuck reader."""
        self._ended.set()
        last = threading.Thread(target=self.flush, daemon=True)
        last.start()
        last.join(timeout)

    def flush(self) -> None:
        """Write what was collected; waits as long as the reader lets it."""
        with self._writing:
            with self._spelling:
                self._spell()
            # One by one: what is added meanwhile must land in the next round, not be lost.
            lines = [self._lines.popleft() for _ in range(len(self._lines))]
            try:
                for part in _parts(lines, _chunk(self._descriptor)):
                    _write(self._descriptor, part)
            except OSError:
                return  # nobody reads: there is no one to tell, and requests must go on


def _line(now: float, told: Served | Notice) -> bytes:
    start = _start(int(now * 1000))
    if isinstance(told, dict):
        return start + orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE)[1:]
    return start + b'"event":"request",' + _ENCODER.encode(safe(told))[1:] + b"\n"


@lru_cache(maxsize=2)  # lines that are made together are mostly of the same moment
def _start(milliseconds: int) -> bytes:
    """How a line of then begins."""
    second, rest = divmod(milliseconds, 1000)
    return b'{"time":"%b.%03dZ",' % (_second(second), rest)


@lru_cache(maxsize=2)
def _second(second: int) -> bytes:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S").encode()


def _chunk(descriptor: int) -> int:
    return _PIPE if stat.S_ISFIFO(os.fstat(descriptor).st_mode) else 65536


def _parts(lines: list[bytes], size: int) -> list[bytes]:
    """The lines joined to pieces of at most `size` bytes, unless one line alone is longer."""
    parts: list[bytes] = []
    start, length = 0, 0
    for i, line in enumerate(lines):
        if length + len(line) > size and i > start:
            parts.append(b"".join(lines[start:i]))
            start, length = i, 0
        length += len(line)
    parts.append(b"".join(lines[start:]))
    return parts


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
