"""The one thread of a process that writes: jobs in, committed batches out."""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import lmdb

from proxy.adapters.disk import tree
from proxy.adapters.disk.file import TIER
from proxy.core.events import Evicted
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proxy.adapters.disk.file import File
    from proxy.adapters.disk.tree import Tree, Txn
    from proxy.core.entry import Key, Stored
    from proxy.ports import Emit

BATCH: Final = 256
"""Jobs that are handed over together."""
STEP: Final = 128
"""Entries that one transaction drops at most, so that other workers' writes need not wait for more
than a few milliseconds, and the pages that it copies fit into what is kept free."""
_PORTION: Final = 8
"""Part of the file that one transaction may write, for the same reasons."""
_TRIES: Final = 20
_PAGE: Final = 4096
"""Bytes; a value takes those of its parts and at most three more, above them and in the index."""


class Put(NamedTuple):
    """Store an entry."""

    stored: Stored
    now: float


class Delete(NamedTuple):
    """Forget an entry."""

    key: Key


class Sweep(NamedTuple):
    """Drop up to STEP expired entries."""

    now: float


class Renew(NamedTuple):
    """Open the file anew."""


class Stop(NamedTuple):
    """Close the file; the last job."""


Job: TypeAlias = Put | Delete | Sweep | Renew | Stop
Result: TypeAlias = int | StoreError
"""1 or 0: done or there was nothing to do; for a sweep, how many were dropped."""

Batch: TypeAlias = "tuple[list[Job], Callable[[list[Result]], None]]"


class Writer:
    """Commits a batch of jobs in one transaction, if it can."""

    def __init__(self, file: File, emit: Emit, encode: Callable[[Stored], bytes]) -> None:
        """`encode` raises ValueError for what cannot be kept now."""
        self._file = file
        self._emit = emit
        self._encode = encode
        self._batches: SimpleQueue[Batch] = SimpleQueue()
        self._stuck = 0
        self._thread = threading.Thread(target=self._run, name="disk-writer", daemon=True)
        self._thread.start()

    def submit(self, batch: list[Job], done: Callable[[list[Result]], None]) -> None:
        """Have it done; `done` is called in the writer's thread, with a result for each job."""
        self._batches.put((batch, done))

    def join(self, seconds: float) -> bool:
        """After a Stop: whether the thread ended in time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        stopped = False
        while not stopped:
            batch, done = self._batches.get()
            try:
                results = self._work(batch)
            except Exception as error:  # The top of a thread: without it, nobody is ever answered.
                results = [_failed(error) for _ in batch]
            done(results)
            stopped = any(isinstance(job, Stop) for job in batch)

    def _work(self, batch: list[Job]) -> list[Result]:
        results: list[Result] = []
        limit = self._file.limit
        for steps in _portions(
            [_fitting(self._step(job), limit) for job in batch], limit // _PORTION
        ):
            try:
                results += self._commit(steps)
                self._stuck = 0
            except (lmdb.Error, OSError) as error:
                self._consider(error)
                results += [_failed(error) for _ in steps]
        return self._afterwards(batch, results)

    def _commit(self, steps: list[Step]) -> list[Result]:
        """All in one transaction; one by one if that does not fit."""
        try:
            results = self._change(steps)
        except lmdb.MapFullError:
            results = None
        if results is None:
            self._file.forget_dead_readers()
            results = [self._alone(step) for step in steps]
        return results

    def _alone(self, step: Step) -> Result:
        self._make_room(step.cost + self._file.limit // _PORTION)
        with suppress(lmdb.MapFullError):
            with self._file.change() as (txn, _):
                tree.age(txn)
            results = self._change([step])
            if results is not None:
                return results[0]
        return StoreError(TIER, "no room")

    def _change(self, steps: list[Step]) -> list[Result] | None:
        """All in one transaction, or None: others have filled the room that was made."""
        cost = sum(step.cost for step in steps)
        for _ in range(_TRIES):
            self._make_room(cost)
            with self._file.change() as (txn, tables):
                # Only under the write lock is this certain.
                if not cost or tree.used(txn, tables) + cost <= self._file.limit:
                    return [step.act(txn, tables) for step in steps]
        return None

    def _make_room(self, wanted: int) -> None:
        """Drop what expires soonest until `wanted` bytes fit below the limit."""
        evicted = 0
        while wanted:
            with self._file.look() as (txn, tables):
                used, entries = tree.used(txn, tables), tree.count(txn, tables)
            excess = used + wanted - self._file.limit
            if excess <= 0 or not entries:
                break
            # By the mean size, so that neither one large nor many small ones cost too much.
            count = min(STEP, entries * excess // used + 1)
            with self._file.change() as (txn, tables):
                evicted += tree.drop_soonest(txn, tables, count, before=float("inf"))
        if evicted:
            self._emit(Evicted(TIER, "size", evicted))

    def _consider(self, error: Exception) -> None:
        """A file that stays too full even to delete from is given up. For a while it may be
        something that reads, such as a copy being made, and holds on to all free pages."""
        if isinstance(error, lmdb.MapFullError) and not self._file.forget_dead_readers():
            self._stuck += 1
            if self._stuck >= _TRIES:
                self._file.condemn()

    def _afterwards(self, batch: list[Job], results: list[Result]) -> list[Result]:
        """What happens to the file itself, outside of any transaction."""
        for at, job in enumerate(batch):
            try:
                match job:
                    case Renew():
                        self._file.renew()
                    case Stop():
                        self._file.close()
                    case _:
                        continue
                results[at] = 1
            except (StoreError, lmdb.Error, OSError) as error:
                results[at] = _failed(error)
        return results

    def _step(self, job: Job) -> Step:
        """Entries are encoded here, before the transaction begins."""
        match job:
            case Put(stored, now):
                try:
                    data = self._encode(stored)
                except ValueError as error:
                    failed = _failed(error)
                    return Step(0, lambda txn, tables: failed)
                key, cost = stored.key, (len(data) // tree.PART + 4) * _PAGE
                return Step(cost, lambda txn, tables: tree.write(txn, tables, key, data, now))
            case Delete(key):
                return Step(0, lambda txn, tables: tree.remove(txn, tables, key))
            case Sweep(now):
                return Step(0, lambda txn, tables: tree.drop_soonest(txn, tables, STEP, now))
            case Renew() | Stop():
                return Step(0, lambda txn, tables: 1)


class Step(NamedTuple):
    """What a job does inside a transaction, and the bytes of free pages that it may take."""

    cost: int
    act: Callable[[Txn, Tree], Result]


def _fitting(step: Step, limit: int) -> Step:
    """Refuse what only an almost empty file could take, before room is made for it."""
    if step.cost <= limit // 2:
        return step
    return Step(0, lambda txn, tables: StoreError(TIER, "too large"))


def _portions(steps: list[Step], limit: int) -> Iterator[list[Step]]:
    """In order, so that none but a single step costs more than `limit`."""
    portion: list[Step] = []
    cost = 0
    for step in steps:
        if portion and cost + step.cost > limit:
            yield portion
            portion, cost = [], 0
        portion.append(step)
        cost += step.cost
    yield portion


def _failed(error: Exception) -> StoreError:
    return StoreError(TIER, f"cannot write: {type(error).__name__}")
