"""A page of memory that the workers of a machine share, by a file."""

from __future__ import annotations

import fcntl
import mmap
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Page:
    """Of fixed size; whoever opened it first found zeros."""

    def __init__(self, path: Path, size: int) -> None:
        """`path`: a file, made if need be. `size`: bytes, the same for all. Raises: OSError."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.truncate(self._file, size)
            self.held = mmap.mmap(self._file, size)
        except OSError:
            os.close(self._file)
            raise

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether this worker is the only one now: one that was stopped in the middle is not waited
        for."""
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        self.held.close()
        os.close(self._file)

    def __repr__(self) -> str:
        return f"<Page {len(self.held)} B>"
