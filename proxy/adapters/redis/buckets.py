"""Token buckets that all gateways of a fleet take from."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from proxy.adapters.redis.scripts import Scripts
    from proxy.core.bucket import Spent

_TOGETHER: Final = 32
"""Buckets in one go, so that they do not delay the look-ups behind them."""
_DEBT: Final = 60
"""Minutes' worth that a bucket may lack, at most."""

_SPEND: Final = f"""
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local rate = tonumber(ARGV[1])
local known = redis.call('HMGET', KEYS[1], 'level', 'at')
local level, at = tonumber(known[1] or '') or rate, tonumber(known[2] or '') or now
level = level + rate / 60 * math.max(0, now - at) - tonumber(ARGV[2])
level = math.max(-{_DEBT} * rate, math.min(rate, level))
redis.call('HSET', KEYS[1], 'level', string.format('%.17g', level), 'at', time[1] .. '.' ..
  string.format('%06d', time[2]))
redis.call('PEXPIRE', KEYS[1], math.ceil((rate - level) * 60000 / rate) + 60000)
return string.format('%.17g', level)
"""
"""Gone means full: it lasts until it would be, and a minute more."""


class Buckets:
    """The shared buckets, by name; a bucket's `rate` is what it gets in a minute and can hold."""

    def __init__(self, link: Scripts) -> None:
        self._link = link

    async def sync(self, spent: Mapping[bytes, Spent]) -> Mapping[bytes, float]:
        """What is left in each bucket once this was taken out of it. Those that Redis did not
        answer for are left out."""
        levels: dict[bytes, float] = {}
        taken = [(name, one) for name, one in spent.items() if one.rate > 0]
        for start in range(0, len(taken), _TOGETHER):
            part = taken[start : start + _TOGETHER]
            levels |= _told(await asyncio.gather(*(self._spend(*one) for one in part)))
        return levels

    async def _spend(self, name: bytes, spent: Spent) -> tuple[bytes, float | None]:
        key, args = self._link.name(name, "b"), (spent.rate, spent.amount)
        try:
            return name, float(await self._link.script(_SPEND, (key,), args, write=True))
        except (StoreError, TypeError, ValueError):
            return name, None


def _told(answers: Iterable[tuple[bytes, float | None]]) -> dict[bytes, float]:
    return {name: level for name, level in answers if level is not None}
