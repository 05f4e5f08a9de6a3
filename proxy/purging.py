"""Forgetting on request: here, by the other workers of the machine, and by the fleet."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from proxy.core.entry import Key
    from proxy.flights import Flights
    from proxy.ports import Clock
    from proxy.tiers import Tiers

_ECHO: Final = 1.0
"""Seconds after which every gateway has heard of a purge."""
_ECHOES: Final = 10_000
"""Purges that are so young, at most."""


class Epoch(Protocol):
    """What counts how often everything was declared void."""

    def bump(self) -> int: ...


class Feed(Protocol):
    """The other gateways of the fleet. False: they hear of it later."""

    async def purge(self, key: Key) -> bool: ...

    async def purge_all(self) -> bool: ...


class Workers(Protocol):
    """The other workers of the machine."""

    async def forget(self, owner: str, key: bytes) -> bool:
        """Have one forget a key; whether it had it. Raises: UpstreamError."""


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
    _echoes: deque[tuple[float, Key]] = field(default_factory=lambda: deque(maxlen=_ECHOES))

    async def key(self, key: Key) -> bool:
        """Forget one answer everywhere; whether anyone here, or a shared tier, had it."""
        had = await self.forget(key)
        for address in self.others():
            with suppress(UpstreamError):  # a worker that is gone holds nothing
                had = await self.workers.forget(address, key) or had
        if self.feed is not None:
            await self.feed.purge(key)
        return had

    async def all(self) -> None:
        """Void everything, by a new epoch."""
        if self.feed is not None:
            await self.feed.purge_all()
        else:
            await asyncio.to_thread(self.epoch.bump)

    async def forget(self, key: Key) -> bool:
        """Forget a key for another worker that purges it; also in the tiers that it has purged
        already, behind what a flight of this worker may be writing."""
        self.flights.purge(key)
        await self.step_aside(key)
        return await self.tiers.delete(key)

    async def heard(self, key: Key) -> None:
        """Another gateway has purged it. In what is shared too, behind what a flight of this one,
        begun before, has written there meanwhile."""
        await self.forget(key)
        self._echoes.append((self.clock.mono() + _ECHO, key))

    async def newer(self, key: Key, asked: float) -> None:
        """Another gateway was told to ask anew and has stored what was asked for at `asked` (unix
        seconds): what this one alone has of before is outdated."""
        await self.tiers.drop(key, asked)

    async def run(self) -> None:
        """Forget once more what was purged, until cancelled: before its owner heard of the purge,
        an answer that was on its way may have been found in a shared tier, and kept here."""
        while True:
            await self.clock.sleep(_ECHO / 4)
            while self._echoes and self._echoes[0][0] <= self.clock.mono():
                await self.tiers.drop(self._echoes.popleft()[1])

    def missed(self, now: float) -> None:
        """Purges may have gone unheard: what this gateway alone holds of what was asked for before
        `now` (unix seconds) is believed no more, nor is what is on its way."""
        self.flights.purge()
        self.tiers.distrusted = now
