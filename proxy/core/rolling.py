"""Counts of what happened lately: old ones fall out by themselves."""

from __future__ import annotations

from collections import deque
from typing import Final

_SLICES: Final = 10
"""So many parts a window is kept in: what is counted is at most a tenth older than the window."""


class Rolling:
    """Several counts over the last `span` seconds. `mono` never goes back."""

    def __init__(self, span: float, counts: int) -> None:
        self._slice = span / _SLICES
        self._slices: deque[tuple[int, list[int]]] = deque()
        self._totals = [0] * counts

    def add(self, mono: float, *amounts: int) -> None:
        """One amount for each count."""
        self._forget(mono)
        number = int(mono / self._slice)
        if not self._slices or self._slices[-1][0] != number:
            self._slices.append((number, [0] * len(self._totals)))
        latest = self._slices[-1][1]
        for place, amount in enumerate(amounts):
            latest[place] += amount
            self._totals[place] += amount

    def totals(self, mono: float) -> tuple[int, ...]:
        """Each count, over the window that ends at `mono`."""
        self._forget(mono)
        return tuple(self._totals)

    def _forget(self, mono: float) -> None:
        oldest = int(mono / self._slice) - _SLICES
        while self._slices and self._slices[0][0] < oldest:
            for place, amount in enumerate(self._slices.popleft()[1]):
                self._totals[place] -= amount
