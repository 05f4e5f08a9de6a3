"""The index in a Redis 8: a vector set for each scope, for more than one machine's memory."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal

from redis import RedisError
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from semantic.index.port import Figures, IndexUnavailableError, Near
from semantic.vector import unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from semantic.index.port import Evicted
    from semantic.vector import Vector, Vectors

_EFFORT: Final = 200
"""Of the graph search, which is not exact: neighbours that are looked at."""
_PART: Final = 500
"""Keys of one round trip."""
_ROUNDS: Final = 20
"""Time-outs that a round trip of many has: each row is linked to its neighbours."""
_WANTED: Final = 14_400.0
"""Seconds that a vector outlives the last word of any machine that it has the answer. Each says so
of all that it knows once in an hour, at most."""

_SAY: Final = """
local now = tonumber(redis.call('TIME')[1])
for place = 4, #ARGV do
  if ARGV[3] == 'new' then redis.call('ZADD', KEYS[2], now, ARGV[place])
  else redis.call('ZADD', KEYS[2], 'XX', now, ARGV[place]) end
end
local old = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[1], 'LIMIT', 0, 100)
for _, key in ipairs(old) do
  redis.call('VREM', KEYS[1], key)
  redis.call('ZREM', KEYS[2], key)
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return redis.call('VCARD', KEYS[1])
"""
"""Beside the vectors of a scope stands when each of its keys was last said to be wanted. Which
machine has an answer no other one knows, so none removes what it has lost: it falls silent."""


class VectorSets:
    """What others evict, or Redis lets expire, is not told: whoever finds a key looks whether
    there still is what it leads to."""

    def __init__(
        self,
        url: str,
        dimension: int,
        *,
        tag: str,
        prefix: str = "hotprefix:vectors:",
        wanted: float = _WANTED,
        timeout: float = 0.25,
        max_scopes: int = 10_000,
        max_entries_per_scope: int = 20_000,
        precision: Literal["NOQUANT", "Q8"] = "NOQUANT",
        evicted: Evicted = lambda scope, keys: None,
    ) -> None:
        """Connects to nothing yet.

        `tag`: of the embedder: another one's vectors are in sets of their own, so that machines
        which are changed one after the other, and what is left of before, do not mix.
        `wanted`: seconds that a vector, or a whole scope, outlives the last machine's word that it
        has the answer. `timeout`: seconds for an answer. `max_scopes`: those whose size is
        remembered here. `precision`: numbers of four bytes, or of one with cosines that are off by
        0.001. Raises: ValueError for a bad URL.
        """
        self._dimension = dimension
        # In one set all vectors have one form, so another form has another name.
        space = blake2b(tag.encode(), digest_size=8).hexdigest()
        self._start = f"{prefix}{space}:{dimension}:{precision.lower()}:".encode()
        self._wanted = wanted
        self._ends = max(1, round(1000 * wanted))
        self._timeout = timeout
        self._most_scopes, self._most_entries = max_scopes, max_entries_per_scope
        self._precision = precision
        self._size = dimension * (4 if precision == "NOQUANT" else 1)
        self._evicted = evicted
        self._counts: dict[bytes, int] = {}
        """Rows of the scopes that were added to, as last seen."""
        self._redis = _connected(url, timeout)

    def __repr__(self) -> str:
        return f"<VectorSets {self.figures()}>"

    async def search(self, scope: bytes, vector: Vector, k: int) -> list[Near]:
        wanted = unit(vector, self._dimension).astype("<f4").tobytes()
        command = ("VSIM", self._name(scope), "FP32", wanted, "WITHSCORES", "COUNT", k)
        found = await self._ask(*command, "EF", _EFFORT)
        scores = map(float, found[1::2])
        # The score of a vector set is (1 + cosine) / 2.
        return [Near(key, 2 * score - 1) for key, score in zip(found[::2], scores, strict=True)]

    async def add(self, scope: bytes, keys: Sequence[bytes], vectors: Vectors) -> None:
        if not keys:
            return
        rows = unit(vectors, self._dimension).astype("<f4")
        if len(rows) != len(keys):
            raise ValueError(f"expected {len(keys)} vectors, found {len(rows)}")
        for start in range(0, len(keys), _PART):
            part = slice(start, start + _PART)
            size = await self._add(scope, keys[part], rows[part])
            if (surplus := size - self._most_entries) > 0:
                await self._evict(scope, surplus)

    async def remove(self, scope: bytes, keys: Sequence[bytes]) -> None:
        await self._remove(scope, keys)

    async def leave(self, scope: bytes, keys: Sequence[bytes]) -> None:
        """From now on nothing is said of them."""

    async def keep(self, scopes: Mapping[bytes, Sequence[bytes]]) -> None:
        if not scopes:
            return
        async with self._within(self._timeout * _ROUNDS):
            pipe = self._redis.pipeline(transaction=False)
            for scope, keys in scopes.items():
                pipe.execute_command(*self._say(scope, "known", keys))
            sizes = await pipe.execute()
        for scope, size in zip(scopes, sizes, strict=True):
            self._seen(scope, int(size))

    async def drop(self, scope: bytes) -> None:
        self._counts.pop(scope, None)
        await self._ask("UNLINK", self._name(scope), self._times(scope))

    def figures(self) -> Figures:
        count = sum(self._counts.values())
        return Figures(count, len(self._counts), count * self._size)

    async def aclose(self) -> None:
        await self._redis.aclose()

    async def _add(self, scope: bytes, keys: Sequence[bytes], rows: Vectors) -> int:
        """How many the scope has then."""
        name = self._name(scope)
        async with self._within(self._timeout * (1 if len(keys) == 1 else _ROUNDS)):
            pipe = self._redis.pipeline(transaction=False)
            # First: a vector without a time beside it would never go.
            pipe.execute_command(*self._say(scope, "new", keys))
            for key, row in zip(keys, rows, strict=True):
                pipe.execute_command("VADD", name, "FP32", row.tobytes(), key, self._precision)
            pipe.execute_command("PEXPIRE", name, self._ends)
            pipe.execute_command("VCARD", name)
            size = int((await pipe.execute())[-1])
        self._seen(scope, size)
        return size

    def _say(self, scope: bytes, what: str, keys: Sequence[bytes]) -> tuple[bytes | str | int, ...]:
        """The command that says that these are wanted."""
        names = (self._name(scope), self._times(scope))
        return ("EVAL", _SAY, 2, *names, str(self._wanted), self._ends, what, *keys)

    async def _evict(self, scope: bytes, surplus: int) -> None:
        """Some, of which nobody knows when they were used: a vector set has no order."""
        some = await self._ask("VRANDMEMBER", self._name(scope), surplus)
        await self._remove(scope, some)
        self._evicted(scope, tuple(some))

    async def _remove(self, scope: bytes, keys: Sequence[bytes]) -> None:
        name = self._name(scope)
        for start in range(0, len(keys), _PART):
            async with self._within(self._timeout * (1 if len(keys) == 1 else _ROUNDS)):
                pipe = self._redis.pipeline(transaction=False)
                part = keys[start : start + _PART]
                for key in part:
                    pipe.execute_command("VREM", name, key)
                if part:
                    pipe.execute_command("ZREM", self._times(scope), *part)
                pipe.execute_command("VCARD", name)
                self._seen(scope, int((await pipe.execute())[-1]))

    def _seen(self, scope: bytes, size: int) -> None:
        self._counts.pop(scope, None)
        if size:
            self._counts[scope] = size
        while len(self._counts) > self._most_scopes:
            del self._counts[next(iter(self._counts))]

    def _name(self, scope: bytes) -> bytes:
        return self._start + scope.hex().encode()

    def _times(self, scope: bytes) -> bytes:
        return self._name(scope) + b":wanted"

    async def _ask(self, *command: bytes | str | int) -> Any:
        async with self._within(self._timeout):
            # The driver has types for its commands by name only.
            return await self._redis.execute_command(*command)  # type: ignore[no-untyped-call]

    @asynccontextmanager
    async def _within(self, seconds: float) -> AsyncIterator[None]:
        """Raises IndexUnavailableError for whatever goes wrong, soon. A connection that is left
        in the middle of an answer is closed by the driver, and not used again."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except (RedisError, OSError, TimeoutError) as error:
            raise IndexUnavailableError(f"redis: {type(error).__name__}") from error


def _connected(url: str, timeout: float) -> Redis:
    """A client that repeats nothing, and connects when it is asked for something."""
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=8,
        timeout=timeout,
        socket_connect_timeout=timeout,
        socket_timeout=None,  # Whoever waits has a limit of its own.
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )
    return Redis.from_pool(pool)
