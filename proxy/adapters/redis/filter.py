"""What Redis may have: spares look-ups of keys that no gateway of the fleet has stored."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from proxy.core.bloom import PAGE, Bloom
from proxy.ports import StoreError

if TYPE_CHECKING:
    from proxy.adapters.redis.link import Link
    from proxy.core.entry import Key
    from proxy.ports import Clock

_EVERY: Final = 1.0
"""Seconds between two exchanges with the other gateways."""
_TRUSTED: Final = 3 * _EVERY
"""Seconds after an exchange in which a no is believed."""
_UNTOLD: Final = 16384
"""Keys that may wait to be told; further ones are not, which costs others a miss at most."""
_TOGETHER: Final = 64
"""Keys told by one script: short enough not to hold up anybody's look-up."""
_PAGES: Final = 256
"""Pages read by one script; more than one script changes, so that reading gets on."""
_LONGEST: Final = 3.2e9
"""Seconds that a key of ours may live at most."""

_TELL: Final = f"""
local version = redis.call('GET', KEYS[3])
if not version then
  local time = redis.call('TIME')
  version = time[1] * 1000000 + time[2]
end
version = string.format('%.0f', version + 1)
redis.call('SET', KEYS[3], version, 'PX', ARGV[1])
for i = 2, #ARGV do
  redis.call('SETBIT', KEYS[1], ARGV[i], 1)
  redis.call('ZADD', KEYS[2], version, math.floor(ARGV[i] / {8 * PAGE}))
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return 1
"""
"""Bits are only ever set, so gateways cannot undo each other's. Versions begin at the time: after
a loss they are larger than any that was seen before."""

_READ: Final = f"""
local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf',
  'WITHSCORES', 'LIMIT', 0, {_PAGES})
local pages = {{}}
for i = 1, #found, 2 do
  local start = found[i] * {PAGE}
  pages[#pages + 1] = {{found[i], found[i + 1],
    redis.call('GETRANGE', KEYS[1], start, start + {PAGE - 1})}}
end
return pages
"""
"""The pages that changed since a version, the longest unread first."""


class _Generation:
    """What was stored in one period."""

    def __init__(self, number: int, size: int) -> None:
        self.number = number
        self.keys = Bloom(size)
        self.seen = "0"
        """The version up to which the other gateways' bits are in it."""


class Filter:
    """May be wrong in both ways, and says "look" when it does not know: too full, just started, or
    without Redis. Where it wrongly says no, a flight looks again before it calls upstream.

    Two generations: keys are taken in by the younger, and the older one is dropped after a period.
    What lives longer than a period may be forgotten, and what is gone is, in time.
    """

    def __init__(
        self, link: Link, size: int, lifetime: float, *, clock: Clock, tag: str = "filter"
    ) -> None:
        """`size`: bytes of both generations. `lifetime`: seconds that entries live, at most.
        `tag`: what it is called in Redis."""
        self._tag = tag
        self._link = link
        self._size = size // 2
        self._period = min(max(lifetime, 60.0), _LONGEST / 3)
        self._clock = clock
        number = self._number()
        self._young = _Generation(number, self._size)
        self._old = _Generation(number - 1, self._size)
        self._untold: list[Key] = []
        self._until = -math.inf

    def __repr__(self) -> str:
        return f"<Filter {self._old.keys!r} {self._young.keys!r}>"

    def might_have(self, key: Key) -> bool:
        """Whether asking Redis has a point."""
        young, old = self._young.keys, self._old.keys
        if self._clock.mono() > self._until or young.full or old.full:
            return True
        return key in young or key in old

    def added(self, key: Key) -> None:
        """It was stored in Redis by this gateway, or found there."""
        if self._young.keys.add(key) and len(self._untold) < _UNTOLD:
            self._untold.append(key)

    async def run(self) -> None:
        """Exchange with the other gateways, until cancelled."""
        while True:
            await self.exchange()
            await self._clock.sleep(_EVERY)

    async def exchange(self) -> None:
        """Tell and read what is new; one round of `run`."""
        self._rotate()
        started = self._clock.mono()
        with suppress(StoreError):  # A full Redis takes nothing, and has nothing new either.
            await self._tell()
        with suppress(StoreError):  # A no is believed a little longer, then it is "look".
            for generation in (self._old, self._young):
                await self._read(generation)
            self._until = started + _TRUSTED

    async def _tell(self) -> None:
        generation = self._young
        expires = (generation.number + 2) * self._period - self._clock.now()
        while self._untold:
            keys = self._untold[:_TOGETHER]
            bits = [bit for key in keys for bit in generation.keys.positions(key)]
            args = (max(1000, math.ceil(1000 * expires)), *bits)
            await self._link.script(_TELL, self._names(generation), args, write=True)
            del self._untold[: len(keys)]

    async def _read(self, generation: _Generation) -> None:
        """Bounded by the pages there are: who writes all the time is caught up with next time."""
        for _ in range(generation.keys.pages // _PAGES + 1):
            names = self._names(generation)
            pages = await self._link.script(_READ, names, (generation.seen,))
            if not _merge(generation, pages):
                return

    def _rotate(self) -> None:
        number = self._number()
        if number == self._young.number:
            return
        follows = number == self._young.number + 1
        self._old = self._young if follows else _Generation(number - 1, self._size)
        self._young = _Generation(number, self._size)

    def _number(self) -> int:
        """The same for all gateways, as far as their clocks agree."""
        return int(self._clock.now() // self._period)

    def _names(self, generation: _Generation) -> list[bytes]:
        tag = f"{self._tag}{generation.number}.{generation.keys.pages}.{self._period:.0f}"
        return [self._link.name(tag, kind) for kind in ("bits", "pages", "version")]


def _merge(generation: _Generation, pages: Any) -> bool:
    """Take in what was read; whether there is more."""
    if not isinstance(pages, list):
        return False
    for number, _, data in pages:
        generation.keys.merge(int(number), data)
    if pages:
        last = int(float(pages[-1][1]))
        # Of those with the last version some may have been left out.
        generation.seen = str(last - 1 if len(pages) == _PAGES else last)
    return len(pages) == _PAGES
