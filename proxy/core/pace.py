"""How soon a node begins to stream an answer, and from when on its first byte is late."""

from __future__ import annotations

from math import inf
from typing import Final

_BASE: Final = 512.0
"""Tokens that take about as long as all that a first byte takes besides its prompt."""
_TIMES: Final = 3.0
"""So many times the slowest of late is no sign of anything."""
_FADES: Final = 0.95
"""By each stream, what is remembered of a slow one: after fifty a twelfth is left."""
LEAST: Final = 0.5
"""Seconds: no first byte is late before. With a probe of the same length, that fails, the node was
silent for a second: for no less than two failed probes in a row prove."""


class Pace:
    """Of one node's streams."""

    def __init__(self) -> None:
        self._slowest = 0.0
        """Seconds a token, of late."""

    def took(self, tokens: float, seconds: float) -> None:
        """A first byte came after so many seconds, with so many tokens to be computed before it."""
        self._slowest = max(seconds / (tokens + _BASE), self._slowest * _FADES)

    def allowed(self, tokens: float) -> float:
        """Seconds that a first byte may take; for ever, where none ever came."""
        if not self._slowest:
            return inf
        return max(LEAST, _TIMES * self._slowest * (tokens + _BASE))

    def __repr__(self) -> str:
        return f"<Pace {1000 * self._slowest * _BASE:.0f} ms>"
