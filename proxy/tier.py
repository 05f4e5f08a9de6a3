"""One level of storage: its reads in time, and none of its failures anybody else's."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

from proxy.core.debts import Debts
from proxy.core.events import TierFailed, TierLooked, TierSpared, TierTurned
from proxy.core.outage import Outage
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from proxy.core.entry import Entry, Key, Stored
    from proxy.core.events import Operation
    from proxy.ports import Clock, Emit, Store

    Peek: TypeAlias = Callable[[Key, float], Stored | None]
    Keep: TypeAlias = Callable[[Stored, float], bool]
    GetAll: TypeAlias = Callable[[Sequence[Key], float], Awaitable[dict[Key, Stored]]]
    PutAll: TypeAlias = Callable[[Sequence[Stored], float], Awaitable[list[bool]]]
    Holds: TypeAlias = Callable[[Sequence[Key], float], Awaitable[dict[Key, float]]]
    Worthy: TypeAlias = Callable[[Entry], bool]

_FAILURES: Final = 5
_PAUSE: Final = 1.0
"""After so many failures in a row, one attempt in so many seconds."""
_DELETING: Final = 1.0
"""Seconds for a deletion that somebody waits for, as a purge does."""
_STORING: Final = 5.0
"""Seconds for a write, which no request waits for. But a flight does, and whoever asks meanwhile
boards it: for ever, and whatever age its answer has, where a disk hangs or a frozen process holds
the file's lock."""
_SETTLE_EVERY: Final = 1.0
_OWED: Final = 10_000
"""Deletions that are tried again until they were made."""


class Filter(Protocol):
    """Which keys a tier may have. Wrong only in one way: it may say no of what others stored."""

    def might_have(self, key: Key) -> bool: ...

    def added(self, key: Key) -> None: ...


