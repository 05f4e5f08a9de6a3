"""The Redis tier as a Store."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Final

from proxy.adapters.redis.asked import TIER, LinkError
from proxy.core import wire
from proxy.core.entry import Entry
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.adapters.redis.link import Link
    from proxy.coder import Coder
    from proxy.core.entry import Key, Stored

LARGEST: Final = 1 << 20
"""Bytes of a value. A larger one would not come back within an operation's time, and would hold
up what is behind it; the object tier is made for those."""
_TOGETHER: Final = 32
"""Values whose heads are asked for in one go: half a millisecond of this loop, so that it is no
reason to be late."""
_LONGEST: Final = 3.2e9
"""Seconds: a hundred years, where an entry says longer."""

_PUT: Final = f"""
local asked, _, fence = struct.unpack('>ddI8', ARGV[1], 5)
local head = redis.pcall('GETRANGE', KEYS[1], 0, {wire.HEAD - 1})
if type(head) == 'string' and #head == {wire.HEAD} and head:byte(1) == {wire.VERSION} then
  local there, expires, held = struct.unpack('>ddI8', head, 5)
  local later = there > asked or (fence > 0 and held > fence)
  if later and there <= asked + {wire.AHEAD:.0f} and expires > tonumber(ARGV[3]) then return 0 end
end
for place = 2, #KEYS do
  local held = redis.pcall('GET', KEYS[place])
  local token = type(held) == 'string' and tonumber(held:match('^(%d+)') or '')
  if token and token > fence then return 0 end
end
if ARGV[2] == '0' then redis.call('UNLINK', KEYS[1])
else redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) end
return 1
"""
"""Times and fence stand at fixed places of a value (core/wire.py); what else stands under the name
is replaced. Besides the value's name there are those of its lease and of the last lease's token,
which is there for a while after a successor has ended, whether it stored anything or not. Without
a time to live the value goes before what is there, and is not kept itself."""


class RedisStore:
    """A Store that all gateways of a fleet share. A `get` is one round trip, as is a `put`; those
    of one loop turn share one."""

    def __init__(self, link: Link, coder: Coder) -> None:
        self._link = link
        self._coder = coder

    def __repr__(self) -> str:
        return f"<RedisStore {self._link!r}>"

    async def get(self, key: Key, now: float) -> Stored | None:
        """What is stored; whatever is torn, foreign or expired is None. Raises: StoreError."""
        try:
            data = await self._link.ask("GET", self._name(key))
        except LinkError as error:
            if error.code == "WRONGTYPE":
                return None
            raise
        if not isinstance(data, bytes):
            return None
        times = wire.peek(data)
        if times is None or times[1] <= now:
            return None
        return await self._coder.unpack(data, key)

    async def put(self, stored: Stored, now: float) -> bool:
        """Store it; False: something is there, or under way, that goes before it: asked for later,
        or by an owner to whom this one had lost its lease. Raises: StoreError.
        """
        try:
            data = await self._coder.pack(stored)
        except ValueError as error:
            raise StoreError(TIER, f"cannot be encoded: {type(error).__name__}") from error
        left = max(0, math.ceil(1000 * min(stored.expires - now, _LONGEST)))
        if len(data) > LARGEST:
            data, left = data[: wire.HEAD], 0
        names = [self._name(stored.key)]
        if isinstance(stored, Entry) and stored.fence:
            names += (self._link.name(stored.key, kind) for kind in (f"l{stored.epoch}", "t"))
        args = (data, left, repr(now))
        return bool(await self._link.script(_PUT, names, args, write=True))

    async def delete(self, key: Key) -> bool:
        """Forget it; whether it was there. Raises: StoreError."""
        return bool(await self._link.ask("UNLINK", self._name(key), write=True))

    async def holds(self, keys: Sequence[Key], now: float) -> dict[Key, float]:
        """When those of them were asked for that have a question, by their heads, in a round trip
        for every 32. Raises: StoreError."""
        asked: list[float | None] = []
        for start in range(0, len(keys), _TOGETHER):
            some = keys[start : start + _TOGETHER]
            asked += await asyncio.gather(*(self._alive(key, now) for key in some))
        told = zip(keys, asked, strict=True)
        return {key: at for key, at in told if at is not None}

    async def _alive(self, key: Key, now: float) -> float | None:
        try:
            head = await self._link.ask("GETRANGE", self._name(key), 0, wire.HEAD - 1)
        except LinkError as error:
            if error.code == "WRONGTYPE":
                return None
            raise
        return wire.alive(head, now) if isinstance(head, bytes) else None

    def _name(self, key: Key) -> bytes:
        return self._link.name(key, "e")
