"""Keys about which something is remembered for a while."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.core.entry import Key
    from proxy.ports import Clock


class Marks:
    """Keys that are marked until a time; the one marked longest ago is forgotten first."""

    def __init__(self, limit: int, clock: Clock, usual: float = 0.0) -> None:
        """`limit`: keys. `usual`: seconds that a mark lasts where nothing else is said."""
        self._limit = limit
        self._clock = clock
        self._usual = usual
        self._until: OrderedDict[Key, float] = OrderedDict()

    def set(self, key: Key, seconds: float | None = None) -> None:
        """Mark it from now on, for so long; for no time: take the mark away."""
        lasting = self._usual if seconds is None else seconds
        self._until.pop(key, None)  # so that it is the youngest
        if lasting <= 0 or self._limit <= 0:
            return
        while len(self._until) >= self._limit:
            self._until.popitem(last=False)
        self._until[key] = self._clock.mono() + lasting

    def has(self, key: Key) -> bool:
        """Whether it is marked now."""
        until = self._until.get(key)
        if until is None:
            return False
        if until <= self._clock.mono():
            del self._until[key]
            return False
        return True

    def drop(self, key: Key) -> None:
        """Take the mark away."""
        self._until.pop(key, None)

    def __len__(self) -> int:
        return len(self._until)

    def __repr__(self) -> str:
        return f"<Marks {len(self)}/{self._limit}>"
