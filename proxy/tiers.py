"""The stores, nearest first: read down, fill up, and no failure of theirs is a request's."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from proxy.core.batch import whole
from proxy.core.decision import Found
from proxy.core.entry import Alias, Entry
from proxy.core.events import TierFailed, TierLooked
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.core.entry import Key, Stored, Tenant
    from proxy.core.events import Looked
    from proxy.core.request import Lookup
    from proxy.ports import Clock, Emit, Store

    Peek: TypeAlias = Callable[[Key, float], Stored | None]
    Keep: TypeAlias = Callable[[Stored, float], bool]


class Tier:
    """A store, its name, and the seconds that a read of it may take; 0: it cannot wait."""

    def __init__(
        self,
        name: str,
        store: Store,
        timeout: float = 0.0,
        *,
        peek: Peek | None = None,
        keep: Keep | None = None,
    ) -> None:
        """`peek`, `keep`: the store's `get` and `put` without a coroutine, if it has those."""
        self.name = name
        self.store = store
        self.peek = peek
        self.keep = keep
        self.get = self._in_time if timeout else store.get
        """Raises: StoreError, TimeoutError."""
        self._timeout = timeout

    async def _in_time(self, key: Key, now: float) -> Stored | None:
        async with asyncio.timeout(self._timeout):
            return await self.store.get(key, now)


class Tiers:
    """All tiers of this process as one store of entries."""

    def __init__(self, tiers: Sequence[Tier], clock: Clock, emit: Emit) -> None:
        self._tiers = tuple(tiers)
        self._depth = {tier.name: depth for depth, tier in enumerate(tiers)}
        self._clock = clock
        self._emit = emit

    def near(self, lookup: Lookup, epoch: int = 0) -> Found | None:
        """The entry under the exact key, if a tier that cannot wait has it and it is current: most
        hits. A failing tier is none of this: the long way tells of it."""
        now, start = self._clock.now(), self._clock.mono()
        for depth, tier in enumerate(() if lookup.items else self._tiers):
            if tier.peek is None:
                return None
            try:
                stored = tier.peek(lookup.key, now)
            except StoreError:
                return None
            if not isinstance(stored, Entry) or stored.tenant != lookup.request.tenant:
                continue
            if _is_current(stored, now, epoch):
                for nearer in self._tiers[:depth]:
                    if nearer.keep is not None:
                        nearer.keep(stored, now)
                self._emit(TierLooked(tier.name, "hit", self._clock.mono() - start))
                return Found(stored, tier.name, "exact")
        return None

    async def find(self, lookup: Lookup, epoch: int = 0) -> Found | None:
        """The entry under the exact key, else the one that the normalized key points to, else
        what these very bytes were refused with."""
        tenant = lookup.request.tenant
        if lookup.items:
            found = await self._batch(lookup, epoch)
        else:
            found = await self.entry(lookup.key, tenant, epoch)
        if found is None and lookup.normalized is not None:
            found = await self._normalized(lookup.normalized, tenant, epoch)
        return found or await self.entry(lookup.raw, tenant, epoch)

    async def _normalized(self, normalized: Key, tenant: Tenant, epoch: int) -> Found | None:
        alias = await self._stored(normalized, epoch)
        if alias is None or not isinstance(alias[0], Alias) or alias[0].tenant != tenant:
            return None
        found = await self.entry(alias[0].target, tenant, epoch)
        return None if found is None else Found(found.entry, found.tier, "normalized")

    async def _batch(self, lookup: Lookup, epoch: int) -> Found | None:
        """All items of an embeddings request as one entry, if every one is there."""
        found: list[Found] = []
        for key in lookup.items:
            one = await self.entry(key, lookup.request.tenant, epoch)
            if one is None:
                return None
            found.append(one)
        together = whole([one.entry for one in found], lookup)
        farthest = max(found, key=lambda one: self._depth[one.tier]).tier
        return None if together is None else Found(together, farthest, "exact")

    async def entry(self, key: Key, tenant: Tenant, epoch: int = 0) -> Found | None:
        """The entry under this key, and only if it is this tenant's."""
        found = await self._stored(key, epoch)
        if found is None or isinstance(found[0], Alias) or found[0].tenant != tenant:
            return None
        return Found(found[0], found[1], "exact")

    async def _stored(self, key: Key, epoch: int) -> tuple[Stored, str] | None:
        """What the nearest tier holds, unless it is no longer current: then another worker may
        have stored a newer answer farther away."""
        now = self._clock.now()
        best: tuple[Stored, int] | None = None
        for depth, tier in enumerate(self._tiers):
            stored = await self._read(tier, key, now)
            if stored is not None and (best is None or stored.asked > best[0].asked):
                best = stored, depth
            if best is not None and _is_current(best[0], now, epoch):
                break
        if best is None:
            return None
        stored, depth = best
        if depth:
            await self._put(self._tiers[:depth], stored)
        return stored, self._tiers[depth].name

    async def _read(self, tier: Tier, key: Key, now: float) -> Stored | None:
        start = self._clock.mono()
        try:
            stored = tier.peek(key, now) if tier.peek else await tier.get(key, now)
        except (StoreError, TimeoutError):
            self._emit(TierFailed(tier.name, "get"))
            self._emit(TierLooked(tier.name, "error", self._clock.mono() - start))
            return None
        result: Looked = "miss" if stored is None else "hit"
        self._emit(TierLooked(tier.name, result, self._clock.mono() - start))
        return stored

    async def put(self, *stored: Stored) -> None:
        """Store them in every tier; nearest first, so that this process has them at once."""
        if len(stored) == 1:
            await self._put(self._tiers, stored[0])
        else:  # together, so that a tier can take them as one
            await asyncio.gather(*(self._put(self._tiers, one) for one in stored))

    async def _put(self, tiers: tuple[Tier, ...], stored: Stored) -> None:
        now = self._clock.now()
        for depth, tier in enumerate(tiers):
            try:
                kept = await tier.store.put(stored, now)
            except StoreError:
                self._emit(TierFailed(tier.name, "put"))
                continue
            if not kept:
                # Another process asked later and has stored it: what we hold is the older answer.
                return await self._retract(tiers[:depth], stored)

    async def _retract(self, tiers: tuple[Tier, ...], stored: Stored) -> None:
        for tier in tiers:
            with suppress(StoreError):
                await tier.store.delete(stored.key)

    async def delete(self, key: Key) -> bool:
        """Forget it everywhere; whether any tier had it."""
        had = False
        for tier in self._tiers:
            try:
                had = await tier.store.delete(key) or had
            except StoreError:
                self._emit(TierFailed(tier.name, "delete"))
        return had

    def __repr__(self) -> str:
        return f"<Tiers {' > '.join(repr(tier.store) for tier in self._tiers)}>"


def _is_current(stored: Stored, now: float, epoch: int) -> bool:
    """Whether no newer answer is to be looked for."""
    if isinstance(stored, Alias):
        return True
    return stored.epoch >= epoch and now < stored.created + stored.ttl
