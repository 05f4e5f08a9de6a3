"""What is looked for in the tiers, and when no farther one need be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.core.entry import Alias

if TYPE_CHECKING:
    from proxy.core.entry import Entry, Key, Stored

EVER: Final = float("-inf")
"""Of a time: before all others."""


class Want(NamedTuple):
    """What is looked for: of this epoch, asked for after `beyond`, and whether for `sure`."""

    epoch: int = 0
    beyond: float = EVER
    sure: bool = False
    answers: frozenset[Key] = frozenset()
    """The keys that may name a whole answer: not a part of one, a refusal or an alias."""
    certain: bool = False
    """Whether that there is nothing may only be said if every tier was read."""

    def current(self, stored: Stored, now: float) -> bool:
        """Whether no newer answer is to be looked for farther away."""
        if isinstance(stored, Alias):
            return stored.asked > self.beyond
        return current(stored, now, self.epoch, self.beyond)


def current(entry: Entry, now: float, epoch: int, beyond: float) -> bool:
    """The same of an entry."""
    fresh = now < entry.created + entry.ttl
    return fresh and entry.epoch >= epoch and entry.asked > beyond
