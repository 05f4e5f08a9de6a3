"""Forgetting on request: here, by the other workers of the machine, and by the fleet."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable
    from typing import TypeAlias

    from proxy.core.entry import Key
    from proxy.flights import Flights
    from proxy.ports import Clock
    from proxy.tiers import Tiers

    Purged: TypeAlias = tuple[Key, float]
    """What was purged, and when (unix seconds, by who purged it)."""

_SWEPT: Final = 0.5
"""Seconds after which every gateway has heard of a purge, and stores nothing older any more."""
_ECHO: Final = 1.0
"""Seconds after which all have swept what they share."""
_TURN: Final = 0.25
_KNOWN: Final = 10_000
"""Purges that are remembered: they may be told more than once."""
_TOGETHER: Final = 32
"""Those that are looked for again in one go."""


class Epoch(Protocol):
    """What counts how often everything was declared void."""

    def bump(self) -> int: ...


class Feed(Protocol):
    """The other gateways of the fleet. False: they hear of it later."""

    async def purge(self, key: Key, at: float) -> bool: ...

    async def purge_all(self) -> bool: ...


class Workers(Protocol):
    """The other workers of the machine."""

    async def forget(self, owner: str, key: bytes, at: float) -> bool:
        """Have one forget a key that was purged then; whether it had it. Raises: UpstreamError."""


@dataclass(frozen=True, slots=True)
class Purging:
    """Forgets keys, or everything."""

    flights: Flights
    tiers: Tiers
    epoch: Epoch
    workers: Workers
    others: Callable[[], Iterable[str]]
    """The addresses of the machine's other workers."""
    step_aside: Callable[[Key], Awaitable[None]]
    """Gives back the leases of this worker's flights for a key."""
    feed: Feed | None
    clock: Clock
    gone: Callable[[Key], None]
    """Told of each key, for whoever finds answers in other ways."""
    sweeps: bool
    """Whether this worker sees to what is shared with other gateways, for its machine."""
    _known: OrderedDict[Purged, None] = field(default_factory=OrderedDict)
    _unswept: deque[tuple[float, Purged]] = field(default_factory=lambda: deque(maxlen=_KNOWN))
    _echoes: deque[tuple[float, Purged]] = field(default_factory=lambda: deque(maxlen=_KNOWN))

    async def key(self, key: Key) -> bool:
        """Forget one answer everywhere; whether anyone here, or a shared tier, had it."""
        at = self.clock.now()
        await self._begin(key, at)
        had = await self.tiers.delete(key)
        for address in self.others():
            with suppress(UpstreamError):  # a worker that is gone holds nothing
                had = await self.workers.forget(address, key, at) or had
        if self.feed is not None:
            await self.feed.purge(key, at)
        return had

    async def all(self) -> None:
        """Void everything, by a new epoch."""
        if self.feed is not None:
            await self.feed.purge_all()
        else:
            await asyncio.to_thread(self.epoch.bump)

    async def forget(self, key: Key, at: float) -> bool:
        """Forget a key that another worker or gateway purged at that time (unix seconds); whether
        this one had it. The same purge is heard again, also by who purged: what was asked for
        since the first time is right."""
        if (key, at) in self._known:
            return False
        await self._begin(key, at)
        return await self.tiers.delete(key, told=at)

    async def _begin(self, key: Key, at: float) -> None:
        """What is on its way is stored no more, and keeps nobody from asking anew."""
        if len(self._known) == _KNOWN:
            self._known.popitem(last=False)
        purged, now = (key, at), self.clock.mono()
        self._known[purged] = None
        if self.sweeps:
            self._unswept.append((now + _SWEPT, purged))
        self._echoes.append((now + _ECHO, purged))
        self.gone(key)
        self.flights.purge(key)
        await self.step_aside(key)

    async def run(self) -> None:
        """Forget once more what was purged, until cancelled: before its owner heard of the purge,
        an answer that was on its way may have been stored in a shared tier, and found there and
        kept here. What was asked for since stays."""
        while True:
            await self.clock.sleep(_TURN)
            await self._again(self._unswept, shared=True)
            await self._again(self._echoes, shared=False)

    async def _again(self, later: deque[tuple[float, Purged]], *, shared: bool) -> None:
        now = self.clock.mono()
        while later and later[0][0] <= now:
            due = [later.popleft()[1] for _ in range(min(_TOGETHER, len(later)))]
            await asyncio.gather(*(self.tiers.drop(*one, shared=shared) for one in due))

    def missed(self, now: float) -> None:
        """Purges may have gone unheard: what this gateway alone holds of what was asked for before
        `now` (unix seconds) is believed no more, nor is what is on its way."""
        self.flights.purge()
        self.tiers.distrusted = now
