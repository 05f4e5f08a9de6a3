"""The disk tier as a Store."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import lmdb
import msgspec

from proxy.adapters.disk import tree
from proxy.adapters.disk.file import TIER, File
from proxy.adapters.disk.scan import Scan
from proxy.adapters.disk.writer import BATCH, Delete, Job, Put, Renew, Result, Stop, Sweep, Writer
from proxy.coder import PLAIN, Coder
from proxy.core.entry import OVERHEAD
from proxy.core.events import Evicted, TierFailed, TierMeasured
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.entry import Key, Stored
    from proxy.ports import Clock, Emit

_QUEUED: Final = 64 << 20
"""Bytes that may wait for the writer; more is refused, so that a slow disk costs no memory."""
_PEEKED: Final = 1 << 16
"""Bytes that are unpacked in less than a millisecond; a few megabytes take a tenth of a second."""
_LINGER: Final = 0.002
"""Seconds that a write waits for company: a commit and two changes of thread cost 80 microseconds,
alone or together."""
_CROWD: Final = 8
_CROWDED: Final = 0.02
"""After a batch of so many jobs it waits so long, since then those two take much of a core. Not at
all times: only when it is written does a worker learn that another has a newer answer."""
_SWEEP_EVERY: Final = 1.0
_CLOSING: Final = 10.0
"""Seconds that leaving may take before the process goes anyway."""


class Stats(msgspec.Struct, frozen=True):
    """How full it is."""

    entries: int
    bytes: int


class Waiting(NamedTuple):
    """Jobs of one caller that have not been done yet."""

    jobs: tuple[Job, ...]
    weight: int
    future: asyncio.Future[list[Result]]


class Disk:
    """A Store that all workers of a machine share.

    A look-up is done in place, in a microsecond or two: handing it to a thread would cost more
    than ten times that. Writes go to a thread and are committed in batches without waiting for
    the disk. Make one in each process, after forking.
    """

    def __init__(
        self,
        path: str | Path,
        max_bytes: int,
        *,
        coder: Coder = PLAIN,
        clock: Clock,
        emit: Emit,
    ) -> None:
        """`path`: a directory, made if need be. `emit` and `coder` are called from the writer's
        thread too.

        Raises: StoreError if nothing can be kept there; what cannot be read is set aside.
        """
        self._clock = clock
        self._emit = emit
        self._coder = coder
        self._file = File(Path(path), max_bytes, emit, sealed=coder.seal is not None)
        self.scan = Scan(self._file, coder)
        self._writer = Writer(self._file, emit, coder.encode)
        self._waiting: list[Waiting] = []
        self._queued = 0
        self._linger = _LINGER
        self._started = False
        self._closed = False

    def __repr__(self) -> str:
        with suppress(StoreError):
            stats = self.stats()
            return f"<Disk {stats.entries} entries, {stats.bytes} bytes, {self._queued} queued>"
        return "<Disk failing>"

    async def get(self, key: Key, now: float) -> Stored | None:
        """What is stored; whatever is torn, foreign or expired is None. Raises: StoreError."""
        return (await self.get_all((key,), now)).get(key)

    async def get_all(self, keys: Sequence[Key], now: float) -> dict[Key, Stored]:
        """`get` for several at once, which takes hardly longer than for one. Raises: StoreError."""
        read = zip(keys, self._read(keys), strict=True)
        found = [await self._coder.unpack(data, key) for key, data in read if data is not None]
        return {one.key: one for one in found if one is not None and one.expires > now}

    async def put(self, stored: Stored, now: float) -> bool:
        """Store it, so that every worker finds it; False: something asked for later is there.

        Cancelling gives up waiting, not writing. Raises: StoreError.
        """
        return (await self.put_all((stored,), now))[0]

    async def put_all(self, stored: Sequence[Stored], now: float) -> list[bool]:
        """`put` for several at once, which takes no longer than for one. Raises: StoreError."""
        kept: list[int] = []
        for start in range(0, len(stored), BATCH):
            some = stored[start : start + BATCH]
            weight = sum([OVERHEAD + one.weight for one in some])
            if self._queued + weight > _QUEUED:
                raise StoreError(TIER, "too many writes are waiting")
            kept += await self._done(*[Put(one, now) for one in some], weight=weight)
        return list(map(bool, kept))

    async def delete(self, key: Key) -> bool:
        """Forget it; whether it was there. Raises: StoreError."""
        return bool((await self._done(Delete(key)))[0])

    def peek(self, key: Key, now: float) -> Stored | None:
        """`get` at once, but of nothing large: a thread is to unpack that. Raises: StoreError."""
        (data,) = self._read((key,))
        stored = self._coder.decode(data, key) if data and len(data) <= _PEEKED else None
        return None if stored is None or stored.expires <= now else stored

    async def run(self) -> None:
        """Sweep, and mend what can be mended, until cancelled."""
        while True:
            await self._clock.sleep(_SWEEP_EVERY)
            try:
                await self.tend(self._clock.now())
            except StoreError as error:
                self._emit(TierFailed(TIER, "sweep", type(error).__name__))

    async def tend(self, now: float) -> None:
        """Drop all that has expired by `now`; one round of `run`. Raises: StoreError."""
        if self._file.failing():
            await self._done(Renew())
        swept = 0
        # Of several workers that see it due, the first to write does it all: the rest find nothing.
        while self._due(now):
            swept += (await self._done(Sweep(now)))[0]
        if swept:
            self._emit(Evicted(TIER, "expired", swept))
        stats = self.stats()
        self._emit(TierMeasured(TIER, stats.bytes, stats.entries, shared=True))

    def stats(self) -> Stats:
        """A snapshot. Raises: StoreError."""
        try:
            with self._file.look() as (txn, tables):
                return Stats(tree.count(txn, tables), tree.used(txn, tables))
        except lmdb.Error as error:
            raise StoreError(TIER, f"cannot read: {type(error).__name__}") from error

    def close(self) -> bool:
        """Finish what is queued and leave the file as sound; False: it took too long.

        Blocks, at the end of the process only.
        """
        self._closed = True
        batch, self._waiting = self._waiting, []
        results: list[Result] = []
        self._writer.submit([*_jobs(batch), Stop()], results.extend)
        ended = self._writer.join(_CLOSING)
        if results:
            _tell(batch, results)
        return ended

    def _read(self, keys: Sequence[Key]) -> list[bytes | None]:
        try:
            return self._file.read(keys)
        except lmdb.Error as error:
            raise StoreError(TIER, f"cannot read: {type(error).__name__}") from error

    def _due(self, now: float) -> bool:
        try:
            with self._file.look() as (txn, tables):
                return tree.due(txn, tables, now)
        except lmdb.Error as error:
            raise StoreError(TIER, f"cannot read: {type(error).__name__}") from error

    async def _done(self, *jobs: Job, weight: int = OVERHEAD) -> list[int]:
        """Each caller has a future of its own: cancelling one leaves the others alone."""
        if self._closed:
            raise StoreError(TIER, "closed")
        loop = asyncio.get_running_loop()
        waiting = Waiting(jobs, weight, loop.create_future())
        self._waiting.append(waiting)
        self._queued += weight
        self._start(loop)
        done: list[int] = []
        for result in await waiting.future:
            if isinstance(result, StoreError):
                raise result
            done.append(result)
        return done

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        """See that a batch starts soon. One at a time: what comes meanwhile is the next."""
        if self._waiting and not self._started:
            self._started = True
            company = len(self._waiting) >= BATCH
            loop.call_later(0 if company else self._linger, self._send, loop)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]

        def settle(results: list[Result]) -> None:
            self._started = False
            self._linger = _CROWDED if len(results) >= _CROWD else _LINGER
            self._queued -= sum([waiting.weight for waiting in batch])
            _tell(batch, results)
            self._start(loop)

        def done(results: list[Result]) -> None:
            with suppress(RuntimeError):  # The loop is closed: nobody waits any more.
                loop.call_soon_threadsafe(settle, results)

        self._writer.submit(_jobs(batch), done)


def _jobs(batch: list[Waiting]) -> list[Job]:
    return [job for waiting in batch for job in waiting.jobs]


def _tell(batch: list[Waiting], results: list[Result]) -> None:
    """Each caller the results of its own jobs."""
    start = 0
    for jobs, _, future in batch:
        end = start + len(jobs)
        if not future.done():
            future.set_result(results[start:end])
        start = end
