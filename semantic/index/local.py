"""The index in this process: a small exact one for each scope, all of them bounded."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count, islice
from typing import TYPE_CHECKING, Final, ParamSpec

import numpy as np

from semantic.index.port import Figures, Near
from semantic.index.rows import Rows
from semantic.vector import unit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from semantic.index.port import Evicted
    from semantic.vector import Vector, Vectors

P = ParamSpec("P")

_ROW: Final = 500
"""Bytes of a row besides its numbers, and ..."""
_SCOPE: Final = 4000
"""... of a scope: measured, and rounded up."""


class _Scope:
    __slots__ = ("keys", "large", "names", "rows")

    def __init__(self, dimension: int) -> None:
        self.keys: dict[bytes, int] = {}
        """The id of each key, least recently used first."""
        self.names: dict[int, bytes] = {}
        """The key of each id."""
        self.rows = Rows(dimension)
        self.large = False
        """Its rows belong to the thread, and stay there: what waits for it comes first."""


class Local:
    """All is written down on the event loop at once; only the rows of large scopes are changed and
    searched in a thread, one after the other, so nothing needs a lock, and a caller that is
    cancelled leaves nothing half done.
    """

    def __init__(
        self,
        dimension: int,
        *,
        max_scopes: int = 10_000,
        max_entries_per_scope: int = 20_000,
        max_bytes: int = 268_435_456,
        threaded: int = 20_000,
        evicted: Evicted = lambda scope, keys: None,
    ) -> None:
        """The bounds; beyond them the least recently used is dropped, and `evicted` is told.

        `threaded`: rows beyond which a scope is searched in a thread. 20,000 take 1 ms; through a
        thread it was 9 ms where both cores had other work.
        """
        self._dimension = dimension
        self._most_scopes, self._most_entries = max_scopes, max_entries_per_scope
        self._max_bytes = max_bytes
        self._threaded = threaded
        self._evicted = evicted
        self._scopes: dict[bytes, _Scope] = {}
        """Least recently used first."""
        self._row = 2 * dimension + _ROW
        self._count = 0
        self._ids = count()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="index")

    def __repr__(self) -> str:
        return f"<Local {self.figures()}>"

    async def search(self, scope: bytes, vector: Vector, k: int) -> list[Near]:
        """What is found first is used."""
        wanted = unit(vector, self._dimension)[0]
        place = self._used(scope)
        if place is None:
            return []
        if place.large:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._thread, place.rows.search, wanted, k)
        else:
            found = place.rows.search(wanted, k)
        # Meanwhile it may have been dropped, as a whole or in part.
        if self._scopes.get(scope) is not place:
            return []
        near = [Near(place.names[name], cosine) for name, cosine in found if name in place.names]
        if near:
            place.keys[near[0].key] = place.keys.pop(near[0].key)
        return near

    async def add(self, scope: bytes, keys: Sequence[bytes], vectors: Vectors) -> None:
        """The loop stands still for 3 ms a thousand: many are better brought in parts."""
        if not keys:
            return
        rows = unit(vectors, self._dimension)
        if len(rows) != len(keys):
            raise ValueError(f"expected {len(keys)} vectors, found {len(rows)}")
        # Of a key that comes twice, the last row; of more keys than there may be, the last too.
        last = {key: row for row, key in enumerate(keys)}
        chosen = dict(islice(reversed(last.items()), self._most_entries))
        place = self._used(scope) or self._scopes.setdefault(scope, _Scope(self._dimension))
        gone = self._forget(place, last)
        ids = list(islice(self._ids, len(chosen)))
        for key, name in zip(reversed(chosen), ids, strict=True):
            place.keys[key], place.names[name] = name, key
        self._count += len(chosen)
        place.large |= min(len(place.keys), self._most_entries) > self._threaded
        picked = rows[list(reversed(chosen.values()))] if len(chosen) > 1 else rows[-1:]
        self._change(place, place.rows.remove, gone)
        added = self._change(place, place.rows.add, np.array(ids, dtype=np.int64), picked)
        if len(last) > len(chosen):
            self._evicted(scope, tuple(key for key in last if key not in chosen))
        self._make_room(scope, place)
        if added is not None:
            await asyncio.shield(added)  # Cancelled, it would be written down, but not there.

    async def remove(self, scope: bytes, keys: Sequence[bytes]) -> None:
        place = self._scopes.get(scope)
        if place is None:
            return
        gone = self._forget(place, keys)
        if place.keys:
            self._change(place, place.rows.remove, gone)
        else:
            del self._scopes[scope]

    async def leave(self, scope: bytes, keys: Sequence[bytes]) -> None:
        await self.remove(scope, keys)

    async def keep(self, scopes: Mapping[bytes, Sequence[bytes]]) -> None:
        """Nobody else has a part in it."""

    async def drop(self, scope: bytes) -> None:
        place = self._scopes.pop(scope, None)
        if place is not None:
            self._count -= len(place.keys)

    def figures(self) -> Figures:
        size = self._count * self._row + len(self._scopes) * _SCOPE
        return Figures(self._count, len(self._scopes), size)

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _used(self, scope: bytes) -> _Scope | None:
        """The scope, which from now on is the last to be dropped."""
        place = self._scopes.pop(scope, None)
        if place is not None:
            self._scopes[scope] = place
        return place

    def _forget(self, place: _Scope, keys: Iterable[bytes]) -> list[int]:
        """The ids of those that are there, which are no longer known."""
        gone = [name for key in keys if (name := place.keys.pop(key, None)) is not None]
        for name in gone:
            del place.names[name]
        self._count -= len(gone)
        return gone

    def _change(
        self, place: _Scope, change: Callable[P, None], *args: P.args, **named: P.kwargs
    ) -> asyncio.Future[None] | None:
        """Change the rows, now or in the order in which it was asked for."""
        if place.large:
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._thread, partial(change, *args, **named))
        change(*args, **named)
        return None

    def _make_room(self, scope: bytes, place: _Scope) -> None:
        """Drop what is beyond a bound."""
        if (surplus := len(place.keys) - self._most_entries) > 0:
            self._evict(scope, place, surplus)
        while len(self._scopes) > self._most_scopes:
            oldest = next(iter(self._scopes))
            self._evict(oldest, self._scopes[oldest], len(self._scopes[oldest].keys))
        while self._scopes and (surplus := self.figures().bytes - self._max_bytes) > 0:
            oldest = next(iter(self._scopes))
            self._evict(oldest, self._scopes[oldest], -(-surplus // self._row))

    def _evict(self, scope: bytes, place: _Scope, most: int) -> None:
        """Drop the least recently used rows of a scope, and the scope with its last one."""
        keys = tuple(islice(place.keys, most))
        gone = self._forget(place, keys)
        if place.keys:
            self._change(place, place.rows.remove, gone)
        else:
            del self._scopes[scope]
        self._evicted(scope, keys)
