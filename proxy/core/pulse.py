"""Which of the processes that say again and again that they are well have fallen silent."""

from __future__ import annotations

from typing import Final

_LOOKS: Final = 3


class Pulse:
    """Counts looks, not seconds: where this process was stopped itself, as by Ctrl-Z, one look is
    late, and nobody has been silent for long. Who has not said a word yet is still starting, and
    may take as long as it likes. Times are monotonic seconds."""

    def __init__(self, silence: float) -> None:
        """`silence`: seconds after which one is given up; it may be a third more."""
        self._every = silence / _LOOKS
        self._next = 0.0
        self._missed: dict[int, int] = {}
        """For each process, the looks since its last word."""

    def heard(self, pid: int, mono: float) -> None:
        """A word from a process."""
        if not self._missed:
            self._next = mono + self._every
        self._missed[pid] = 0

    def over(self, pid: int) -> None:
        """It has ended."""
        self._missed.pop(pid, None)

    @property
    def due(self) -> tuple[float, ...]:
        """When to look next, if there is anybody to look at."""
        return (self._next,) if self._missed else ()

    def silent(self, mono: float) -> list[int]:
        """Those that are to be given up now; each is named once."""
        if not self._missed or mono < self._next:
            return []
        self._next = mono + self._every
        self._missed = {pid: missed + 1 for pid, missed in self._missed.items()}
        silent = [pid for pid, missed in self._missed.items() if missed > _LOOKS]
        for pid in silent:
            self.over(pid)
        return silent

    def __repr__(self) -> str:
        return f"<Pulse {self._missed}>"
