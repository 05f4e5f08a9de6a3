"""Work behind the answers: tracked, bounded, and finished before the process ends."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from proxy.core.events import BacklogFull
from proxy.tasks import ended, finished

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from proxy.ports import Emit

LIMIT: Final = 1000
"""Pieces of work; each holds an answer. What comes beyond is dropped: a tier stays unfilled."""


class Backlog:
    """Owns the tasks that no request waits for."""

    def __init__(self, emit: Emit, limit: int = LIMIT) -> None:
        self._emit = emit
        self._limit = limit
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, work: Coroutine[None, None, None]) -> None:
        """Have it done soon. It is to handle its own failures."""
        if len(self._tasks) >= self._limit:
            work.close()
            self._emit(BacklogFull())
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)  # the loop itself holds tasks weakly
        task.add_done_callback(self._tasks.discard)

    async def drain(self) -> None:
        """Wait for all of it; the caller sets the time limit."""
        await finished(self._tasks)

    async def aclose(self) -> None:
        await ended(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    def __repr__(self) -> str:
        return f"<Backlog {len(self)}/{self._limit}>"
