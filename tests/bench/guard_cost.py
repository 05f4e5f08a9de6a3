"""What the text side of a look-up costs: reading a question, its key, whether it is eligible, and
the guards on a pair.

    python -m tests.bench.guard_cost

Medians over the pairs of each set, in microseconds of this process. Exit code 1: a typical reading
took more than 125 us, or the guards on a pair 200 us or more.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import Final

from semantic.alike import alike
from semantic.canonical import question
from semantic.eligible import ineligible
from semantic.guard.verdict import BASE, STRICT, refusal
from semantic.reading import Reading, read
from semantic.settings import Settings
from tests.semantic.ladder import SETS, TTL, pairs

_READING: Final = 125.0
_PAIR: Final = 200.0
_ROUNDS: Final = 5


def micros(run: Callable[[], object]) -> float:
    """The least of a few runs: what it costs when nothing else is done meanwhile."""
    taken = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return 1e6 * min(taken)


def every(asked: Reading, stored: Reading) -> list[bool]:
    """Each guard's word, also where another has refused."""
    return [guard(asked, stored) for guard in (*BASE.values(), *STRICT.values())]


def report(name: str, settings: Settings) -> bool:
    """Print one set's medians; whether they are within the limits."""
    listed = pairs(name)
    texts = [text for pair in listed for text in (pair.a, pair.b)]
    read_all = [read(text, settings.terms) for text in texts]
    sides = list(zip(read_all[::2], read_all[1::2], strict=True))
    cost = {
        "read": median(micros(partial(read, text, settings.terms)) for text in texts),
        "key": median(micros(partial(question, one)) for one in read_all),
        "eligible": median(micros(partial(ineligible, one, TTL, settings)) for one in read_all),
        "verdict": median(micros(partial(refusal, *pair, settings)) for pair in sides),
        "all guards": median(micros(partial(every, *pair)) for pair in sides),
        "alike": median(micros(partial(alike, *pair)) for pair in sides),
    }
    print(f"{name:12} " + "  ".join(f"{what} {spent:6.1f}" for what, spent in cost.items()))
    return cost["read"] <= _READING and cost["all guards"] < _PAIR


def main() -> int:
    return 0 if {report(name, Settings()) for name in SETS} == {True} else 1


if __name__ == "__main__":
    sys.exit(main())
