"""Memory that many questions took on their way, given back to the system once they are known."""

from __future__ import annotations

import asyncio
import ctypes
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_EVERY: Final = 1.0
_MANY: Final = 2000
"""Questions that take as much on their way, 15 MB, as is worth the 1 to 5 ms that it takes."""


async def run(known: Callable[[], int], give: Callable[[], object]) -> None:
    """Until cancelled. `known`: how many questions were ever learnt; `give`: blocks."""
    before = 0
    while True:
        await asyncio.sleep(_EVERY)
        if (now := known()) - before >= _MANY:
            before = now
            await asyncio.to_thread(give)  # without the interpreter's lock


def giving() -> Callable[[], object]:
    """What has the C library give back whole pages that nothing is in; nothing where it cannot."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return int if trim is None else lambda: trim(0)
