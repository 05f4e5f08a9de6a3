"""What the gateways of a fleet tell each other about nodes: prompts sent there, work that waits."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from proxy.adapters.redis.table import LASTS, WRITE, Reading, held, row
from proxy.core.events import RowsMoved
from proxy.core.route import Load
from proxy.core.table import News, Part
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.adapters.redis.scripts import Scripts
    from proxy.ports import Clock, Emit
    from proxy.router import Router

T = TypeVar("T")

EVERY: Final = 0.05
"""Seconds between two rounds: what one gateway decides the others know at most two later."""
_LIVES: Final = 1.0
"""Seconds after which the load of a gateway that is silent counts no more."""
_KEPT: Final = 1024
"""Rounds of news that Redis keeps, for gateways that start."""
_PORTION: Final = 128
_ROWS: Final = 512
"""Rows written in a round: Redis is busy with them for less than a millisecond."""
_QUEUED: Final = 5.0
"""Seconds that rows may have waited to be written, about."""
_START: Final = b"0-0"

_ROUND: Final = f"""
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2])
redis.call('PEXPIRE', KEYS[1], {LASTS})
local heard = ARGV[4] == '{_START.decode()}'
heard = heard or #redis.call('XRANGE', KEYS[2], ARGV[4], ARGV[4]) > 0
if ARGV[3] ~= '' then
  redis.call('XADD', KEYS[2], 'MAXLEN', '~', {_KEPT}, '*', ARGV[1], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], {LASTS})
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
{WRITE}
local from = heard and '(' .. ARGV[4] or '-'
local news = redis.call('XRANGE', KEYS[2], from, '+', 'COUNT', {_PORTION})
return {{loads, news, late, heard and 1 or 0}}
"""
"""By Redis' own clock: a gateway whose clock is wrong is heard like any other. Who does not find
what it heard last in the stream has missed some, and hears what is left of it from its start."""

_LOADS: Final = msgspec.msgpack.Decoder(dict[str, Load])
_NEWS: Final = msgspec.msgpack.Decoder(list[News])
_encode: Final = msgspec.msgpack.Encoder().encode


class Routes:
    """Tells and hears, for one worker. Soft state: what is lost costs a prefill."""

    def __init__(self, link: Scripts, router: Router, clock: Clock, emit: Emit) -> None:
        self._link, self._router, self._clock, self._emit = link, router, clock, emit
        self._gossip = router.gossip
        self._nodes = {node.name: node for node in router.nodes}
        self.reading = Reading(link, router, clock, emit)
        self._load, self._news = (link.name("routes", kind) for kind in ("load", "news"))
        self._me = secrets.token_bytes(8)
        self._last = _START
        self._busy: frozenset[str] = frozenset()
        """Nodes that are told to compute something."""
        self._heard_at = clock.mono()
        self._gossip.share()
        self.reading.want(0.0)

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
        self._gossip.table.note(told, self._clock.mono())
        parts = self._parts()
        keys, args = [self._load, self._news], self._args(told)
        for part in parts:
            keys += row(self._link, part.node), held(self._link, part.node)
            args += self._described(part)
        try:
            loads, news, late, whole = await self._link.script(_ROUND, keys, args, write=True)
        except (StoreError, TypeError, ValueError):
            self._unheard()
            return False
        self._heard_at = self._clock.mono()
        if rows := sum(len(part.rows) for part in parts):
            self._emit(RowsMoved("written", rows))
        for node, epoch in zip(late[::2], late[1::2], strict=True):
            self._gossip.found(node.decode(), epoch)
        self._gossip.hear_loads([load for one in loads if (load := _decoded(_LOADS, one))])
        if not whole:
            self._missed()
        for at, fields in news:
            self._last, (teller, one) = at, fields[:2]
            if teller != self._me and (heard := _decoded(_NEWS, one)):
                self._gossip.hear(heard)
                await asyncio.sleep(0)  # requests come in between
        return len(news) == _PORTION

    def _args(self, told: Sequence[News]) -> list[bytes | str | int | float]:
        loads, news = _encode(self._gossip.loads()), _encode(told) if told else b""
        return [self._me, loads, news, self._last, self._router.prefixes.each]

    def _parts(self) -> list[Part]:
        """What the table is told: rows, and nodes that began to compute something, or left off."""
        table, busy = (
            self._gossip.table,
            frozenset(n.name for n in self._router.nodes if n.computing),
        )
        parts = table.take(_ROWS)
        turned = (busy ^ self._busy) - {part.node for part in parts}
        self._busy = busy
        epochs = [(node, table.epoch(node)) for node in turned]
        return parts + [Part(node, epoch, ()) for node, epoch in epochs if epoch is not None]

    def _described(self, part: Part) -> list[bytes | str | int | float]:
        node = self._nodes[part.node]
        told = node.name, *self._router.described(node), int(node.name in self._busy)
        return [*told, part.epoch, len(part.rows), *part.rows]

    def _unheard(self) -> None:
        self._gossip.table.lost()
        if self._clock.mono() - self._heard_at > _LIVES:
            self._gossip.deaf()

    def _missed(self) -> None:
        """The stream ran on without this gateway, or Redis began anew."""
        at = self._last.partition(b"-")[0]
        self.reading.want(float(at) / 1000 - _QUEUED if at.isdigit() else 0.0)
        self._gossip.table.lost()
        self._last = _START


def _decoded(decoder: msgspec.msgpack.Decoder[T], data: bytes) -> T | None:
    """None for what no gateway wrote."""
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, TypeError):
        return None
