"""The semantic process's word to its parent that it can still answer."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

EVERY: Final = 5.0
"""Seconds between two words; whoever has none for half a minute ends this process."""
LONGEST: Final = 60.0
"""Seconds that a batch of the embedder may take: beyond, its thread is taken for stuck."""


async def beat(tell: int, well: Callable[[], bool]) -> None:
    """Say so on this descriptor, as long as the loop turns and it is `well`. Raises: OSError for
    one that is not open."""
    os.set_blocking(tell, False)
    while True:
        if well():
            with suppress(BlockingIOError, BrokenPipeError):  # nobody reads: the parent's trouble
                os.write(tell, b"1")
        await asyncio.sleep(EVERY)
