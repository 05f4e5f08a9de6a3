"""The nearest tier: entries of this process, bounded in bytes."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

import msgspec

from proxy.core.entry import Entry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from proxy.core.entry import Key, Stored

_LARGEST_SHARE: Final = 8
"""An entry above this part of the bound is not kept: it would drive out too many others."""
_PINNED_SHARE: Final = 2
"""Pinned entries fill at most this part of the bound; beyond it they are like all others."""
_GLANCES: Final = 2
"""Places looked at for expired entries on each put: all are seen before as many puts again."""
_PORTION: Final = 256
_NONE: Final = -1


class Stats(msgspec.Struct, frozen=True):
    """How full it is, and what it dropped so far to make room."""

    entries: int
    bytes: int
    evictions: int


class Memory:
    """A Store that evicts by SIEVE (Zhang et al., NSDI 2024): one pass of keys that nobody asks
    for twice does not drive out those that are asked for.

    Every operation is O(1) amortized. Places are numbers into flat arrays, linked from the
    oldest entry to the newest: no object per entry that the garbage collector would walk. Pinned
    entries are not in that order, so that nothing walks past them: they go when they end.
    """

    def __init__(self, max_bytes: int, ttl: float) -> None:
        """`ttl`: seconds after which a copy is dropped even if the entry lives longer."""
        self._max_bytes = max_bytes
        self._ttl = ttl
        self._bytes = 0
        self._pinned_bytes = 0
        self._evictions = 0
        self._places: dict[Key, int] = {}
        self._held: list[Stored | None] = []
        self._until = array("d")
        self._weight = array("q")
        self._newer = array("q")
        self._older = array("q")
        self._asked_for = bytearray()
        self._pinned = bytearray()
        self._free: list[int] = []
        self._newest = self._oldest = self._hand = _NONE
        self._glance = 0

    def __repr__(self) -> str:
        return f"<Memory {len(self._places)} entries, {self._bytes}/{self._max_bytes} bytes>"

    async def get(self, key: Key, now: float) -> Stored | None:
        """What is held; never raises."""
        return self.peek(key, now)

    async def get_all(self, keys: Sequence[Key], now: float) -> dict[Key, Stored]:
        """`get` for several at once."""
        return {key: held for key in keys if (held := self.peek(key, now)) is not None}

    async def put(self, stored: Stored, now: float) -> bool:
        """Hold it; False: something asked for later is held. Never raises."""
        return self.keep(stored, now)

    async def delete(self, key: Key) -> bool:
        """Forget it; whether it was held."""
        return self.drop(key)

    def peek(self, key: Key, now: float) -> Stored | None:
        """`get` for the hot path, without a coroutine."""
        place = self._places.get(key)
        if place is None:
            return None
        if self._until[place] <= now:
            self._remove(place)
            return None
        self._asked_for[place] = 1
        return self._held[place]

    def keep(self, stored: Stored, now: float) -> bool:
        """`put` without a coroutine."""
        self._glance_for_expired(now)
        place = self._places.get(stored.key)
        if place is not None:
            held = self._held[place]
            if held is not None and held.asked > stored.asked and self._until[place] > now:
                return False
        until = min(now + self._ttl, stored.expires)
        if until <= now or (weight := stored.weight) * _LARGEST_SHARE > self._max_bytes:
            # What was held is older than what is now right, so it may not stay either.
            self.drop(stored.key)
            return True
        if place is None:
            self._make_room(weight, now)
            place = self._insert(stored.key)
        self._held[place], self._until[place] = stored, until
        self._weigh(place, weight)
        self._pin(place, wanted=isinstance(stored, Entry) and stored.pinned)
        self._make_room(0, now, spare=place)
        return True

    async def questions(self, now: float) -> AsyncIterator[list[Entry]]:
        """The entries whose questions others can be compared with, some at a time."""
        keys = list(self._places)
        for start in range(0, len(keys), _PORTION):
            places = map(self._places.get, keys[start : start + _PORTION])
            held = [self._held[place] for place in places if place is not None]
            entries = [one for one in held if isinstance(one, Entry) and one.expires > now]
            yield [one for one in entries if one.question is not None]

    async def holds(self, keys: Sequence[Key], now: float) -> dict[Key, float]:
        """When those of them were asked for that have a question; no use of them. Never raises."""
        places = [place for key in keys if (place := self._places.get(key)) is not None]
        held = [self._held[place] for place in places if self._until[place] > now]
        asked = [one for one in held if isinstance(one, Entry) and one.question is not None]
        return {one.key: one.asked for one in asked}

    def drop(self, key: Key) -> bool:
        """`delete` without a coroutine."""
        place = self._places.get(key)
        if place is None:
            return False
        self._remove(place)
        return True

    def clear(self) -> int:
        """Forget everything; how many entries that were."""
        count = len(self._places)
        for key in list(self._places):
            self.drop(key)
        return count

    def stats(self) -> Stats:
        """A snapshot."""
        return Stats(len(self._places), self._bytes, self._evictions)

    def _make_room(self, weight: int, now: float, spare: int = _NONE) -> None:
        while self._bytes + weight > self._max_bytes:
            victim = self._sieve(now, spare)
            if victim == _NONE:
                return
            self._evictions += 1
            self._remove(victim)

    def _sieve(self, now: float, spare: int) -> int:
        """The place to give up: from the hand on towards newer ones, the first that was not asked
        for since the hand last passed; none, if there are only pinned ones and `spare`."""
        if self._oldest == _NONE or self._oldest == self._newest == spare:
            return _NONE
        place = self._hand if self._hand != _NONE else self._oldest
        while place == spare or (self._asked_for[place] and self._until[place] > now):
            self._asked_for[place] = 0
            place = self._newer[place] if self._newer[place] != _NONE else self._oldest
        self._hand = place
        return place

    def _glance_for_expired(self, now: float) -> None:
        for _ in range(min(_GLANCES, len(self._held))):
            self._glance = (self._glance + 1) % len(self._held)
            if self._held[self._glance] is not None and self._until[self._glance] <= now:
                self._remove(self._glance)

    def _insert(self, key: Key) -> int:
        if self._free:
            place = self._free.pop()
        else:
            place = len(self._held)
            self._held.append(None)
            self._until.append(0.0)
            for column in (self._weight, self._newer, self._older):
                column.append(0)
            self._asked_for.append(0)
            self._pinned.append(0)
        self._asked_for[place] = 0
        self._link(place)
        self._places[key] = place
        return place

    def _remove(self, place: int) -> None:
        held = self._held[place]
        if held is not None:
            del self._places[held.key]
        if self._pinned[place]:
            self._pinned[place] = 0
            self._pinned_bytes -= self._weight[place]
        else:
            self._unlink(place)
        self._weigh(place, 0)
        self._held[place] = None
        self._free.append(place)

    def _link(self, place: int) -> None:
        """Make it the newest of those that can be evicted."""
        self._newer[place], self._older[place] = _NONE, self._newest
        if self._newest == _NONE:
            self._oldest = place
        else:
            self._newer[self._newest] = place
        self._newest = place

    def _unlink(self, place: int) -> None:
        newer, older = self._newer[place], self._older[place]
        if self._hand == place:
            self._hand = newer
        if newer == _NONE:
            self._newest = older
        else:
            self._older[newer] = older
        if older == _NONE:
            self._oldest = newer
        else:
            self._newer[older] = newer

    def _pin(self, place: int, *, wanted: bool) -> None:
        """Take it out of what can be evicted, if that is wanted and there is room for it."""
        was, weight = bool(self._pinned[place]), self._weight[place]
        others = self._pinned_bytes - weight * was
        pinned = wanted and (others + weight) * _PINNED_SHARE <= self._max_bytes
        if pinned == was:
            return
        self._pinned[place], self._pinned_bytes = pinned, others + weight * pinned
        if pinned:
            self._unlink(place)
        else:
            self._link(place)

    def _weigh(self, place: int, weight: int) -> None:
        more = weight - self._weight[place]
        self._bytes += more
        self._weight[place] = weight
        if self._pinned[place]:
            self._pinned_bytes += more
