"""The directory that the processes of one run share while they live: sockets and numbers."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_PREFIX: Final = "hotprefix-"
_LOCK: Final = "lock"


@contextmanager
def runtime(parent: Path | None = None) -> Iterator[Path]:
    """A fresh directory that only this user may enter; removed at the end.

    Forked workers hold its lock too, so what a killed run left behind is known by a lock that
    nobody holds; the next run removes it.
    """
    parent = parent or Path(tempfile.gettempdir())
    _sweep(parent)
    directory = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
    lock = os.open(directory / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, b"held")
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        os.close(lock)


def _sweep(parent: Path) -> None:
    """Remove this user's directories whose processes are all gone."""
    for directory in parent.glob(f"{_PREFIX}*"):
        try:
            if directory.lstat().st_uid == os.getuid() and not directory.is_symlink():
                _remove(directory)
        except OSError:
            continue  # one that is just being made, or that another run removes now


def _remove(directory: Path) -> None:
    """Remove it if its lock is free. Raises OSError otherwise."""
    lock = os.open(directory / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        # Between making and locking the file another run could take the lock: it is empty then.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(lock).st_size:
            shutil.rmtree(directory, ignore_errors=True)
    finally:
        os.close(lock)
