"""The fleet's table in Redis: of each node a row, and what it holds, by when it was last used.

A gateway that starts, or missed some news, reads it behind the requests. The news that it hears
meanwhile were written in the same rounds as the table, so there is no gap between the two.
"""

from __future__ import annotations

import asyncio
from math import inf
from typing import TYPE_CHECKING, Final

from proxy.core.events import RowsMoved
from proxy.core.table import SIZE, unpacked
from proxy.ports import StoreError

if TYPE_CHECKING:
    from proxy.adapters.redis.scripts import Scripts
    from proxy.ports import Clock, Emit
    from proxy.router import Router

LASTS: Final = 3_600_000
"""Milliseconds after which is forgotten what no gateway uses."""
_PORTION: Final = 512
_PAUSE: Final = 0.005
"""Seconds between two portions: reading takes a fifth of a worker's time, while it lasts."""
_AGAIN: Final = 0.5
"""Seconds after which Redis is asked again that did not answer."""
_PUT: Final = 64

WRITE: Final = f"""
local late = {{}}
local function write(row, rows, at)
  local epoch = tonumber(ARGV[at + 4])
  local known = tonumber(redis.call('HGET', row, 'epoch') or '')
  if known and known > epoch then
    late[#late + 1], late[#late + 2] = ARGV[at], known
    return
  end
  if known ~= epoch then redis.call('UNLINK', rows) end
  local members, score = {{}}, time[1] * 1000000 + time[2]
  for i = 1, tonumber(ARGV[at + 5]) do
    members[2 * i - 1], members[2 * i] = string.format('%.0f', score + i), ARGV[at + 5 + i]
  end
  if #members > 0 then
    redis.call('ZADD', rows, unpack(members))
    redis.call('ZREMRANGEBYRANK', rows, 0, -1 - tonumber(ARGV[5]))
    redis.call('PEXPIRE', rows, {LASTS})
  end
  local depth = redis.call('ZCARD', rows)
  local status = ARGV[at + 3] == '1' and 'WARMING' or depth > 0 and 'HOT' or 'COLD'
  redis.call('HSET', row, 'node', ARGV[at], 'provider', ARGV[at + 1], 'zone', ARGV[at + 2],
    'status', status, 'depth', depth, 'epoch', ARGV[at + 4],
    'expires', string.format('%.0f', now + {LASTS}))
  redis.call('PEXPIRE', row, {LASTS})
end
local at = 6
for i = 3, #KEYS, 2 do
  write(KEYS[i], KEYS[i + 1], at)
  at = at + 6 + tonumber(ARGV[at + 5])
end
"""
"""Of each node with something new: two keys, and from the sixth argument on its name, provider and
zone, whether it computes something, its epoch, how many rows there are, and those. The fifth
argument: how many rows of a node are kept. What was learned in an earlier life is not written, and
`late` says which one it is; a later life voids all rows at once."""

_READ: Final = f"""
local time = redis.call('TIME')
local epoch = tonumber(redis.call('HGET', KEYS[1], 'epoch') or '') or 0
local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'WITHSCORES',
  'LIMIT', 0, {_PORTION})
local rows, last = {{}}, ''
for i = 1, #found, 2 do
  last = found[i + 1]
  if #found[i] == {SIZE} then
    rows[#rows + 1] = found[i] .. struct.pack('>d', tonumber(last))
  end
end
if #found < 2 * {_PORTION} then last = '' end
return {{epoch, string.format('%.0f', time[1] * 1000000 + time[2]), table.concat(rows), last}}
"""
"""A portion of what a node holds, from a score on: as one string, since a driver takes as long for
a short string as for a long one; and the score to go on from, or nothing at the end. What no
gateway wrote is left out."""


def row(link: Scripts, node: str) -> bytes:
    """The key of a node's row."""
    return link.name("routes", f"node:{node}")


def held(link: Scripts, node: str) -> bytes:
    """The key of what it holds."""
    return link.name("routes", f"held:{node}")


class Reading:
    """Of one worker."""

    def __init__(self, link: Scripts, router: Router, clock: Clock, emit: Emit) -> None:
        self._link, self._router, self._clock, self._emit = link, router, clock, emit
        self._nodes = [node.name for node in router.nodes]
        self._since = inf
        self._wanted = asyncio.Event()

    def want(self, since: float) -> None:
        """What was used since then is to be read: seconds by Redis' clock; 0: all."""
        self._since = min(self._since, since)
        self._wanted.set()

    async def run(self) -> None:
        """Read whenever that is wanted, until cancelled."""
        while True:
            await self._wanted.wait()
            await self.read()

    async def read(self) -> None:
        """All that is wanted, in portions, the nodes taking turns; as long as Redis does not
        answer, that is waited for."""
        since, self._since = self._since, inf
        self._wanted.clear()
        after = f"{max(0.0, since) * 1e6:.0f}"
        self._router.gossip.begin()
        left = dict.fromkeys(self._nodes, after)
        while left:
            for node, last in list(left.items()):
                try:
                    left[node] = await self._portion(node, last)
                except StoreError:
                    await self._clock.sleep(_AGAIN)
                if not left[node]:
                    del left[node]
        await self._again()

    async def _portion(self, node: str, after: str) -> str:
        """Take in what the node used next; the score of the last of it, or nothing at the end.
        Raises: StoreError."""
        keys = row(self._link, node), held(self._link, node)
        epoch, now, found, following = await self._link.script(_READ, keys, (after,))
        rows = [(row, max(0.0, float(now) - at) / 1e6) for row, at in unpacked(found)]
        of_use = self._router.gossip.recall(node, epoch, rows)
        if rows:
            self._emit(RowsMoved("read", len(rows)))
            await self._clock.sleep(_PAUSE)
        return following.decode() if of_use else ""

    async def _again(self) -> None:
        """What was learned meanwhile was used last."""
        for at, (news, until) in enumerate(self._router.gossip.meanwhile()):
            self._router.gossip.again(news, until)
            if at % _PUT == _PUT - 1:
                await asyncio.sleep(0)

    def __repr__(self) -> str:
        return f"<Reading {'wanted' if self._wanted.is_set() else 'over'}>"
