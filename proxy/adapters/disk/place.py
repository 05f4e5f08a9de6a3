"""The directory of the disk tier: who uses it, and whether what lies there may be opened."""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import lmdb
from lmdb import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

_ASIDE: Final = ".aside"
"""Suffix of a file that could not be used; the next such file takes its place."""
_VERIFIED_QUICKLY: Final = 512 << 20
"""Bytes of file that are verified within about half a second."""
_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")


class Place:
    """A directory that several processes open at once, held for as long as this is not left.

    The data file is written without ever waiting for the disk. A killed process leaves it whole,
    for what it wrote is in the kernel's hands, in order. A power cut may leave it torn, so that
    the first process to come back reads the file's structure before LMDB may trust it; values
    prove themselves by their digest.
    """

    def __init__(self, directory: Path, max_bytes: int) -> None:
        """Raises: OSError if the directory cannot be made or used."""
        self.directory = directory
        self.data = directory / "data.mdb"
        self._max_bytes = max_bytes
        self._open_mark = directory / "open"
        self._closed_mark = directory / "closed"
        if directory.exists() and not directory.is_dir():
            set_aside(directory)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.first = False
        """Whether nobody else used the directory when this process entered."""
        self._users: int | None = os.open(directory / "users", os.O_RDWR | os.O_CREAT, 0o600)

    @contextmanager
    def entering(self) -> Iterator[str | None]:
        """While opening the data file: alone. Yields why a file was set aside, or None."""
        with self._alone():
            self.first = self._unused()
            yield self._prepare() if self.first else None
            # From exclusive to shared is no single step, which is why others are kept out here.
            if self._users is not None:
                fcntl.flock(self._users, fcntl.LOCK_SH)

    def leave(self, *, sound: bool) -> None:
        """After the data file was closed. The last one out notes how the file was left."""
        if self._users is None:
            return
        with suppress(OSError), self._alone():
            if sound and self._unused():
                _write(self._closed_mark, _look(self.data))
                self._open_mark.unlink(missing_ok=True)
        os.close(self._users)
        self._users = None

    def reset(self) -> None:
        """Set the data file aside; only while entering, and alone."""
        set_aside(self.data)
        # A reader table that belonged to the other file; LMDB makes a new one.
        (self.directory / "lock.mdb").unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete the data file, and what was set aside before it; the same conditions."""
        self.data.unlink()
        self.reset()
        aside = self.data.with_name(self.data.name + _ASIDE)
        if aside.is_file():
            aside.unlink()

    def _prepare(self) -> str | None:
        reason = self._unsound() if self.data.exists() else None
        if reason == "size" and (self._open_mark.exists() or self._closed_mark.exists()):
            self.data.unlink()  # Certainly ours, and in the way of who wants the space back.
        if reason is not None:
            self.reset()
        # Who held its locks is gone, whatever it says.
        (self.directory / "lock.mdb").unlink(missing_ok=True)
        self._closed_mark.unlink(missing_ok=True)
        _write(self._open_mark, _boot())
        return reason

    def _unsound(self) -> str | None:
        """Why the file that lies there may not be opened."""
        if not self.data.is_file():
            return "foreign"
        size = self.data.stat().st_size
        if size > self._max_bytes:
            # LMDB never gives space back: a file from before the bound was lowered must go.
            return "size"
        if size == 0 or _text(self._closed_mark) == _look(self.data):
            return None
        if size > _VERIFIED_QUICKLY and _text(self._open_mark) == _boot() != "":
            # The machine did not stop since: a killed process's file is whole.
            return None
        return _verified(self.data)

    def _unused(self) -> bool:
        """Whether no other process holds the directory; if so, this one now does, exclusively."""
        if self._users is None:
            return False
        with suppress(BlockingIOError):
            fcntl.flock(self._users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        file = os.open(self.directory / "opening", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)


def set_aside(path: Path) -> None:
    """Rename what cannot be used, so that it can be looked at and is in nobody's way."""
    if path.exists():
        aside = path.with_name(path.name + _ASIDE)
        if aside.is_dir() and not path.is_dir():
            aside = aside.with_name(aside.name + _ASIDE)
        path.replace(aside)


def _verified(data: Path) -> str | None:
    try:
        # Untyped; a walk over the bytes that never hands them to LMDB's C code.
        return "corrupt" if verify.verify(str(data), subdir=False) else None  # type: ignore[no-untyped-call]
    except (verify.VerifyError, lmdb.Error):
        return "foreign"
    except (ValueError, LookupError, ArithmeticError, RecursionError, struct.error):
        return "corrupt"


def _look(data: Path) -> str:
    facts = data.stat()
    return f"{facts.st_ino} {facts.st_size} {facts.st_mtime_ns}"


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)


def _boot() -> str:
    return _text(_BOOT).strip()
