"""What warming has cost in the last day, in a file: all workers of a machine share it, and it
outlives them."""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from proxy.ports import Clock

_HOUR: Final = 3600.0
_SLOTS: Final = 25
"""Hours: the one that has begun, and 24 whole ones before it."""
_SLOT: Final = struct.Struct("<qq")
"""An hour since 1970, and what was spent in it, in millionths."""
_FRACTION: Final = 1_000_000


class Ledger:
    """As `core.purse.Purse`, for a day. Where the file cannot be used, there is no money."""

    pause: Final = _HOUR
    """Seconds after which looking again makes sense."""

    def __init__(self, path: Path, limit: float, clock: Clock) -> None:
        """Raises: OSError."""
        self._limit, self._clock = round(limit * _FRACTION), clock
        self._owed = 0
        """What could not be written down yet."""
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def left(self, mono: float) -> float:
        """What may be spent now."""
        try:
            with self._locked():
                return max(0, self._limit - self._spent() - self._owed) / _FRACTION
        except OSError:
            return 0.0

    def take(self, amount: float, mono: float) -> bool:
        """Spend it if there is so much; False: there is not, and nothing was spent."""
        wanted = _exact(amount)
        if not wanted:
            return True
        try:
            with self._locked():
                if self._spent() + self._owed + wanted > self._limit:
                    return False
                self._write(wanted + self._owed)
        except OSError:
            return False
        self._owed = 0
        return True

    def owe(self, amount: float, mono: float) -> None:
        """It was spent, be it there or not."""
        self._owed += _exact(max(0.0, amount))
        if self._owed:
            try:
                with self._locked():
                    self._write(self._owed)
            except OSError:
                return  # it is written down with the next call, before which it counts
            self._owed = 0

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._file)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Raises: OSError where another worker, perhaps a frozen one, is just writing."""
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            yield
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _spent(self) -> int:
        """Within the last day. Hours that are yet to come, by a clock that went back, count too."""
        oldest = self._hour() - _SLOTS + 1
        return sum(spent for hour, spent in self._read() if hour >= oldest)

    def _write(self, amount: int) -> None:
        now = self._hour()
        place = now % _SLOTS
        hour, spent = self._read()[place]
        data = _SLOT.pack(max(now, hour), amount + (spent if hour >= now else 0))
        os.pwrite(self._file, data, place * _SLOT.size)

    def _read(self) -> list[tuple[int, int]]:
        size = _SLOTS * _SLOT.size
        held = os.pread(self._file, size, 0).ljust(size, b"\0")
        return [(hour, max(0, spent)) for hour, spent in _SLOT.iter_unpack(held)]

    def _hour(self) -> int:
        return int(self._clock.now() // _HOUR)

    def __repr__(self) -> str:
        return f"<Ledger {self._limit / _FRACTION:g} a day>"


def _exact(amount: float) -> int:
    """Rounded up: what is spent is never counted for less."""
    return -int(-amount * _FRACTION // 1)
