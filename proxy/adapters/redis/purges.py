"""The keys that the gateways of a fleet purge, told to all of them: a stream in Redis."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Final

import msgspec

from proxy.core.entry import Key
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any, Literal, TypeAlias

    from proxy.adapters.redis.scripts import Scripts
    from proxy.ports import Clock

    Purged: TypeAlias = tuple[Key, float]
    """What was purged, and when (unix seconds, by who purged it)."""
    Standing: TypeAlias = Literal["whole", "hole", "tail", "other"]
    """All is there; purges were dropped before they were read; the last ones are lost; or it is
    another stream than the one that was read."""

KEY: Final = 32
LASTS: Final = 90 * 86400.0
"""Seconds after which what the fleet shares is forgotten, unless it is renewed."""
MOST: Final = 10_000
"""Purges that are kept, about."""
_TOGETHER: Final = 32
"""Purges that are told in one go."""
PORTION: Final = 200
"""Purges that are read at a time."""
WINDOW: Final = 600.0
"""Seconds for which a gateway can tell its own purges again, should Redis have lost them."""

_TELL: Final = f"""
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local number, missing = (last[1] and tonumber(last[1][2][4]) or 0) + 1, tonumber(ARGV[4])
local function tell(number)
  redis.call('XADD', KEYS[1], 'MAXLEN', '~', {MOST}, '*', 'key', ARGV[1], 'number', number,
    'at', ARGV[3])
end
if number == 1 and missing > 0 then
  tell(number)
  number = 2
end
number = number + missing
tell(number)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return number
"""
"""Numbered without a hole, so that a reader sees what it missed, whatever Redis was through. The
fourth argument: how many are missing, since their gateway could not keep them until now; a stream
begins with 1 all the same, or it might fit one that was lost."""

READ: Final = f"""
local last = redis.call('XREVRANGE', KEYS[2], '+', '-', 'COUNT', 1)
local news = {{}}
if last[1] and last[1][1] ~= ARGV[1] then
  news = redis.call('XRANGE', KEYS[2], '(' .. ARGV[1], '+', 'COUNT', {PORTION})
end
local from, most = '-', 1
if ARGV[2] ~= '' then from, most = '(' .. ARGV[2], {PORTION} end
local renewed = redis.call('XREVRANGE', KEYS[3], '+', from, 'COUNT', most)
return {{redis.call('GET', KEYS[1]), last, news, renewed}}
"""
"""The epoch, the last purge of all, the purges after the one given, and the latest of the renewals
after the one given."""


class Position(msgspec.Struct, frozen=True):
    """How far a reader is; at first before everything."""

    id: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,15}-[0-9]{1,15}$")] = "0-0"
    number: int = 0

    @property
    def at(self) -> tuple[int, int]:
        """When, by Redis' clock, and the how manieth of that millisecond."""
        milliseconds, _, place = self.id.partition("-")
        return int(milliseconds), int(place)


class Purge(msgspec.Struct, frozen=True, gc=False):
    """One that was read."""

    key: Key
    at: float
    """When it was purged; unix seconds, by who purged it."""
    position: Position


def purges(rows: Any) -> list[Purge]:
    """What the stream's rows say. What no gateway wrote is left out."""
    found = []
    for row in rows or ():
        try:
            name, fields = row
            told = dict(zip(fields[::2], fields[1::2], strict=True))
            key, position = told[b"key"], Position(name.decode(), int(told[b"number"]))
            at = float(told[b"at"])
        except (TypeError, ValueError, KeyError, AttributeError):
            continue
        if len(key) == KEY:
            found.append(Purge(Key(key), at, position))
    return found


def standing(position: Position, last: Purge | None, news: list[Purge]) -> Standing:
    """What has become of the stream since it was read up to `position`."""
    if last is None:
        return "other" if position.number else "whole"
    if last.position.at < position.at:
        return "tail"
    first = news[0].position.number if news else last.position.number + 1
    if first == position.number + 1:
        numbers = [purge.position.number for purge in news]
        return "hole" if any(then > this + 1 for this, then in pairwise(numbers)) else "whole"
    return "hole" if first > position.number + 1 and news else "other"


class Teller:
    """Tells the fleet what is purged here, as soon as Redis can be reached."""

    def __init__(self, link: Scripts, stream: bytes, clock: Clock) -> None:
        self._link = link
        self._stream = stream
        self._clock = clock
        self._told: deque[tuple[float, Purged]] = deque()
        self._waiting: deque[Purged] = deque()
        self._dropped = 0
        """Of those that waited; who reads on is to know that some are missing."""
        self._forgotten = -math.inf
        """When the last one was told of those that are not `told` any more."""
        self._unread: set[Purged] = set()
        """What was told, and did not come back in the stream yet."""

    def add(self, purged: Purged) -> None:
        """Have it told at the next `tell`."""
        self._wait((purged,))

    def again(self) -> None:
        """What was told of late is told once more: Redis may have lost it."""
        since = self._clock.mono() - WINDOW
        self._wait(purged for told, purged in self._told if told >= since)
        self._dropped += self._forgotten >= since
        self._told.clear()

    def unread(self) -> frozenset[Purged]:
        """What a look at the stream that begins now must find, if it finds all."""
        return frozenset(self._unread)

    def read(self, found: set[Purged], lost: frozenset[Purged]) -> None:
        """A look has found these; those that it had to find and did not are told once more."""
        self._wait(lost)
        self._unread -= found | lost

    async def tell(self) -> bool:
        """Tell some of what waits; whether all that was tried is told."""
        some = [self._waiting.popleft() for _ in range(min(_TOGETHER, len(self._waiting)))]
        told = await asyncio.gather(*map(self._tell, some))
        self._wait(one for one, done in zip(some, told, strict=True) if not done)
        return all(told)

    def _wait(self, some: Iterable[Purged]) -> None:
        self._waiting.extend(some)
        while len(self._waiting) > MOST:
            self._waiting.popleft()
            self._dropped += 1

    async def _tell(self, purged: Purged) -> bool:
        key, at = purged
        missing, self._dropped = self._dropped, 0
        args = key, round(1000 * LASTS), repr(at), missing
        try:
            await self._link.script(_TELL, (self._stream,), args, write=True)
        except StoreError:
            self._dropped += missing
            return False
        self._told.append((self._clock.mono(), purged))
        if len(self._told) > MOST:
            self._forgotten, _ = self._told.popleft()
        if len(self._unread) < MOST:
            self._unread.add(purged)
        return True


class Place:
    """Where the position is kept over a restart: what lies on a disk would otherwise come back
    after a purge that was missed."""

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def load(self) -> Position | None:
        """What was kept last; None: nothing was, so nothing is stored here. The beginning, where
        it cannot be read."""
        if self._path is None:
            return None
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Position)
        except FileNotFoundError:
            return None
        except (OSError, msgspec.MsgspecError):
            return Position()

    def save(self, position: Position) -> None:
        """Keep it; blocks. Where it cannot be kept, purges are read once more after a restart."""
        if self._path is None:
            return
        new = self._path.with_suffix(".new")
        try:
            new.write_bytes(msgspec.json.encode(position))
            new.replace(self._path)
        except OSError:
            return
