"""One JSON line for each request and for each thing an operator should see."""

from __future__ import annotations

import os
import re
import stat
import threading
from collections import deque
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
import orjson

from proxy.core import events

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.events import Event, Served

    Notice: TypeAlias = dict[str, object]

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
_LONGEST: Final = 64
_ENCODER: Final = msgspec.json.Encoder()
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._:/@+-]")


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
        elif type(event) in _TOLD:
            self._notice(_told(event))

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
    second = int(now)
    time = b"%b%03dZ" % (_second(second), (now - second) * 1000)
    if isinstance(told, dict):
        return orjson.dumps({"time": time.decode(), **told}, option=orjson.OPT_APPEND_NEWLINE)
    return b'{"time":"%b","event":"request",%b\n' % (time, _ENCODER.encode(_safe(told))[1:])


@lru_cache(maxsize=2)
def _second(second: int) -> bytes:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S.").encode()


_TOLD: Final = frozenset(
    (
        events.TierFailed,
        events.StoreReset,
        events.UpstreamFailed,
        events.BreakerMoved,
        events.NodeTurned,
        events.TierTurned,
        events.WorkerStarted,
        events.WorkerDied,
        events.WorkersGaveUp,
    )
)
"""Besides requests; of the others there are too many, they are only counted."""


def _told(event: Event) -> Notice:
    """The line for an event other than a request."""
    told: Notice = {}
    match event:
        case events.TierFailed(tier, operation, error):
            told = {"event": "tier_failed", "tier": tier, "operation": operation, "error": error}
        case events.StoreReset(tier, reason):
            told = {"event": "store_reset", "tier": tier, "reason": reason}
        case events.UpstreamFailed(node, kind):
            told = {"event": "upstream_failed", "node": node, "kind": kind}
        case events.BreakerMoved(node, model, state):
            told = {"event": "breaker", "node": node, "model": _name(model), "state": state}
        case events.NodeTurned(node, state):
            told = {"event": "node", "node": node, "state": state}
        case events.TierTurned(tier, working, error):
            told = {"event": "tier_turned", "tier": tier, "working": working, "error": error}
        case events.WorkerStarted(slot, pid):
            told = {"event": "worker_started", "slot": slot, "pid": pid}
        case events.WorkerDied(slot, pid, code, seconds, asked):
            told = {"event": "worker_ended" if asked else "worker_died", "slot": slot, "pid": pid}
            told |= {"code": code, "seconds": round(seconds, 3)}
        case events.WorkersGaveUp(deaths):
            told = {"event": "workers_gave_up", "deaths": deaths}
        case _:
            pass
    return told


def _safe(event: Served) -> Served:
    """What clients chose, cut and cleaned."""
    if _is_safe(event):
        return event
    return msgspec.structs.replace(
        event,
        request_id=_clean(event.request_id),
        method=_clean(event.method),
        model=_name(event.model),
        fingerprint=event.fingerprint[:8],
    )


def _is_safe(event: Served) -> bool:
    return (
        _UNSAFE.search(event.request_id) is None
        and len(event.request_id) <= _LONGEST
        and len(event.fingerprint) <= 8
        and _is_name(event.model)
        and _is_name(event.method)
    )


def _name(text: str) -> str:
    # What is no model's name may be anything, a prompt too.
    return text if _is_name(text) else "?"


def _is_name(text: str) -> bool:
    # Its length first: a cache would hold on to megabytes that a client calls a model.
    return len(text) <= _LONGEST and _is_plain(text)


@lru_cache(maxsize=1024)
def _is_plain(text: str) -> bool:
    return _UNSAFE.search(text) is None


def _clean(text: str) -> str:
    """Text that a client chose, cut and reduced to what names are made of."""
    return _UNSAFE.sub("?", text[:_LONGEST])


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
