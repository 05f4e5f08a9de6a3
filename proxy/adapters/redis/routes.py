"""What the gateways of a fleet tell each other about nodes: prompts sent there, work that waits."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from proxy.core.route import Load, News
from proxy.ports import StoreError

if TYPE_CHECKING:
    from proxy.adapters.redis.scripts import Scripts
    from proxy.gossip import Gossip
    from proxy.ports import Clock

T = TypeVar("T")

EVERY: Final = 0.05
"""Seconds between two rounds: what one gateway decides the others know at most two later."""
_LIVES: Final = 1.0
"""Seconds after which the load of a gateway that is silent counts no more."""
_KEPT: Final = 1024
"""Rounds of news that Redis keeps, for gateways that start."""
_PORTION: Final = 128
_LASTS: Final = 3_600_000
"""Milliseconds."""

_ROUND: Final = f"""
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], {_LASTS})
if ARGV[3] ~= '' then
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', {_KEPT}, '*', ARGV[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], {_LASTS})
end
local loads, held = {{}}, redis.call('HGETALL', KEYS[1])
for i = 1, #held, 2 do
  local at, load = string.match(held[i + 1], '^(%d+) (.*)$')
  if not at or math.abs(now - tonumber(at)) > {_LIVES * 1000:.0f} then
    redis.call('HDEL', KEYS[1], held[i])
  elseif held[i] ~= ARGV[1] then
    loads[#loads + 1] = load
  end
end
return {{loads, redis.call('XRANGE', KEYS[2], '(' .. ARGV[4], '+', 'COUNT', {_PORTION})}}
"""
"""By Redis' own clock: a gateway whose clock is wrong is heard like any other."""

_LOADS: Final = msgspec.msgpack.Decoder(dict[str, Load])
_NEWS: Final = msgspec.msgpack.Decoder(list[News])
_encode: Final = msgspec.msgpack.Encoder().encode


class Routes:
    """Tells and hears, for one worker. Soft state: what is lost costs a prefill."""

    def __init__(self, link: Scripts, gossip: Gossip, clock: Clock) -> None:
        self._link, self._gossip, self._clock = link, gossip, clock
        self._keys = [link.name("routes", kind) for kind in ("load", "news")]
        self._me = secrets.token_bytes(8)
        self._last = b"0-0"
        self._heard_at = clock.mono()
        gossip.share()

    def __repr__(self) -> str:
        return f"<Routes heard to {self._last!r}>"

    async def run(self) -> None:
        """A round after the other, until cancelled."""
        while True:
            while await self.round():
                pass
            await self._clock.sleep(EVERY)

    async def round(self) -> bool:
        """Tell what is new and hear what others told; whether there may be more to hear."""
        told = self._gossip.told()
        args = (self._me, _encode(self._gossip.loads()), _encode(told) if told else b"", self._last)
        try:
            loads, news = await self._link.script(_ROUND, self._keys, args, write=True)
        except (StoreError, TypeError, ValueError):
            if self._clock.mono() - self._heard_at > _LIVES:
                self._gossip.deaf()
            return False
        self._heard_at = self._clock.mono()
        self._gossip.hear_loads([load for one in loads if (load := _decoded(_LOADS, one))])
        for at, fields in news:
            self._last, (teller, one) = at, fields[:2]
            if teller != self._me and (heard := _decoded(_NEWS, one)):
                self._gossip.hear(heard)
                await asyncio.sleep(0)  # requests come in between
        return len(news) == _PORTION


def _decoded(decoder: msgspec.msgpack.Decoder[T], data: bytes) -> T | None:
    """None for what no gateway wrote."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, TypeError):
        return None
