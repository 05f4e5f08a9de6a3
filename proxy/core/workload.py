"""How many requests an engine has, by the Prometheus text that it shows, and whose they are."""

from __future__ import annotations

import re
from math import isfinite
from typing import Final, NamedTuple

from proxy.core.route import Load

_NAMES: Final = (
    (b"vllm:num_requests_running", b"vllm:num_requests_waiting"),
    (b"sglang:num_running_reqs", b"sglang:num_queue_reqs"),
    (b"llamacpp:requests_processing", b"llamacpp:requests_deferred"),
)
"""Of each engine: requests that it computes, and those that wait for that."""
_SAMPLE: Final = re.compile(rb'(?:\{(?:[^"{}\n]++|"(?:[^"\\\n]++|\\.)*+")*+\})?[ \t]+([^\s]{1,40})')
"""What follows a name: labels, and the value."""
_ENGINES: Final = 1024
"""In one text; of more, the first."""
_LINE: Final = 2048
"""Bytes."""
_MOST: Final = 1e6
_LONGEST: Final = 3.0
"""Seconds for which it is believed: it is asked each second, and an engine may miss one."""

_WAITS: Final = 2048.0
"""Tokens that a request of somebody else counts which waits: as many as a usual prompt has."""
_RUNS: Final = 256.0
"""And one that runs. Its prompt is mostly computed, but what it still has to say takes its part of
each step: about as much as the prefill of so many tokens."""


class Workload(NamedTuple):
    """Requests, of all engines in one text."""

    running: float
    waiting: float


def workload(text: bytes) -> Workload | None:
    """What the text says; None: nothing that can be read. Values that are no number are left out,
    and so are negative ones."""
    found: list[list[float]] = [[], []]
    for names in _NAMES:
        for values, name in zip(found, names, strict=True):
            values += _values(text, name)
    if not found[0] and not found[1]:
        return None
    return Workload(*(min(_MOST, sum(values)) for values in found))


def _values(text: bytes, name: bytes) -> list[float]:
    values: list[float] = []
    at, left = text.find(name), _ENGINES
    while at >= 0 and left:
        end, left = at + len(name), left - 1
        # Elsewhere it is a comment, a label's value, or the beginning of a longer name.
        sample = (
            _SAMPLE.match(text, end, end + _LINE) if at == 0 or text[at - 1 : at] == b"\n" else None
        )
        if sample is not None and (value := _number(sample[1])) is not None:
            values.append(value)
        at = text.find(name, end)
    return values


def _number(spelled: bytes) -> float | None:
    try:
        value = float(spelled)
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None


class Strangers(NamedTuple):
    """What others than the gateways have an engine do, as it was at one moment."""

    requests: float = 0.0
    load: Load = Load(0.0, 0)
    mono: float = float("-inf")

    def now(self, mono: float) -> Load:
        """What of it still counts."""
        return self.load if mono - self.mono <= _LONGEST else NOBODY.load


NOBODY: Final = Strangers()


def strangers(told: Workload, known: int, mono: float) -> Strangers:
    """What is beyond the `known` requests, those of the gateways. Which of all wait nobody says, so
    of both there are as many as their share."""
    total = told.running + told.waiting
    beyond = max(0.0, total - known)
    waiting = beyond * told.waiting / total if total else 0.0
    tokens = waiting * _WAITS + (beyond - waiting) * _RUNS
    return Strangers(beyond, Load(tokens, round(beyond)), mono)
