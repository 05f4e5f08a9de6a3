"""The time: the only module that reads it."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """The machine's clocks, in seconds."""

    # The functions themselves, not methods around them: they are read several times a request.
    now = staticmethod(time.time)
    mono = staticmethod(time.monotonic)

    async def sleep(self, seconds: float) -> None:
        """Wait, letting others run."""
        await asyncio.sleep(seconds)
