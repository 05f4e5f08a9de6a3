"""What voids answers in the whole fleet: its epoch, and the keys that were purged."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from proxy.adapters.redis.purges import (
    LASTS,
    PORTION,
    READ,
    WINDOW,
    Place,
    Position,
    Purge,
    Teller,
    purges,
    standing,
)
from proxy.adapters.redis.renewals import Renewals
from proxy.core.events import TierFailed
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from proxy.adapters.redis.scripts import Scripts
    from proxy.core.entry import Key
    from proxy.ports import Clock, Emit

EVERY: Final = 0.1
"""Seconds between two looks: so long may a gateway serve what another one has voided."""
_RENEW_EVERY: Final = 3600.0
_SHY: Final = 0.3
"""Seconds that a gateway which knows no fleet waits for one that does to say its epoch, before it
says its own: a Redis that was emptied gets the fleet's back."""
_UNSERVED: Final = 0.25
"""Seconds after the start in which no request is served yet: it waits to meet the fleet."""
_SAVE_EVERY: Final = 1.0
_LARGEST: Final = 1 << 53
"""From here on a number was not written by us, nor can a script count it."""

_SAY: Final = f"""
local there = tonumber(redis.call('GET', KEYS[1]) or '') or 0
if there <= 0 or there >= {_LARGEST} then there = 0 end
local mine = tonumber(ARGV[1])
if there > 0 and ARGV[2] == '1' then return there end
local most = math.max(there, mine)
redis.call('SET', KEYS[1], string.format('%.0f', most), 'PX', ARGV[3])
return most
"""
"""The larger of both epochs; what is provisional (1) gives way to any that is there."""


class Epochs(Protocol):
    """The machine's epoch, as all its workers see it."""

    @property
    def provisional(self) -> bool:
        """Whether any fleet's epoch is to take its place."""

    def current(self) -> int: ...

    def bump(self) -> int: ...

    def learn(self, epoch: int) -> int: ...


