"""How many calls a node may have at once: fewer when its first bytes come later than they used to.

The method is Netflix's gradient2 (concurrency-limits): the limit is multiplied by the ratio of the
usual latency to the present one, and a little is added, so that it finds the point where more calls
only wait longer. Three things differ, since first bytes of language models scatter widely.
Latencies are compared with what is usual for their kind (model, stream or not), the present is the
median of a second, and the limit starts at the most, so that a cold burst is not held up."""

from __future__ import annotations

from collections import OrderedDict
from math import ceil, sqrt
from statistics import median
from typing import Final, NamedTuple

_TOLERANCE: Final = 2.0
"""So many times the usual latency is still no sign of too many calls."""

_WINDOW: Final = 1.0
_SAMPLES: Final = 10
"""Seconds and samples after which the limit is judged anew: both must have come together."""

_LARGEST: Final = 1024
"""Samples of a window that are looked at."""

_MEMORY: Final = 600.0
"""Seconds in which what is usual follows what is: a crisis must not become usual before it ends."""

_TRUST: Final = 3600.0
"""Seconds in which it is forgotten how many calls were once answered in time."""

_WARM: Final = 10
_SURE: Final = 100
"""Samples of a kind before it can be compared, and before its mean is more than a first guess."""

_KINDS: Final = 64
_STEP: Final = 0.5
"""How far one window moves the limit down towards where it should be; up it goes at once."""

_REFUSED: Final = 0.8
"""The gradient where the node itself said that it has too much."""


class _Usual(NamedTuple):
    """The mean latency of a kind."""

    mean: float = 0.0
    samples: int = 0
    mono: float = 0.0
    """Of the last one."""


class Limiter:
    """The limit of one node."""

    def __init__(self, most: int, *, least: int = 1, adaptive: bool = False) -> None:
        self._most = most
        self._least = min(least, most)
        self._adaptive = adaptive
        self._limit = float(most)
        self._usual: OrderedDict[str, _Usual] = OrderedDict()
        self._since: float | None = None
        self._ratios: list[float] = []
        self._peak = 0
        self._refused = False
        self._calm = 0.0
        """Calls that ran lately without being slow."""

    @property
    def limit(self) -> int:
        return int(self._limit)

    def sample(self, kind: str, seconds: float, running: int, mono: float) -> None:
        """A first byte came after so many seconds, with so many calls running."""
        if not self._adaptive:
            return
        ratio = self._compared(kind, seconds, mono)
        if ratio is not None and len(self._ratios) < _LARGEST:
            self._ratios.append(ratio)
        self._noted(running, mono)

    def refused(self, running: int, mono: float) -> None:
        """The node itself said that it has too much, or fell silent."""
        if self._adaptive:
            self._refused = True
            self._noted(running, mono)

    def _compared(self, kind: str, seconds: float, mono: float) -> float | None:
        """How many times the usual latency this is; None: nobody knows yet what is usual."""
        mean, count, last = self._usual.pop(kind, _Usual())
        first = 1 / (count + 1) if count < _SURE else 0.0
        weight = max(first, min(1.0, (mono - last) / _MEMORY))
        self._usual[kind] = _Usual(mean + (seconds - mean) * weight, count + 1, mono)
        if len(self._usual) > _KINDS:
            self._usual.popitem(last=False)
        return seconds / mean if count >= _WARM and mean > 0 else None

    def _noted(self, running: int, mono: float) -> None:
        if self._since is None:
            self._since = mono
        self._peak = max(self._peak, running)
        enough = len(self._ratios) >= _SAMPLES or self._refused
        if enough and mono - self._since >= _WINDOW:
            self._judge(mono - self._since)
            self._since, self._ratios, self._peak, self._refused = None, [], 0, False

    def _judge(self, seconds: float) -> None:
        ratio = median(self._ratios) if len(self._ratios) >= _SAMPLES else 1.0
        if ratio < 1 / _TOLERANCE:  # an old crisis is no measure of a node that is well again
            for kind, usual in self._usual.items():
                self._usual[kind] = usual._replace(mean=usual.mean * 0.8)
        self._calm *= max(0.0, 1.0 - seconds / _TRUST)
        if self._refused:
            self._lower(_REFUSED, 0.0)
        elif ratio > _TOLERANCE:
            # With no more calls than were answered in time before, it is not their number.
            self._lower(max(0.5, _TOLERANCE / ratio), float(ceil(self._calm)))
        else:
            # Step by step: when a flood begins, first come the answers from before it.
            proven = max(self._calm, float(self._peak))
            self._calm = min(proven, self._calm + _room(self._calm))
            self._limit = min(float(self._most), self._limit + _room(self._limit))

    def _lower(self, gradient: float, floor: float) -> None:
        # A limit far above what runs would have to fall for long before it did anything.
        self._limit = min(self._limit, max(2.0 * self._peak, floor))
        aim = self._limit * gradient + (_room(self._limit) if floor else 0.0)
        lowered = self._limit + min(0.0, aim - self._limit) * _STEP
        self._limit = max(lowered, min(floor, self._limit), float(self._least))


def _room(limit: float) -> float:
    """How many more calls are tried."""
    return max(4.0, sqrt(limit))
