"""Which gateway of a fleet calls upstream for a name: leases in Redis."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.adapters.redis.asked import OPEN, LinkError
from proxy.ports import StoreError

if TYPE_CHECKING:
    from proxy.adapters.redis.scripts import Scripts
    from proxy.ports import Clock, Leases

TERM: Final = 3.0
"""Seconds that a lease lasts unless it is renewed: then a dead gateway is replaced."""
RENEW_EVERY: Final = 0.75
"""Three renewals may be late before a living gateway loses a lease."""
_REMEMBERED: Final = 60.0
"""Seconds for which the last token of a name outlives its lease. Tokens are times, so this is
how far the clock may go back when another server takes over."""
_TOGETHER: Final = 32
"""Renewals in one go; thousands at once would delay the look-ups behind them."""
_STRAYS: Final = 4096
"""Names that may wait to be given back; what finds no room runs out by itself."""

_TAKE: Final = """
local held = redis.call('GET', KEYS[1])
local token, owner
if held then token, owner = string.match(held, '^(%d+)|(.+)$') end
if owner and owner ~= ARGV[1] and owner ~= ARGV[5] then return owner end
local time = redis.call('TIME')
local next = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[2]) or '') or 0
next = math.max(next, last + 1, (tonumber(token or '') or 0) + 1, tonumber(ARGV[4]))
local shown = string.format('%.0f', next)
redis.call('SET', KEYS[1], shown .. '|' .. ARGV[1], 'PX', ARGV[2])
redis.call('SET', KEYS[2], shown, 'PX', ARGV[3])
return next
"""
"""The token, or the address of another owner. What stands there and is no lease is replaced."""

_RENEW: Final = """
local held = redis.call('GET', KEYS[1])
if held == ARGV[1] .. '|' .. ARGV[2] then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
  return 1
end
local last = tonumber(redis.call('GET', KEYS[2]) or '') or 0
if held or last > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1] .. '|' .. ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[4])
return 1
"""
"""Where nobody took it since, a lease that Redis lost in a restart is there again. A full Redis
still takes a new expiry."""

_FREE: Final = """
local held = redis.call('GET', KEYS[1])
if not held then return 0 end
local token, owner = string.match(held, '^(%d+)|(.+)$')
if owner ~= ARGV[2] or (ARGV[1] ~= '0' and token ~= ARGV[1]) then return 0 end
return redis.call('DEL', KEYS[1])
"""
"""Token 0: any of this gateway's; it does not know which one it was given."""


@dataclass(slots=True)
class _Held:
    """`token` 0: perhaps, the answer did not arrive."""

    token: int
    users: int = 0
    """Flights of this name: a purge lets a second one start beside the first."""
    there: bool = False
    """Whether Redis may have it."""


class RedisLeases:
    """Leases of one worker, in front of those of its machine, which serve while Redis is away.

    Bounded by the flights of this worker: each of them holds one.
    """

    def __init__(
        self,
        link: Scripts,
        address: str,
        local: Leases,
        *,
        clock: Clock,
        term: float = TERM,
    ) -> None:
        """`address`: where all gateways of the fleet reach this worker."""
        self._link = link
        self._address = address
        self._local = local
        self._clock = clock
        self._term = round(1000 * term)
        self._highest = 0
        """Of all tokens given to this worker."""
        self._held: dict[bytes, _Held] = {}
        self._strays: set[bytes] = set()
        """What may have been taken for a flight that was cancelled before it knew."""

    def __repr__(self) -> str:
        return f"<RedisLeases {self._address} holds {len(self._held)}>"

    async def acquire(self, name: bytes, instead: str = "") -> int | str:
        """As in `ports.Leases`. The token of a name grows with each holder, across restarts and
        failovers of Redis too."""
        if self._link.silent:
            return await self._alone(name, LinkError(OPEN))
        floor = self._highest + 1
        args = (self._address, self._term, round(1000 * _REMEMBERED), floor, instead)
        try:
            found = await self._link.script(_TAKE, self._keys(name), args, write=True)
        except StoreError as error:
            return await self._alone(name, error)
        except asyncio.CancelledError:
            self._stray(name)
            raise
        if isinstance(found, bytes):
            return found.decode(errors="replace")
        if not isinstance(found, int):
            return await self._alone(name)
        self._hold(name, found, there=True)
        return found

    async def release(self, name: bytes) -> None:
        """Give it back where it was taken; whatever another gateway holds by now stays."""
        held = self._held.get(name)
        if held is not None:
            held.users -= 1
            if held.users:
                return
            del self._held[name]
        try:
            if held is not None and held.there:
                await self._free(name, held.token)
        except asyncio.CancelledError:
            self._stray(name)  # it may not have been told
            raise
        finally:  # else it would be renewed for as long as this worker lives
            await self._local.release(name)

    async def run(self) -> None:
        """Renew what is held, until cancelled."""
        while True:
            await self._clock.sleep(RENEW_EVERY)
            await self.renew()

    async def renew(self) -> None:
        """One round of `run`. What another gateway took in the meantime is no longer held; the
        flight goes on, and the store refuses what it writes under the older token."""
        held = [(name, one.token) for name, one in self._held.items() if one.token]
        for start in range(0, len(held), _TOGETHER):
            part = held[start : start + _TOGETHER]
            await asyncio.gather(*(self._renewed(name, token) for name, token in part))
        strays = [name for name in self._strays if name not in self._held]
        self._strays.clear()
        for start in range(0, len(strays), _TOGETHER):
            await asyncio.gather(*(self._free(name, 0) for name in strays[start:][:_TOGETHER]))

    async def _alone(self, name: bytes, error: StoreError | None = None) -> int | str:
        """Without Redis. Unless it refused, it may have granted the lease all the same, and only
        the answer was late: so it is given back too."""
        # Giving back what is not there would succeed, which looks as if Redis took writes.
        there = not (isinstance(error, LinkError) and error.refused)
        try:
            found = await self._local.acquire(name)
        except asyncio.CancelledError:
            if there:
                self._stray(name)
            raise
        if not isinstance(found, str):
            self._hold(name, 0, there=there)
        elif there:
            self._stray(name)
        return found

    def _hold(self, name: bytes, token: int, *, there: bool) -> None:
        self._highest = max(self._highest, token)
        held = self._held.setdefault(name, _Held(token))
        held.token = token or held.token
        held.there = held.there or there
        held.users += 1

    def _stray(self, name: bytes) -> None:
        if len(self._strays) < _STRAYS:
            self._strays.add(name)

    async def _renewed(self, name: bytes, token: int) -> None:
        args = (token, self._address, self._term, round(1000 * _REMEMBERED))
        try:
            kept = await self._link.script(_RENEW, self._keys(name), args, write=True)
        except StoreError:
            return  # it lasts for some rounds more
        held = self._held.get(name)
        if kept == 0 and held is not None and held.token == token:
            held.token = 0

    async def _free(self, name: bytes, token: int) -> None:
        try:
            await self._link.script(_FREE, self._keys(name)[:1], (token, self._address), write=True)
        except StoreError:
            return  # it runs out by itself

    def _keys(self, name: bytes) -> tuple[bytes, bytes]:
        key, epoch = name[:32], int.from_bytes(name[32:], "big")
        return self._link.name(key, f"l{epoch}"), self._link.name(key, "t")
