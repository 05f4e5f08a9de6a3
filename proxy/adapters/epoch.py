"""The epoch of a machine: how often everything stored was declared void."""

from __future__ import annotations

import fcntl
import mmap
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from proxy.ports import Clock

_SIZE: Final = 8
_LARGEST: Final = 1 << 53
"""Above this a number was not written by us."""


class Epochs:
    """A number that all workers of a machine read from the same page of memory and that only
    grows. It starts at the time, in milliseconds: should the file be lost, then everything that
    was stored before is void, and nothing that was purged comes back.
    """

    def __init__(self, path: str | Path, *, clock: Clock) -> None:
        """`path`: a file, made if need be. Raises: OSError."""
        self._clock = clock
        target = Path(path)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(target, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            self._prepare()
            self._page = mmap.mmap(self._file, _SIZE)
        except OSError:
            os.close(self._file)
            raise
        fcntl.flock(self._file, fcntl.LOCK_UN)

    def __repr__(self) -> str:
        return f"<Epochs {self.current()}>"

    def current(self) -> int:
        """The epoch now; costs a fraction of a microsecond."""
        return int.from_bytes(self._page[:_SIZE], "little")

    def bump(self) -> int:
        """Begin a new epoch, seen by all workers at once and kept over a power cut. Blocks for
        one write to the disk."""
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            return self._write(self.current() + 1)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        self._page.close()
        os.close(self._file)

    def _prepare(self) -> None:
        """Have a number in the file. It is written, not left to the page of memory: where the disk
        has no room for that page, the kernel would kill whoever touches it."""
        there = os.pread(self._file, _SIZE + 1, 0)
        if len(there) != _SIZE or not 0 < int.from_bytes(there, "little") < _LARGEST:
            start = max(1, int(self._clock.now() * 1000))
            if os.pwrite(self._file, start.to_bytes(_SIZE, "little"), 0) != _SIZE:
                raise OSError("the epoch was cut off")
            os.ftruncate(self._file, _SIZE)

    def _write(self, epoch: int) -> int:
        self._page[:_SIZE] = epoch.to_bytes(_SIZE, "little")
        self._page.flush()
        return epoch
