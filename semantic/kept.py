"""What was learnt of errors, written down so that it outlives the process."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        self._writing = Lock()

    def load(self) -> None:
        """Begin with what was kept."""
        if self._path is None:
            return
        try:
            self._lessons.restore(self._path.read_bytes())
        except OSError:
            return

    async def save(self) -> None:
        """Write down what is new."""
        if self._path is None or not self._lessons.changed:
            return
        try:
            pieces = []
            for piece in self._lessons.dump():
                pieces.append(piece)
                await asyncio.sleep(0)  # questions come in between
            await asyncio.to_thread(self._write, self._path, pieces)
        except OSError:
            self._lessons.changed = True
        except asyncio.CancelledError:  # at the end, when it is saved once more
            self._lessons.changed = True
            raise

    def _write(self, path: Path, pieces: Sequence[bytes]) -> None:
        fresh = path.with_name(f"{path.name}.{os.getpid()}")
        with self._writing:  # one that was cancelled may still be at it
            path.parent.mkdir(parents=True, exist_ok=True)
            with fresh.open("wb") as file:
                file.writelines(pieces)
            fresh.replace(path)

    async def run(self) -> None:
        """Every few seconds, until cancelled."""
        while True:
            await asyncio.sleep(_EVERY)
            await self.save()
