"""The object tier as a Store."""

from __future__ import annotations

import asyncio
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from proxy.adapters.objects.place import FAILURES, Place
from proxy.coder import PLAIN, Coder
from proxy.core import wire
from proxy.core.events import Evicted, TierFailed
from proxy.ports import StoreError
from proxy.tasks import ended

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.entry import Key, Stored
    from proxy.ports import Clock, Emit

TIER: Final = "objects"
_NAME: Final = re.compile(r"[0-9a-f]{2}/[0-9a-f]{2}/[0-9a-f]{60}")
_NAMES: Final = "hotprefix 2026 names of objects"
_WRITING: Final = 30.0
"""Seconds for all that a write takes; no request waits for it."""
_TRIES: Final = 3
"""Attempts to be the next writer of an object that others write as well."""
_QUEUED: Final = 64 << 20
"""Bytes that may be on their way; more is refused, so that a slow store costs no memory."""
_SHARDS: Final = 256
_SWEEP_EVERY: Final = 600.0
"""Seconds; a shard each time, so that all are swept in less than two days."""
_SWEPT: Final = 10_000
"""Objects of a shard that one sweep deletes at most."""
_TOGETHER: Final = 16
"""Objects whose heads are asked for at the same time."""
_FORGOTTEN: Final = 64
"""Deletions of expired objects that may be under way."""


class Objects:
    """A Store of answers, for all gateways that are given the same place.

    Names are made from keys in a way that only who has `secret` can follow. Make one in each
    process, after forking.
    """

    def __init__(
        self,
        url: str,
        coder: Coder = PLAIN,
        *,
        timeout: float,
        secret: bytes = b"",
        longest: float = 0.0,
        clock: Clock,
        emit: Emit,
    ) -> None:
        """`timeout`: seconds for a read. `longest`: the seconds that an entry lives at most, pinned
        ones aside; only older objects are looked into by `run`.

        Raises: ConfigError for an impossible `url`.
        """
        self._place = Place(url)
        self._coder = coder
        self._timeout = timeout
        self._secret = blake3(secret, derive_key_context=_NAMES).digest()
        self._longest = longest
        self._clock = clock
        self._emit = emit
        self._queued = 0
        self._tasks: set[asyncio.Task[None]] = set()

    def __repr__(self) -> str:
        return f"<Objects {self._place}, {self._queued} bytes queued>"

    async def get(self, key: Key, now: float) -> Stored | None:
        """What is stored; whatever is torn, foreign or expired is None. Raises: StoreError."""
        name = self._name(key)
        try:
            async with asyncio.timeout(self._timeout):
                data = await self._place.read(name)
        except FAILURES as error:
            raise _failed("read", error) from error
        head = None if data is None else wire.header(data)
        if data is None or head is None:
            return None
        if head.expires <= now:
            self._forget(name)
            return None
        return await self._coder.unpack(data, key)

    async def put(self, stored: Stored, now: float) -> bool:
        """Keep it; False: something asked for later is there. Raises: StoreError."""
        if self._queued + stored.weight > _QUEUED:
            raise StoreError(TIER, "too many writes are under way")
        self._queued += stored.weight
        try:
            data = await self._coder.pack(stored)
            async with asyncio.timeout(_WRITING):
                return await self._written(self._name(stored.key), data, now)
        except FAILURES as error:
            raise _failed("write", error) from error
        finally:
            self._queued -= stored.weight

    async def delete(self, key: Key) -> bool:
        """Forget it; whether it was there. Raises: StoreError."""
        try:
            async with asyncio.timeout(_WRITING):
                return await self._place.delete(self._name(key))
        except FAILURES as error:
            raise _failed("delete", error) from error

    async def holds(self, keys: Sequence[Key], now: float) -> dict[Key, float]:
        """When those of them were asked for that have a question; a request for a few bytes each.
        Raises: StoreError."""
        found: list[wire.Header | None] = []
        try:
            for start in range(0, len(keys), _TOGETHER):
                some = [self._name(key) for key in keys[start : start + _TOGETHER]]
                async with asyncio.timeout(self._timeout):
                    found += [one.head for one in await asyncio.gather(*map(self._place.see, some))]
        except FAILURES as error:
            raise _failed("read", error) from error
        told = zip(keys, found, strict=True)
        return {key: head.asked for key, head in told if head is not None and head.answers(now)}

    async def run(self) -> None:
        """Sweep one shard after the other, until cancelled. One worker of a machine is enough."""
        while True:
            await self._clock.sleep(_SWEEP_EVERY)
            now = self._clock.now()
            try:
                await self.tend(int(now / _SWEEP_EVERY) % _SHARDS, now)
            except StoreError as error:
                self._emit(TierFailed(TIER, "sweep", type(error).__name__))

    async def tend(self, shard: int, now: float) -> None:
        """Delete what nobody can be served any more from one shard. Raises: StoreError."""
        swept = 0
        try:
            async with asyncio.timeout(_SWEEP_EVERY):
                async for names in self._place.names(f"{shard:02x}", now - self._longest):
                    for name in filter(_NAME.fullmatch, names):
                        head = (await self._place.see(name)).head
                        if head is None or head.expires <= now:
                            swept += await self._place.delete(name)
                    if swept >= _SWEPT:
                        break
        except FAILURES as error:
            raise _failed("sweep", error) from error
        finally:
            if swept:
                self._emit(Evicted(TIER, "expired", swept))

    async def aclose(self) -> None:
        """Leave nothing running."""
        await ended(self._tasks)

    async def _written(self, name: str, data: bytes, now: float) -> bool:
        new = wire.header(data)
        assert new is not None
        for _ in range(_TRIES):
            seen = await self._place.see(name)
            if seen.head is not None and seen.head.expires > now:
                if seen.head.outranks(new):
                    return False
                if seen.head.asked == new.asked:
                    return True  # another worker has brought the same answer here
            if await self._place.write(name, data, seen):
                return True
        raise StoreError(TIER, "others write it all the time")

    def _forget(self, name: str) -> None:
        """Delete what has expired, behind the answer."""
        if len(self._tasks) < _FORGOTTEN:
            task = asyncio.get_running_loop().create_task(self._deleted(name))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _deleted(self, name: str) -> None:
        with suppress(*FAILURES):  # the next sweep finds it
            async with asyncio.timeout(_WRITING):
                await self._place.delete(name)

    def _name(self, key: Key) -> str:
        name = blake3(key, key=self._secret).hexdigest()
        return f"{name[:2]}/{name[2:4]}/{name[4:]}"


def _failed(what: str, error: Exception) -> StoreError:
    # The class alone: texts quote names, and addresses with what may be in them.
    return StoreError(TIER, f"cannot {what}: {type(error).__name__}")