class Feed:
    """Follows and tells, for one worker; each worker of a machine has one."""

    def __init__(
        self,
        link: Scripts,
        epochs: Epochs,
        *,
        on_purge: Callable[[Key, float], Awaitable[object]],
        on_newer: Callable[[Key, float], Awaitable[object]],
        on_gap: Callable[[], None],
        clock: Clock,
        emit: Emit,
        path: Path | None = None,
        elsewhere: Callable[[], bool] = lambda: False,
    ) -> None:
        """`on_purge`: forget a key that was purged then; this gateway's own come back too.
        `on_newer`: forget what was asked for earlier. `on_gap`: purges may have been missed, so
        nothing near can be trusted. `path`: a file that outlives a restart as what is stored on
        disk does; None: nothing does. `elsewhere`: whether it may yet tell the epoch."""
        self._link, self._epochs = link, epochs
        self._on_purge, self._on_newer, self._on_gap = on_purge, on_newer, on_gap
        self._clock, self._emit = clock, emit
        self._elsewhere = elsewhere
        self._keys = [link.name("fleet", kind) for kind in ("epoch", "purges", "renewals")]
        self._teller = Teller(link, self._keys[1], clock)
        self._renewals = Renewals(link, self._keys[2])
        self._place = Place(path)
        self._position: Position | None = self._place.load()
        self._saved = self._position
        self._saved_at = self._read_at = clock.mono()
        self._absent: float | None = None
        """Since when Redis has answered without an epoch."""
        self._renewed_at = clock.mono() - _RENEW_EVERY
        self._met = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Feed epoch={self._epochs.current()} position={self._position}>"

    async def meet(self, patience: float = 1.0) -> bool:
        """Whether the fleet's epoch is known, after waiting for it no longer than this: who
        serves earlier names its answers by an epoch that nobody else has."""
        try:
            async with asyncio.timeout(patience):
                await self._met.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        """Look and tell until cancelled."""
        while True:
            await self.round()
            await self._clock.sleep(EVERY)

    async def purge(self, key: Key, at: float) -> bool:
        """Have every gateway forget a key that was purged at that time (unix seconds); whether
        Redis knows. If not, it is told later."""
        self._teller.add((key, at))
        return self._delivered(await self._teller.tell())

    async def renewed(self, key: Key, asked: float) -> None:
        """Tell the others that an answer asked for at `asked` (unix seconds) has taken the place
        of older ones, by a wish."""
        await self._renewals.tell(key, asked)

    async def purge_all(self) -> bool:
        """Begin a new epoch everywhere; whether Redis knows. If not, it is told later."""
        await asyncio.to_thread(self._epochs.bump)
        return self._delivered(await self._say())

    def _delivered(self, told: bool) -> bool:
        if not told:
            self._emit(TierFailed("redis", "purge", "StoreError"))
        return told

    async def round(self) -> bool:
        """Look until all purges are read; whether Redis answered."""
        while more := await self._look():
            pass
        return more is not None

    async def _look(self) -> bool | None:
        """Read some; whether there may be more, or None: Redis did not answer."""
        position, unread = self._position or Position(), self._teller.unread()
        args = position.id, self._renewals.position
        try:
            found = await self._link.script(READ, self._keys, args)
            there, last, news = found[0], purges(found[1]), purges(found[2])
            renewed = self._renewals.read(found[3])
        except (StoreError, TypeError, IndexError):
            self._absent = None
            return None
        await self._align(_epoch(there))
        read = {(purge.key, purge.at) for purge in news}
        whole = not last or not news or news[-1].position == last[-1].position
        self._teller.read(read, unread - read if whole else frozenset())
        await self._follow(last[-1] if last else None, news)
        await self._teller.tell()
        self._read_at = self._clock.mono()
        await self._keep()
        await asyncio.gather(*(self._outdated(*one) for one in renewed.items()))
        return len(news) == PORTION and self._position == news[-1].position

    async def _align(self, there: int) -> None:
        """Have one epoch here and there: the larger one, once this gateway knows its fleet."""
        epochs, now = self._epochs, self._clock.mono()
        if there:
            self._absent = None
            if there > epochs.current() or epochs.provisional:
                await self._learn(there)
        else:
            self._absent = now if self._absent is None else self._absent
            if epochs.provisional and (now - self._absent < _SHY or self._elsewhere()):
                return
        if there < epochs.current() or now - self._renewed_at >= _RENEW_EVERY:
            await self._say()
        if not epochs.provisional:
            self._met.set()

    async def _say(self) -> bool:
        epochs = self._epochs
        args = epochs.current(), int(epochs.provisional), round(1000 * LASTS)
        try:
            agreed = await self._link.script(_SAY, self._keys[:1], args, write=True)
        except StoreError:
            return False
        self._renewed_at = self._clock.mono()
        if isinstance(agreed, int):
            await self._learn(agreed)
        return True

    async def _learn(self, epoch: int) -> None:
        with suppress(OSError):  # it holds for this run, and is heard again in the next
            await asyncio.to_thread(self._epochs.learn, epoch)

    async def _follow(self, last: Purge | None, news: list[Purge]) -> None:
        if self._position is None:
            # Nothing is stored here yet that was purged, unless Redis was away at first.
            if self._clock.mono() - self._read_at > _UNSERVED:
                self._on_gap()
            self._position = Position() if last is None else last.position
            return
        state = standing(self._position, last, news)
        if state == "hole":
            self._on_gap()
        elif state != "whole":
            # Who purged it tells it again, unless that is too long ago.
            if self._clock.mono() - self._read_at > WINDOW:
                self._on_gap()
            self._teller.again()
            self._position = last.position if last is not None and state == "tail" else Position()
            return
        # Together: a disk takes many deletions as fast as one, and a slow tier holds up no purge.
        await asyncio.gather(*map(self._heard, news))
        if news:
            self._position = news[-1].position

    async def _heard(self, purge: Purge) -> None:
        with suppress(StoreError):
            await self._on_purge(purge.key, purge.at)

    async def _outdated(self, key: Key, before: float) -> None:
        with suppress(StoreError):
            await self._on_newer(key, before)

    async def _keep(self) -> None:
        now = self._clock.mono()
        if self._position is None or self._position == self._saved:
            return
        if now - self._saved_at >= _SAVE_EVERY:
            self._saved, self._saved_at = self._position, now
            await asyncio.to_thread(self._place.save, self._saved)


def _epoch(there: object) -> int:
    """What Redis has; 0 for nothing, or what is none."""
    digits = isinstance(there, bytes) and there.isdigit() and len(there) <= len(str(_LARGEST))
    number = int(there) if digits and isinstance(there, bytes) else 0
    return number if 0 < number < _LARGEST else 0
