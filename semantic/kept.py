"""What was learnt of errors, written down so that it outlives the process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from semantic.lessons import Lessons

_EVERY: Final = 2.0
"""Seconds that may be lost where the process is killed."""


class Kept:
    """A file that is replaced as a whole. One that cannot be read or written is no failure: what
    it would say is learnt again."""

    def __init__(self, path: str, lessons: Lessons) -> None:
        """`path`: empty: nothing is kept."""
        self._path = Path(path) if path else None
        self._lessons = lessons

    def load(self) -> None:
        """Begin with what was kept."""
        if self._path is None:
            return
        try:
            self._lessons.restore(self._path.read_bytes())
        except OSError:
            return

    def save(self) -> None:
        """Write down what is new."""
        if self._path is None or not self._lessons.changed:
            return
        fresh = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(self._lessons.dump())
            fresh.replace(self._path)
        except OSError:
            self._lessons.changed = True

    async def run(self) -> None:
        """Every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(_EVERY)
            self.save()
