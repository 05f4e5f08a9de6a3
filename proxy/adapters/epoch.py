"""The epoch of a machine: how often everything stored was declared void."""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.ports import Clock

_SIZE: Final = 8
_PATIENCE: Final = 2.0
_BETWEEN: Final = 0.01
"""Seconds between two tries to be alone with the file."""
LARGEST: Final = 1 << 53
"""From here on a number was not written by us."""
_PROVISIONAL: Final = 1 << 63
"""The bit that says so; in the number itself, so that both change in one step."""


class Epochs:
    """A number that all workers of a machine read from the same page of memory and that only
    grows. It starts at the time, in milliseconds: should the file be lost, then everything that
    was stored before is void, and nothing that was purged comes back.

    Until something is purged, such a start is provisional. The first epoch heard from a fleet
    takes its place even if it is smaller: else each new machine would void the whole fleet's
    cache. What was stored meanwhile was asked for just now, and stays valid.
    """

    def __init__(self, path: str | Path, *, clock: Clock, patience: float = _PATIENCE) -> None:
        """`path`: a file, made if need be. `patience`: seconds to wait for whoever changes it now.

        Raises: OSError.
        """
        self._clock = clock
        self._tries = max(1, round(patience / _BETWEEN))
        target = Path(path)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(target, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            with self._alone():
                self._prepare()
                self._page = mmap.mmap(self._file, _SIZE)
        except OSError:
            os.close(self._file)
            raise

    def __repr__(self) -> str:
        return f"<Epochs {self.current()}>"

    def current(self) -> int:
        """The epoch now; costs a fraction of a microsecond."""
        return int.from_bytes(self._page[:_SIZE], "little") & ~_PROVISIONAL

    @property
    def provisional(self) -> bool:
        """Whether no fleet's epoch is known, and nothing was purged."""
        return bool(self._page[_SIZE - 1] & 0x80)

    def bump(self) -> int:
        """Begin a new epoch, seen by all workers at once and kept over a power cut. Blocks for
        one write to the disk.

        It is never below the time: what is stored of a provisional epoch, which began with the time
        too and gave way to a smaller one, is void as well.
        """
        with self._alone():
            time = min(int(self._clock.now() * 1000), LARGEST - 1)
            return self._write(max(self.current() + 1, time))

    def learn(self, epoch: int) -> int:
        """What now holds, after another gateway said `epoch`. Blocks as `bump` does."""
        if not 0 < epoch < LARGEST:
            return self.current()
        with self._alone():
            if self.provisional:
                return self._write(epoch)
            return self._write(epoch) if epoch > self.current() else self.current()

    def close(self) -> None:
        """Let go of the file."""
        self._page.close()
        os.close(self._file)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._lock()
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _lock(self) -> None:
        """Not for ever: who has the lock may be frozen. Raises: OSError."""
        pause = threading.Event()
        for _ in range(self._tries):
            with suppress(BlockingIOError):
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            pause.wait(_BETWEEN)
        raise OSError("the epoch is locked by a process that does not go on")

    def _prepare(self) -> None:
        """Have a number in the file. It is written, not left to the page of memory: where the disk
        has no room for that page, the kernel would kill whoever touches it."""
        there = os.pread(self._file, _SIZE + 1, 0)
        number = int.from_bytes(there, "little") & ~_PROVISIONAL
        if len(there) != _SIZE or not 0 < number < LARGEST:
            start = max(1, int(self._clock.now() * 1000)) | _PROVISIONAL
            if os.pwrite(self._file, start.to_bytes(_SIZE, "little"), 0) != _SIZE:
                raise OSError("the epoch was cut off")
            os.ftruncate(self._file, _SIZE)

    def _write(self, epoch: int) -> int:
        self._page[:_SIZE] = epoch.to_bytes(_SIZE, "little")
        self._page.flush()
        return epoch
