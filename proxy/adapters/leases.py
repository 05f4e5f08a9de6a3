"""Which worker of this machine calls upstream for a key: leases in a small LMDB file."""

from __future__ import annotations

import asyncio
import fcntl
import os
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Final, TypeAlias

import lmdb

from proxy.core.events import TierFailed
from proxy.core.lease import TERM, Lease, decode, encode, in_force

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.ports import Clock, Emit

    Txn: TypeAlias = lmdb.Transaction[bytes]

RENEW_EVERY: Final = 0.4
"""Three renewals may be late before a living worker loses a lease."""
PATIENCE: Final = 0.25
"""Seconds after which a lease store that does not answer counts as failed."""
_SWEEP_EVERY: Final = 25
"""Rounds between two searches for what dead workers left behind."""
_MAP: Final = 16 << 20
_TOKEN: Final = b"\0token"


class NoLeases:
    """For a single worker: whoever asks may fly."""

    async def acquire(self, name: bytes, instead: str = "") -> int | str:
        """0: nobody else can have it."""
        return 0

    async def release(self, name: bytes) -> None:
        """Nothing was taken."""


class Board:
    """The file that the workers of a machine share. The first to come begins a new one: leases
    mean nothing once all that held them are gone."""

    def __init__(self, directory: str | Path) -> None:
        """Raises: OSError, lmdb.Error."""
        path = Path(directory)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._users = os.open(path / "users", os.O_RDWR | os.O_CREAT, 0o600)
        opening = os.open(path / "opening", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(opening, fcntl.LOCK_EX)
            with suppress(BlockingIOError):
                fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                (path / "data.mdb").unlink(missing_ok=True)
                (path / "lock.mdb").unlink(missing_ok=True)
            # Without ever waiting for the disk: nothing here outlives a power cut.
            self.env = lmdb.open(str(path), map_size=_MAP, mode=0o600, sync=False, max_readers=2048)
            fcntl.flock(self._users, fcntl.LOCK_SH)
        finally:
            os.close(opening)

    def close(self) -> None:
        """After all leases in it are closed."""
        self.env.close()
        os.close(self._users)


class Leases:
    """Leases of one worker.

    Writing takes LMDB's one write lock, which a frozen process may hold for ever: it is done in
    a thread and waited for only briefly. Make one in each process, after forking.
    """

    def __init__(self, board: Board, address: str, *, clock: Clock, emit: Emit) -> None:
        """`address`: where other workers reach this one."""
        self._address = address
        self._clock = clock
        self._emit = emit
        self._held: dict[bytes, int] = {}
        self._env = board.env
        self._stuck: asyncio.Future[Result] | None = None
        self._jobs: SimpleQueue[tuple[Change, Callable[[Result], None]] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="leases", daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        return f"<Leases {self._address} holds {len(self._held)}>"

    async def acquire(self, name: bytes, instead: str = "") -> int | str:
        """The address of the worker that holds it, or 0: this one does, or nobody can say. It is
        taken away from nobody: inside a machine, who lives can be reached. No token: what one
        machine's workers write is ordered by when it was asked for."""
        owner = self._owner(name)
        if owner is not None and owner != self._address:
            return owner
        now = self._clock.mono()
        lease = await self._changed(lambda txn: _take(txn, name, self._address, now))
        if not isinstance(lease, Lease):
            return 0
        if lease.owner != self._address:
            return lease.owner
        self._held[name] = lease.token
        return 0

    async def release(self, name: bytes) -> None:
        """Give it back; whatever another worker holds by now is left alone."""
        token = self._held.pop(name, None)
        if token is not None:
            await self._changed(lambda txn: _give_back(txn, name, self._address, token))

    async def run(self) -> None:
        """Renew what is held, until cancelled."""
        rounds = 0
        while True:
            await self._clock.sleep(RENEW_EVERY)
            rounds += 1
            await self.renew()
            if rounds % _SWEEP_EVERY == 0:
                await self.sweep()

    async def renew(self) -> None:
        """One round of `run`. What another worker took in the meantime is no longer held; the
        flight goes on, and its answer is as good as the other's."""
        held, now = dict(self._held), self._clock.mono()
        if not held:
            return
        lost = await self._changed(lambda txn: _renew(txn, held, self._address, now))
        for name in lost if isinstance(lost, list) else ():
            if self._held.get(name) == held[name]:
                del self._held[name]

    async def sweep(self) -> None:
        """Forget what dead workers left: leases, and the pages that they seem to read."""
        now = self._clock.mono()
        await self._changed(lambda txn: _sweep(txn, now))
        with suppress(lmdb.Error):  # what it leaves behind costs pages, and no request
            self._env.reader_check()

    def close(self) -> bool:
        """Stop; leases still held run out. False: its thread is stuck, so leave the board open."""
        self._jobs.put(None)
        self._thread.join(PATIENCE)
        return not self._thread.is_alive()

    def _owner(self, name: bytes) -> str | None:
        try:
            with self._env.begin() as txn:
                lease = in_force(txn.get(name), self._clock.mono())
        except lmdb.Error:
            return None
        return None if lease is None else lease.owner

    async def _changed(self, change: Change) -> Result:
        """What `change` returned after its commit, or None: failed, or took too long."""
        if self._stuck is not None and not self._stuck.done():
            return None
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def settle(result: Result) -> None:
            if not future.done():
                future.set_result(result)

        def done(result: Result) -> None:
            with suppress(RuntimeError):  # The loop is closed: nobody waits any more.
                loop.call_soon_threadsafe(settle, result)

        self._jobs.put((change, done))
        ready, _ = await asyncio.wait((future,), timeout=PATIENCE)
        if not ready:
            # All later ones would queue up behind it. It ends this state when it gets through;
            # a lease that it takes then is not renewed, and runs out.
            self._stuck = future
        result = future.result() if ready else None
        if result is None:
            self._emit(TierFailed("leases", "put"))
        return result

    def _write(self) -> None:
        while (job := self._jobs.get()) is not None:
            change, done = job
            try:
                with self._env.begin(write=True) as txn:
                    result = change(txn)
            except Exception:  # The top of a thread: without it, nobody would ever be answered.
                result = None
            done(result)


def leased(directory: str | Path, address: str, *, clock: Clock, emit: Emit) -> Leases | NoLeases:
    """The leases of a worker; where their file cannot be opened, none: everyone flies alone."""
    try:
        board = Board(directory)
    except (OSError, lmdb.Error) as error:
        emit(TierFailed("leases", "open", type(error).__name__))
        return NoLeases()
    return Leases(board, address, clock=clock, emit=emit)


Result: TypeAlias = Lease | list[bytes] | None
Change: TypeAlias = "Callable[[Txn], Result]"


def _take(txn: Txn, name: bytes, address: str, now: float) -> Lease:
    """The lease that now holds: a new one for `address`, or another worker's."""
    held = in_force(txn.get(name), now)
    if held is not None and held.owner != address:
        return held
    token = int.from_bytes(txn.get(_TOKEN) or b"", "big") + 1
    txn.put(_TOKEN, token.to_bytes(8, "big"))
    lease = Lease(address, token, now + TERM)
    txn.put(name, encode(lease))
    return lease


def _give_back(txn: Txn, name: bytes, address: str, token: int) -> list[bytes]:
    held = decode(txn.get(name))
    if held is not None and (held.owner, held.token) == (address, token):
        txn.delete(name)
    return []


def _renew(txn: Txn, held: dict[bytes, int], address: str, now: float) -> list[bytes]:
    """Which of the leases held were lost to others, or had run out and were swept."""
    lost = []
    for name, token in held.items():
        lease = decode(txn.get(name))
        if lease is None or (lease.owner, lease.token) != (address, token):
            lost.append(name)
        else:
            txn.put(name, encode(Lease(address, token, now + TERM)))
    return lost


def _sweep(txn: Txn, now: float) -> list[bytes]:
    """What dead workers left behind."""
    dead = [name for name, data in txn.cursor() if name != _TOKEN and in_force(data, now) is None]
    for name in dead:
        txn.delete(name)
    return dead
