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
            if os.fstat(self._file).st_size != _SIZE:
                os.ftruncate(self._file, 0)  # Nothing of what was there may pass for a number.
                os.ftruncate(self._file, _SIZE)
            self._page = mmap.mmap(self._file, _SIZE)
            if not 0 < self.current() < _LARGEST:
                self._write(self._start())
        finally:
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

    def _start(self) -> int:
        return max(1, int(self._clock.now() * 1000))

    def _write(self, epoch: int) -> int:
        self._page[:_SIZE] = epoch.to_bytes(_SIZE, "little")
        self._page.flush()
        return epoch
