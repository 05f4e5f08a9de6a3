"""What a worker asks of Redis: in one write a loop turn, within a deadline, or not at all."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any, Final

from proxy.adapters.redis.asked import LATE, OPEN, TIER, UNKNOWN, Asked, LinkError
from proxy.adapters.redis.pools import Pools
from proxy.adapters.redis.route import Cluster, Single
from proxy.adapters.redis.url import parse
from proxy.core.events import TierKnown, TierTurned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy import config
    from proxy.adapters.redis.asked import Part
    from proxy.adapters.redis.lane import Lane
    from proxy.adapters.redis.route import Route
    from proxy.ports import Clock, Emit

WRITES: Final = "redis-writes"
"""What refused writes are told as: a full Redis still answers."""
_EVERY: Final = 0.5
"""Seconds between two looks at what does not work."""
_HELD: Final = 5.0
"""Seconds that something must have worked before that is told: at the edge of its memory, a Redis
takes and refuses in turn."""
_LARGE: Final = 1 << 16
_SLOWEST: Final = 1 << 24
"""Bytes a second: a longer command, which is a write that no request waits for, has more time."""
_PROBES: Final = 1 << 17
"""Names to try for a probe's key; enough to meet every slot of a cluster."""


class Link:
    """Redis for one worker. Everything that fails is a StoreError, soon."""

    def __init__(
        self, settings: config.Redis, password: str | None, *, clock: Clock, emit: Emit
    ) -> None:
        """Connects to nothing yet. Raises: ConfigError."""
        self.prefix = settings.prefix
        target = parse(settings.url, settings.username, password)
        self._timeout = float(settings.timeout)
        self._clock = clock
        self._emit = emit
        pools = self._pools = Pools(target, settings.ca_file, settings.max_connections)
        cluster = target.kind == "cluster"
        self._route: Route = (Cluster if cluster else Single)(pools, self._tell)
        self._start = settings.prefix.encode()
        self._turn: dict[Lane, list[Asked]] = {}
        self._unknown = ""
        self._told: dict[str, str] = {}
        """The class of the error that was told, or nothing for what works."""
        self._well_since: dict[str, float] = {}
        self._late = -math.inf
        self._closed = False

    def __repr__(self) -> str:
        return f"<Link {self._route.lanes()}>"

    @property
    def working(self) -> bool:
        """Whether asking has a point: there is a server, and none refuses to be read."""
        lanes = self._route.lanes()
        return bool(lanes) and not any(lane.reads.open for lane in lanes)

    @property
    def silent(self) -> bool:
        """Whether somebody has just waited in vain: a request that was let down once is not to
        wait for its next question as well."""
        return asyncio.get_running_loop().time() - self._late < 2 * self._timeout

    def name(self, tag: bytes | str, kind: str) -> bytes:
        """The name of a key. Those of one tag are held by one server."""
        text = tag if isinstance(tag, str) else tag.hex()
        return f"{self.prefix}{{{text}}}:{kind}".encode()

    async def ask(self, *command: Part, write: bool = False) -> Any:
        """The reply to one command; bytes stay bytes. Raises: StoreError."""
        keys = (part for part in command if isinstance(part, bytes))
        key = next((key for key in keys if key.startswith(self._start)), b"")
        return await self._asked(command, key, write)

    async def script(
        self, text: str, keys: Sequence[bytes], args: Sequence[Part], *, write: bool = False
    ) -> Any:
        """What a Lua script returns that touches these keys of one tag. Raises: StoreError."""
        return await self._asked(("EVAL", text, len(keys), *keys, *args), keys[0], write)

    async def run(self) -> None:
        """Look after what does not work, until cancelled."""
        while True:
            await self.tend()
            await self._clock.sleep(_EVERY)

    async def tend(self) -> None:
        """One round of `run`: no request ever waits to find out whether Redis is back."""
        self._unknown = await self._route.learn()
        async with asyncio.TaskGroup() as group:
            for lane in self._route.lanes():
                if not lane.sound:
                    group.create_task(lane.probe(self._probe_name(lane), self._timeout))
        self._tell(known=True)

    async def aclose(self) -> None:
        """Close all connections; what is asked from now on fails."""
        self._closed = True
        for lane in self._route.lanes():
            await lane.aclose()
        await self._pools.aclose()

    async def _asked(self, command: Sequence[Part], key: bytes, write: bool) -> Any:
        lane = self._route.lane(key)
        if lane is None or self._closed:
            raise LinkError(UNKNOWN)
        if lane.circuit(write).open:
            raise LinkError(OPEN)
        call = Asked(command, write=write)
        loop = asyncio.get_running_loop()
        if call.size > _LARGE:
            lane.send([call], loop.time() + self._timeout + call.size / _SLOWEST)
        else:
            if not self._turn:
                loop.call_soon(self._end_turn)
            self._turn.setdefault(lane, []).append(call)
        try:
            return await call.future
        except LinkError as error:
            if error.code == LATE:
                self._late = loop.time()
            raise

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, {}
        due = asyncio.get_running_loop().time() + self._timeout
        for lane, calls in turn.items():
            lane.send(calls, due)

    def _probe_name(self, lane: Lane) -> bytes:
        """A key that this server holds."""
        for number in range(_PROBES):
            name = self.name(f"probe{number}", "p")
            if self._route.lane(name) is lane:
                return name
        return self.name("probe", "p")  # It holds none, and will say so.

    def _tell(self, *, known: bool = False) -> None:
        """Say what has changed: the class of an error at once, and once it has held that it works.
        `known`: whether each server has answered, or failed to."""
        lanes = self._route.lanes()
        reads = [lane.reads.error for lane in lanes if lane.reads.open]
        writes = [lane.writes.error for lane in lanes if lane.writes.open]
        for tier, errors in ((TIER, reads), (WRITES, writes)):
            error = self._unknown or next(iter(errors), "")
            told = self._told.get(tier)
            if error:
                self._well_since.pop(tier, None)
                if not told:
                    self._emit(TierTurned(tier, False, error))
                self._told[tier] = error
            elif told is None and known:
                self._emit(TierKnown(tier))
                self._told[tier] = ""
            elif told and self._has_held(tier):
                self._emit(TierTurned(tier, True))
                self._told[tier] = ""

    def _has_held(self, tier: str) -> bool:
        now = self._clock.mono()
        return now - self._well_since.setdefault(tier, now) >= _HELD