class Tier:
    """A store, its name, and the seconds that a read of it may take; 0: it sees to that itself."""

    def __init__(
        self,
        name: str,
        store: Store,
        timeout: float = 0.0,
        *,
        peek: Peek | None = None,
        keep: Keep | None = None,
        get_all: GetAll | None = None,
        put_all: PutAll | None = None,
        holds: Holds | None = None,
        filter: Filter | None = None,
        worthy: Worthy | None = None,
        shared: bool = False,
        outage: Outage | None = None,
        silent: Callable[[], bool] = bool,
        storing: float = _STORING,
    ) -> None:
        """`peek`, `keep`: the store's `get` and `put` without a coroutine, if it has those;
        `get_all`, `put_all`: the same for several at once, if they take no time to speak of.
        `holds`: when those of some keys were asked for that have a question, without their bodies.
        `worthy`: it takes only such entries, and only once they are used again. `shared`: by all
        gateways, so that a purge has reached it whatever this one has heard. `outage`: whether
        trying has a point; None: after a few failures it is tried now and then only. `silent`:
        whether somebody has just waited for it in vain: nobody looks a second time then.
        `storing`: seconds that a write may take, as far as anybody waits for it."""
        self.name, self.store = name, store
        self.peek, self.keep = peek, keep
        self.get_all, self.put_all = get_all, put_all
        self._holds = holds
        self.filter = filter
        self.worthy = worthy
        self.shared = shared
        self._silent = silent
        self._timeout, self._storing = timeout or None, storing
        self._outage = outage or Outage(_FAILURES, _PAUSE)
        self.owed, self._void = Debts(_OWED, strict=True), Debts(_OWED)
        """What could not be deleted here when it should have been; and perhaps not by others."""

    async def read(
        self,
        keys: Sequence[Key],
        now: float,
        clock: Clock,
        emit: Emit,
        *,
        sure: bool,
        void: bool = False,
    ) -> dict[Key, Stored] | None:
        """What it holds of these, asked for at once; None: it cannot say. `sure`: whatever the
        filter says. `void`: also what others were to delete."""
        start = clock.mono()
        if not sure and not (keys := self._passing(keys)):
            emit(TierSpared(self.name))
            return {}
        if (sure and self._silent()) or not self._outage.admits(start):
            return None
        owed = self.owed.among(keys)  # it may be paid before the answer is here
        try:
            found = await (self.get_all or self._got)(keys, now)
        except (StoreError, TimeoutError) as error:
            self._failed("get", error, clock, emit)
            emit(TierLooked(self.name, "error", clock.mono() - start))
            return None
        self._worked(emit)
        if sure and (known := self.filter) is not None:
            for key in found:
                known.added(key)
        emit(TierLooked(self.name, "hit" if found else "miss", clock.mono() - start))
        hidden = (owed, self.owed) if void else (owed, self.owed, self._void)
        return {key: one for key, one in found.items() if not _among(hidden, one, now)}

    def _passing(self, keys: Sequence[Key]) -> Sequence[Key]:
        known = self.filter
        return keys if known is None else [key for key in keys if known.might_have(key)]

    async def _got(self, keys: Sequence[Key], now: float) -> dict[Key, Stored]:
        async with asyncio.timeout(self._timeout):
            if len(keys) == 1:
                stored = await self.store.get(keys[0], now)
                return {} if stored is None else {keys[0]: stored}
            # Together, so that the store can ask for them in one go.
            got = await asyncio.gather(*(self.store.get(key, now) for key in keys))
        return {key: stored for key, stored in zip(keys, got, strict=True) if stored is not None}

    async def holds(
        self, keys: Sequence[Key], now: float, clock: Clock, emit: Emit
    ) -> dict[Key, float] | None:
        """When the entries under these keys were asked for that have a question, as far as there
        are such; None: it cannot say."""
        if self._holds is None or self._silent() or not self._outage.admits(clock.mono()):
            return None
        try:
            held = await self._holds(keys, now)
        except StoreError as error:
            self._failed("audit", error, clock, emit)
            return None
        self._worked(emit)
        return held

    async def put(
        self, stored: Sequence[Stored], now: float, clock: Clock, emit: Emit
    ) -> Sequence[bool | None]:
        """Keep them. Of each, False: something asked for later is there; None: it cannot be kept
        now."""
        if not self._outage.admits(clock.mono()):
            return [None] * len(stored)
        try:
            kept = await self._put(stored, now)
        except (StoreError, TimeoutError) as error:
            self._failed("put", error, clock, emit)
            return [None] * len(stored)
        self._worked(emit)
        for one, here in zip(stored, kept, strict=True):
            if here:
                self.owed.pay(one.key, one.asked)
            if self.filter is not None:
                self.filter.added(one.key)
        return kept

    async def _put(self, stored: Sequence[Stored], now: float) -> Sequence[bool]:
        # A task for each would take longer than all the rest of storing them.
        if self.keep is not None:
            return [self.keep(one, now) for one in stored]
        async with asyncio.timeout(self._storing):
            if self.put_all is not None:
                return await self.put_all(stored, now)
            if len(stored) == 1:
                return [await self.store.put(stored[0], now)]
            return await asyncio.gather(*(self.store.put(one, now) for one in stored))

    async def purge(self, key: Key, clock: Clock, emit: Emit, told: float | None = None) -> bool:
        """As `delete`. `told`: another worker has purged it then, and deletes what is shared. What
        it cannot delete is hidden here too."""
        if told is None or not self.shared:
            return await self.delete(key, clock, emit)
        self._void.owe(key, min(told, clock.now()))
        return False

    async def delete(
        self, key: Key, clock: Clock, emit: Emit, *, before: float | None = None
    ) -> bool:
        """Forget what was asked for by now, or `before`; whether it was there. What cannot be
        deleted now is hidden at once, and owed."""
        before = self.owed.owe(key, clock.now() if before is None else before)
        return await self._deleted(key, before, clock, emit) or False

    async def settle(self, clock: Clock, emit: Emit) -> None:
        """Delete what is owed, until that fails."""
        for key, before in self.owed.all():
            if await self._deleted(key, before, clock, emit) is None:
                return

    async def _deleted(self, key: Key, before: float, clock: Clock, emit: Emit) -> bool | None:
        """Whether it was there; None: nobody knows."""
        if not self._outage.admits(clock.mono()):
            return None
        try:
            async with asyncio.timeout(_DELETING):
                had = await self.store.delete(key)
        except (StoreError, TimeoutError) as error:
            self._failed("delete", error, clock, emit)
            return None
        self._worked(emit)
        self.owed.pay(key, before)
        return had

    def _failed(self, operation: Operation, error: Exception, clock: Clock, emit: Emit) -> None:
        emit(TierFailed(self.name, operation, type(error).__name__))
        if self._outage.failed(clock.mono()):
            emit(TierTurned(self.name, False, type(error).__name__))

    def _worked(self, emit: Emit) -> None:
        if self._outage.worked():
            emit(TierTurned(self.name, True))

    def __repr__(self) -> str:
        return repr(self.store)


def _among(debts: Sequence[Debts], stored: Stored, now: float) -> bool:
    return any(some.hide(stored, now) for some in debts)


async def settling(tiers: Sequence[Tier], clock: Clock, emit: Emit) -> None:
    """Make the deletions that are owed, until cancelled."""
    while True:
        await clock.sleep(_SETTLE_EVERY)
        for tier in tiers:
            if tier.owed:
                await tier.settle(clock, emit)
