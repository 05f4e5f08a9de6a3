"""Whether something that failed again and again is worth another attempt."""

from __future__ import annotations

import sys


class Outage:
    """Failures in a row. After enough of them there is one attempt in each pause, until one
    succeeds. Times are monotonic seconds."""

    def __init__(self, failures: int, pause: float) -> None:
        self._failures = failures
        self._pause = pause
        self._row = 0
        self._next = 0.0

    @property
    def open(self) -> bool:
        """Whether attempts are being spared."""
        return self._row >= self._failures

    def admits(self, mono: float) -> bool:
        """Whether to try now; during an outage this takes the pause's one attempt."""
        if not self.open:
            return True
        if mono < self._next:
            return False
        self._next = mono + self._pause
        return True

    def failed(self, mono: float) -> bool:
        """Note a failure; whether the outage begins with it."""
        self._row += 1
        self._next = mono + self._pause
        return self._row == self._failures

    def worked(self) -> bool:
        """Note a success; whether an outage ends with it."""
        ended, self._row = self.open, 0
        return ended

    @classmethod
    def never(cls) -> Outage:
        """For who sees to that itself: every attempt is admitted."""
        return cls(sys.maxsize, 0.0)

    def __repr__(self) -> str:
        return f"<Outage {self._row}/{self._failures}>"
