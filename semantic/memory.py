"""What is known of stored questions besides their vectors: texts, lives, canonical forms."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple


class Held(NamedTuple):
    """A stored question."""

    scope: bytes
    text: str
    expires: float
    """Unix seconds."""
    epoch: int
    canonical: bytes
    """Of the question, within its scope; empty: it has none."""


class Memory:
    """Stored questions by the key of their answer, and by canonical form within their scope."""

    def __init__(self, limit: int) -> None:
        """`limit`: questions; those that were not used for longest make room."""
        self._limit = limit
        self._held: OrderedDict[bytes, Held] = OrderedDict()
        self._same: dict[bytes, bytes] = {}
        self.epoch = 0
        """The last that was heard of: what is older is void."""

    def add(self, key: bytes, held: Held) -> list[tuple[bytes, Held]]:
        """Remember it in place of whatever had that key; what had to go for it."""
        self.remove(key)
        self._held[key] = held
        if held.canonical:
            self._same[held.scope + held.canonical] = key
        gone = []
        while len(self._held) > self._limit:
            oldest = next(iter(self._held))
            gone.append((oldest, self._held[oldest]))
            self.remove(oldest)
        return gone

    def remove(self, key: bytes) -> Held | None:
        """Forget it; what it was."""
        held = self._held.pop(key, None)
        if held is not None and self._same.get(held.scope + held.canonical) == key:
            del self._same[held.scope + held.canonical]
        return held

    def get(self, key: bytes) -> Held | None:
        """What is known of it, as used just now."""
        held = self._held.get(key)
        if held is not None:
            self._held.move_to_end(key)
        return held

    def same(self, scope: bytes, canonical: bytes) -> bytes | None:
        """The key of the answer to the question of this scope with this canonical form."""
        return self._same.get(scope + canonical)

    def lives(self, held: Held, now: float) -> bool:
        """Whether there may still be an answer to it at `now` (unix seconds)."""
        return held.expires > now and held.epoch >= self.epoch

    def dead(self, now: float) -> list[bytes]:
        """Those that there is no answer to any more."""
        return [key for key, held in self._held.items() if not self.lives(held, now)]

    def __len__(self) -> int:
        return len(self._held)
