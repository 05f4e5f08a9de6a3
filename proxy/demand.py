"""What goes to a tier that takes only what was dear and is used again, and what may not stay."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from proxy.core.entry import Entry
from proxy.core.want import EVER
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from proxy.backlog import Backlog
    from proxy.core.entry import Key, Stored
    from proxy.ports import Clock, Emit
    from proxy.tier import Tier

_REMEMBERED: Final = 65536
"""Keys of which is known that they were used, or looked for; of others the tier is asked again."""
_MOMENT: Final = 2.0
"""Seconds in which what was not there need not be looked for again: nothing gets there that is in
no nearer tier."""
_WAITED: Final = 30.0
"""Seconds between a look and the upstream call that it led to, at most: lease and queue."""
_LEAST: Final = 1e-6
"""Seconds by which two answers differ in when they were asked for."""
_PAUSE: Final = 5.0
"""Seconds without writing after a write that failed: the next use of an answer tries again."""


class Demand:
    """What one demanding tier is asked and given."""

    def __init__(
        self,
        tier: Tier,
        witnesses: Sequence[Tier],
        clock: Clock,
        emit: Emit,
        backlog: Backlog,
    ) -> None:
        """`witnesses`: what all gateways share and fill at once, so that it knows newer answers."""
        self._tier = tier
        self._witnesses = tuple(witnesses)
        self._clock = clock
        self._emit = emit
        self._backlog = backlog
        self._uses: OrderedDict[Key, float] = OrderedDict()
        """When the answers were asked for that were written, or are being written."""
        self._absent: OrderedDict[Key, float] = OrderedDict()
        self._looked: OrderedDict[Key, float] = OrderedDict()
        self._resting = EVER

    async def read(
        self, keys: Sequence[Key], answers: Collection[Key], now: float, *, sure: bool
    ) -> dict[Key, Stored] | None:
        """What it holds of these `keys` that may name whole answers: nothing else is ever there,
        and each look is paid for. None: it cannot say, or could not just now."""
        named = [key for key in keys if key in answers]
        asked = [key for key in named if not self._just_looked(key, now)]
        if not asked:
            return {} if all(key in self._absent for key in named) else None
        known = self._tier.filter
        looks = sure or known is None or any(map(known.might_have, asked))
        found = await self._tier.read(asked, now, self._clock, self._emit, sure=sure)
        for key in asked if looks else ():
            _note(self._looked, key, now)
            if found is not None and key not in found:
                _note(self._absent, key, now)
            else:
                self._absent.pop(key, None)
        for key, stored in (found or {}).items():
            _note(self._uses, key, stored.asked)  # so it need not be written
        return found

    def used(self, entry: Entry) -> None:
        """A fresh answer was served again."""
        if entry.status != 200 or self._tier.worthy is None or not self._tier.worthy(entry):
            return
        now = self._clock.now()
        if self._uses.get(entry.key, EVER) >= entry.asked or now >= entry.created + entry.ttl:
            return
        if self._clock.mono() >= self._resting:
            _note(self._uses, entry.key, entry.asked)
            self._backlog.add(self._written(entry))

    def replaced(self, entry: Entry, *, anew: bool) -> None:
        """A newer answer is there: an older one, that the tier has or is being given, may not come
        up again once the nearer tiers have forgotten the newer one. `anew`: it was asked for
        without a look for what is stored."""
        looked = self._absent.pop(entry.key, EVER)
        if self._uses.get(entry.key, EVER) >= entry.asked:
            return  # used so soon that it is being written, over the older one
        self._uses.pop(entry.key, None)
        if anew or looked < entry.asked - _WAITED:
            self._backlog.add(self._dropped(entry.key, entry.asked))

    def purged(self, key: Key) -> None:
        """What is being written of it is not to stay."""
        self._uses.pop(key, None)

    def _just_looked(self, key: Key, now: float) -> bool:
        return now - self._looked.get(key, EVER) < _MOMENT

    async def _written(self, entry: Entry) -> None:
        (kept,) = await self._tier.put([entry], self._clock.now(), self._clock, self._emit)
        if kept is None:
            self._uses.pop(entry.key, None)
            self._resting = self._clock.mono() + _PAUSE
            return
        for known in (self._looked, self._absent):
            known.pop(entry.key, None)
        if self._uses.get(entry.key) != entry.asked or await self._outdated(entry):
            await self._dropped(entry.key, entry.asked + _LEAST)

    async def _outdated(self, entry: Entry) -> bool:
        """Whether another gateway has stored a newer one meanwhile, or before: this one may still
        have served what it held."""
        for tier in self._witnesses:
            with suppress(StoreError):
                there = await tier.store.get(entry.key, self._clock.now())
                if isinstance(there, Entry) and there.asked > entry.asked:
                    return True
        return False

    async def _dropped(self, key: Key, before: float) -> None:
        await self._tier.delete(key, self._clock, self._emit, before=before)

    def __repr__(self) -> str:
        return f"<Demand {self._tier.name}, {len(self._uses)} used>"


def _note(known: OrderedDict[Key, float], key: Key, at: float) -> None:
    known.pop(key, None)  # behind all others
    known[key] = at
    if len(known) > _REMEMBERED:
        known.popitem(last=False)
