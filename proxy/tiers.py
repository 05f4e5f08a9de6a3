"""The stores, nearest first: read down, fill up, and no failure of theirs is a request's."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from math import nextafter
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from proxy.core.batch import whole
from proxy.core.decision import Found
from proxy.core.entry import Alias, Entry
from proxy.core.events import TierLooked
from proxy.core.want import EVER, Want, current
from proxy.demand import Demand
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.backlog import Backlog
    from proxy.core.entry import Key, Stored
    from proxy.core.request import Lookup
    from proxy.ports import Clock, Emit
    from proxy.tier import Tier

_TURN: Final = 256
"""Items looked up in a row: in a batch of many thousands, other requests come in between."""


class _Held(NamedTuple):
    """A stored value, and how far away it was."""

    stored: Stored
    depth: int


class Tiers:
    """All tiers of this process as one store of entries."""

    def __init__(self, tiers: Sequence[Tier], clock: Clock, emit: Emit, backlog: Backlog) -> None:
        self._tiers = tuple(tiers)
        self._ready = tuple(tier for tier in tiers if tier.worthy is None)
        """Those that take an answer as soon as it is there."""
        known = [tier for tier in self._ready if tier.shared]
        self._demands = {
            tier.name: Demand(tier, known, clock, emit, backlog) for tier in tiers if tier.worthy
        }
        self._depth = {tier.name: depth for depth, tier in enumerate(tiers)}
        self._clock = clock
        self._emit = emit
        self._backlog = backlog
        self.distrusted = EVER
        """What the gateway's own tiers hold of requests asked before then (unix seconds) may have
        been purged without this gateway hearing of it."""

    def near(self, lookup: Lookup, epoch: int = 0) -> Found | None:
        """The entry under the exact key, if a tier that cannot wait has it and it is current: most
        hits. A failing tier is none of this: the long way tells of it."""
        now, start = self._clock.now(), self._clock.mono()
        for depth, tier in enumerate(() if lookup.items else self._tiers):
            if tier.peek is None or tier.owed:
                return None
            try:
                stored = tier.peek(lookup.key, now)
            except StoreError:
                return None
            if not isinstance(stored, Entry) or stored.tenant != lookup.request.tenant:
                continue
            if current(stored, now, epoch, self.distrusted):
                for nearer in self._tiers[:depth]:
                    if nearer.keep is not None:
                        nearer.keep(stored, now)
                self._emit(TierLooked(tier.name, "hit", self._clock.mono() - start))
                return Found(stored, tier.name, "exact")
        return None

    async def find(
        self, lookup: Lookup, epoch: int = 0, *, beyond: float = EVER, sure: bool = False
    ) -> Found | None:
        """The entry under the exact key, else the one that the normalized key points to, else
        what these very bytes were refused with.
        `beyond`: something asked for later is hoped for, so tiers farther away are looked into as
        well. `sure`: those too that a filter would spare.
        """
        want = Want(epoch, beyond, sure, frozenset(() if lookup.items else (lookup.key,)))
        if lookup.items:
            return await self._batch(lookup, want) or await self._single(lookup, want, lookup.raw)
        keys = [lookup.key, *filter(None, (lookup.normalized, lookup.raw))]
        held = await self._held(keys, want)
        if found := self._entry(held.get(lookup.key), lookup):
            return found
        alias = None if lookup.normalized is None else held.get(lookup.normalized)
        if alias is not None:
            if found := await self._led(alias.stored, lookup, want):
                return found
            # It led nowhere, but may have been why the others were not looked for farther away.
            held = await self._held([lookup.key, lookup.raw], want)
        return self._entry(held.get(lookup.key), lookup) or self._entry(
            held.get(lookup.raw), lookup
        )

    async def _led(self, alias: Stored, lookup: Lookup, want: Want) -> Found | None:
        if not isinstance(alias, Alias) or alias.tenant != lookup.request.tenant:
            return None
        want = want._replace(answers=frozenset({alias.target}))
        found = await self._single(lookup, want, alias.target)
        return None if found is None else Found(found.entry, found.tier, "normalized")

    async def certain(self, lookup: Lookup, epoch: int) -> Found | None:
        """The entry under the exact key; None: surely nowhere. Raises: StoreError for a tier that
        could not be read, and may have it."""
        want = Want(epoch, sure=True, answers=frozenset((lookup.key,)), certain=True)
        return await self._single(lookup, want, lookup.key)

    async def _single(self, lookup: Lookup, want: Want, key: Key) -> Found | None:
        return self._entry((await self._held([key], want)).get(key), lookup)

    def _entry(self, held: _Held | None, lookup: Lookup) -> Found | None:
        """An entry, and only if it is this tenant's."""
        if held is None or not isinstance(held.stored, Entry):
            return None
        if held.stored.tenant != lookup.request.tenant:
            return None
        return Found(held.stored, self._tiers[held.depth].name, "exact")

    async def _batch(self, lookup: Lookup, want: Want) -> Found | None:
        """All items of an embeddings request as one entry, if every one is there."""
        items = await self.items(lookup, want.epoch, sure=want.sure)
        found = [items[key] for key in lookup.items if key in items]
        if len(found) < len(lookup.items):
            return None
        together = whole([one.entry for one in found], lookup)
        farthest = max(found, key=lambda one: self._depth[one.tier]).tier
        return None if together is None else Found(together, farthest, "exact")

    async def items(self, lookup: Lookup, epoch: int, *, sure: bool = False) -> dict[Key, Found]:
        """The items of an embeddings request that are there."""
        want = Want(epoch, sure=sure)
        found: dict[Key, Found] = {}
        for start in range(0, len(lookup.items), _TURN):
            held = await self._held(lookup.items[start : start + _TURN], want, every=True)
            for key, one in held.items():
                if (entry := self._entry(one, lookup)) is not None:
                    found[key] = entry
            await asyncio.sleep(0)
        return found

    async def _held(
        self, keys: Sequence[Key], want: Want, *, every: bool = False
    ) -> dict[Key, _Held]:
        """What the nearest tiers hold, down to where one of the keys, or `every` one, has a value
        that is current, and none has one that is not: in its place another process may have stored
        a newer one farther away. Raises: StoreError if that is to be certain, and is not."""
        now, silent = self._clock.now(), ""
        best: dict[Key, _Held] = {}
        missing = list(dict.fromkeys(keys))
        for depth, tier in enumerate(self._tiers):
            read = await self._read(tier, missing, now, want)
            silent = tier.name if read is None else silent
            for key, stored in (read or {}).items():
                if not tier.shared and stored.asked < self.distrusted:
                    continue
                if key not in best or stored.asked > best[key].stored.asked:
                    best[key] = _Held(stored, depth)
            ready = {key for key, held in best.items() if want.current(held.stored, now)}
            missing = [key for key in missing if key not in ready]
            if not missing or (len(ready) == len(best) > 0 and not every):
                break
        if missing and silent and want.certain:
            raise StoreError(silent, "could not be read")
        self._fill(best, now)
        return best

    async def _read(
        self, tier: Tier, keys: Sequence[Key], now: float, want: Want
    ) -> dict[Key, Stored] | None:
        demand = self._demands.get(tier.name)
        if demand is not None:
            return await demand.read(keys, want.answers, now, sure=want.sure)
        return await tier.read(keys, now, self._clock, self._emit, sure=want.sure)

    def _fill(self, found: dict[Key, _Held], now: float) -> None:
        """Have what was far away nearer by; what takes a while is done behind the answer."""
        for stored, depth in found.values():
            for tier in self._tiers[:depth]:
                if tier.keep is not None:
                    tier.keep(stored, now)
                elif tier in self._ready:
                    self._backlog.add(self._kept(tier, stored))

    async def _kept(self, tier: Tier, stored: Stored) -> None:
        if isinstance(stored, Entry):
            # No flight's answer any more: whoever had the lease since has not outdated it.
            stored = msgspec.structs.replace(stored, fence=0)
        await tier.put([stored], self._clock.now(), self._clock, self._emit)

    def used(self, entry: Entry) -> None:
        """An answer was served again: now it goes to the tiers that take only such."""
        for demand in self._demands.values():
            demand.used(entry)

    def replaced(self, entry: Entry, *, anew: bool) -> None:
        """An answer was stored, in place of what may have been. `anew`: nobody looked before."""
        for demand in self._demands.values():
            demand.replaced(entry, anew=anew)

    async def put(self, *stored: Stored, waits: bool = True) -> None:
        """Store them in every tier that takes them at once; nearest first, so that this process
        has them soonest. `waits`: also in what takes a while."""
        now = self._clock.now()
        for depth, tier in enumerate(self._ready):
            if not waits and tier.keep is None:
                return
            kept = await tier.put(stored, now, self._clock, self._emit)
            if False in kept:
                # Another process asked later and has stored it: what we hold is the older answer.
                told = list(zip(stored, kept, strict=True))
                for one in [one for one, here in told if here is False]:
                    await self._retract(self._ready[:depth], one)
                stored = tuple([one for one, here in told if here is not False])

    async def _retract(self, tiers: tuple[Tier, ...], stored: Stored) -> None:
        for tier in tiers:
            with suppress(StoreError):
                await tier.store.delete(stored.key)

    async def delete(self, key: Key, *, told: float | None = None) -> bool:
        """Forget it everywhere; whether any tier had it. `told`: another worker has purged it then
        (unix seconds), and sees to what is shared."""
        for demand in self._demands.values():
            demand.purged(key)
        return any([await one.purge(key, self._clock, self._emit, told) for one in self._tiers])

    async def drop(self, key: Key, before: float, *, shared: bool = False) -> None:
        """Forget it where it was asked for earlier, in what is `shared` with other gateways or in
        what is not."""
        for tier in self._tiers:
            if tier.shared is not shared:
                continue
            now, look = self._clock.now(), tier.read
            held = await look([key], now, self._clock, self._emit, sure=True, void=True)
            if held is None or (key in held and held[key].asked < before):
                until = min(nextafter(before, EVER), self._clock.now())
                await tier.delete(key, self._clock, self._emit, before=until)

    def __repr__(self) -> str:
        return f"<Tiers {' > '.join(map(repr, self._tiers))}>"
