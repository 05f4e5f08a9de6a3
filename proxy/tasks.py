"""Tasks that someone owns, until none is left: waited for, or cancelled."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection


async def finished(tasks: Collection[asyncio.Task[None]]) -> None:
    """Wait for all, also for those that come meanwhile; each is to leave `tasks` when it is done.
    The caller sets the time limit."""
    while tasks:
        await asyncio.wait(set(tasks))


async def ended(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel all, and wait until they are over, however they end."""
    for task in list(tasks):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
