"""Exact bounds on a share that was only sampled: one-sided, after Clopper and Pearson (1934)."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_HALVINGS: Final = 60
"""Of the interval from 0 to 1: what is left is below the precision of a float near 1."""
_NEVER: Final = 1 << 32
_TINY: Final = 1e-300
_EPSILON: Final = 1e-15
_KNOWN: Final = 16_384
"""Bounds that are remembered: each takes 0.3 ms, and the figures of a thousand groups are asked
for four times a second."""
_STEPS: Final = 10_000
"""Of the continued fraction, which takes about the root of the larger parameter."""


@lru_cache(maxsize=_KNOWN)
def upper(wrong: int, count: int, confidence: float = 0.95) -> float:
    """The share that is not exceeded, at this confidence, where `wrong` of `count` were seen."""
    if wrong >= count:
        return 1.0
    if wrong == 0:
        return 1.0 - math.pow(1.0 - confidence, 1.0 / count)
    return _crossing(lambda share: at_most(wrong, count, share) > 1.0 - confidence)


def lower(wrong: int, count: int, confidence: float = 0.95) -> float:
    """The share that is reached, at this confidence, where `wrong` of `count` were seen."""
    if wrong <= 0:
        return 0.0
    return _crossing(lambda share: 1.0 - at_most(wrong - 1, count, share) < 1.0 - confidence)


def at_most(wrong: int, count: int, share: float) -> float:
    """The chance of at most `wrong` of `count` where each is wrong with the chance `share`."""
    if wrong < 0:
        return 0.0
    if wrong >= count or share <= 0.0:
        return 1.0
    if share >= 1.0:
        return 0.0
    return _beta(count - wrong, wrong + 1, 1.0 - share, share)


def needed(share: float, chance: float) -> int:
    """How many have to be right, and none wrong, before more than `share` of wrong ones is less
    likely than `chance`; more than there ever are where `share` is 0."""
    if not 0.0 < share < 1.0:
        return 1 if share > 0.0 else _NEVER
    return math.ceil(math.log(chance) / math.log1p(-share))


def _crossing(below: Callable[[float], bool]) -> float:
    """Where a condition that holds for small shares ceases to."""
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if below(middle):
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _beta(a: float, b: float, x: float, y: float) -> float:
    """The regularised incomplete beta function of x (DLMF 8.17), where x + y = 1, y > 0. Both are
    given, since a small one is lost in the difference from 1."""
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    front = math.exp(scale + a * math.log1p(-y) + b * math.log(y))
    # The fraction converges fast on this side of the mean only; the other is symmetric.
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1.0 - front * _fraction(b, a, y) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of DLMF 8.17.22, from the front (Lentz, 1976)."""
    above, below = 1.0, 1.0 / _away(1.0 - (a + b) * x / (a + 1))
    value = below
    for step in range(1, _STEPS):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        for term in (even, odd):
            below = 1.0 / _away(1.0 + term * below)
            above = _away(1.0 + term / above)
            value *= above * below
        if abs(above * below - 1.0) < _EPSILON:
            break
    return value


def _away(value: float) -> float:
    """The value, kept from being zero."""
    return value if abs(value) > _TINY else _TINY
