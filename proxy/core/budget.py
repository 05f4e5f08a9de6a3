"""How many second attempts may be made: a share of what is asked, so that an outage is not
multiplied."""

from __future__ import annotations

from typing import Final

from proxy.core.rolling import Rolling

_WINDOW: Final = 10.0
"""Seconds whose requests are counted: an outage is met with what just before was normal."""

_FLOOR: Final = 10
"""Attempts a window beyond the share: with little traffic, a share would be none at all."""


class Budget:
    """Requests and second attempts of one worker."""

    def __init__(self, ratio: float) -> None:
        """`ratio`: second attempts, as a share of requests."""
        self._ratio = ratio
        self._counts = Rolling(_WINDOW, 2)

    def asked(self, mono: float) -> None:
        """A request came."""
        self._counts.add(mono, 1, 0)

    def spend(self, mono: float) -> bool:
        """Whether one more second attempt may be made; it counts as made then."""
        requests, attempts = self._counts.totals(mono)
        if attempts >= requests * self._ratio + (_FLOOR if self._ratio else 0):
            return False
        self._counts.add(mono, 0, 1)
        return True
