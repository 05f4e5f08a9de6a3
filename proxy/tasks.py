"""Work beside the path: tasks that someone owns, until none is left; threads for what is long."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

P = ParamSpec("P")
T = TypeVar("T")

_LARGE: Final = 1 << 20
"""Bytes; to read more takes tens of milliseconds."""


async def off_loop(size: int, work: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """The result of work on so many bytes: done in a thread if they are many."""
    if size > _LARGE:
        return await asyncio.to_thread(work, *args, **more)
    return work(*args, **more)


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
