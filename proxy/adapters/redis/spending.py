"""What the gateways of a fleet spend on warming together: tokens in a minute, money in a day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proxy.ports import StoreError

if TYPE_CHECKING:
    from proxy.adapters.redis.scripts import Scripts

_FRACTION: Final = 1_000_000
"""Amounts are counted in millionths, so that sums of them are exact."""
_SPANS: Final = ((6, 11), (3600, 25))
"""Of tokens and of money: seconds of a slice, and how many are counted, with the one that has
begun. What is spent counts for a minute, or a day, at least."""
_WAITS: Final = (6.0, 3600.0)
"""Seconds after which looking again makes sense."""

_SPEND: Final = """
local time, found = redis.call('TIME'), {}
for at = 1, 2 do
  local slice, slices, limit, amount = unpack(ARGV, at * 4 - 2, at * 4 + 1)
  local now, sum = math.floor(time[1] / slice), 0
  local held = redis.call('HGETALL', KEYS[at])
  for i = 1, #held, 2 do
    if tonumber(held[i]) <= now - slices then
      redis.call('HDEL', KEYS[at], held[i])
    else
      sum = sum + tonumber(held[i + 1])
    end
  end
  if ARGV[1] == 'take' and tonumber(amount) > 0 and sum + amount > tonumber(limit) then
    return at
  end
  found[at] = now
end
for at = 1, 2 do
  local slice, slices, _, amount = unpack(ARGV, at * 4 - 2, at * 4 + 1)
  if tonumber(amount) > 0 then
    redis.call('HINCRBY', KEYS[at], string.format('%.0f', found[at]), amount)
    redis.call('PEXPIRE', KEYS[at], slice * slices * 1000)
  end
end
return 0
"""
"""Both, or neither; by Redis' own clock. Slices that are yet to come, by a clock that went back,
count too."""


class Spending:
    """As one gateway of the fleet."""

    def __init__(self, link: Scripts, *, tokens: float, money: float) -> None:
        """`tokens`: of a minute. `money`: of a day."""
        self._link, self._limits = link, (_exact(tokens), _exact(money))
        self._keys = [link.name("warming", kind) for kind in ("tokens", "money")]

    async def take(self, tokens: float, money: float) -> float:
        """Spend both, or neither: then seconds after which looking again makes sense. Where Redis
        cannot be asked, this gateway's own budget has to do for tokens; there is no money."""
        try:
            lacking = int(await self._run("take", tokens, money))
        except (StoreError, TypeError, ValueError):
            return _WAITS[0] if money > 0 else 0.0
        return _WAITS[lacking - 1] if lacking else 0.0

    async def owe(self, tokens: float, money: float) -> None:
        """A call cost so much more than was taken for it. What Redis does not hear of counts for
        this gateway alone."""
        if tokens > 0 or money > 0:
            try:
                await self._run("owe", max(0.0, tokens), max(0.0, money))
            except StoreError:
                return

    async def _run(self, how: str, *amounts: float) -> str | int:
        args: list[str | int] = [how]
        for span, limit, amount in zip(_SPANS, self._limits, amounts, strict=True):
            args += [*span, limit, _exact(amount)]
        told: str | int = await self._link.script(_SPEND, self._keys, args, write=True)
        return told

    def __repr__(self) -> str:
        return f"<Spending {' '.join(f'{limit / _FRACTION:g}' for limit in self._limits)}>"


def _exact(amount: float) -> int:
    """Rounded up: what is spent is never counted for less."""
    return -int(-amount * _FRACTION // 1)
