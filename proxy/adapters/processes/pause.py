"""How long the place of a worker that keeps dying stays empty."""

from __future__ import annotations

from typing import Final

YOUNG: Final = 10.0
"""Seconds; a worker that dies sooner than this after the last one is started with a delay."""
MAX_DELAY: Final = 5.0
AIDE: Final = 12.0
"""An aide may take so many times longer: it has more to load, and nobody waits for it."""
_DOUBLED: Final = 10
"""Times, at most: one that can never start would else be waited for beyond all numbers."""


def delay(young: int, most: float) -> float:
    """Seconds until the next start after so many young deaths in a row."""
    return min(0.1 * 2.0 ** min(young - 2, _DOUBLED), most) if young > 1 else 0.0
