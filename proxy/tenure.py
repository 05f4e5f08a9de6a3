"""Leases that are kept for a while after their use, until others have heard what came of it."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.ports import Clock, Leases


class Tenure:
    """Those of one worker; bounded by what it does within that while."""

    def __init__(self, leases: Leases, clock: Clock) -> None:
        self._leases, self._clock = leases, clock
        self._until: dict[bytes, float] = {}
        """When each is given back; monotonic."""
        self._going: set[bytes] = set()
        """What is just being given back."""

    async def take(self, name: bytes, seconds: float = inf) -> bool:
        """Hold it from now on, for so long at least; False: another worker does, or may in a
        moment."""
        if name in self._going:
            return False
        if name not in self._until and isinstance(await self._leases.acquire(name), str):
            return False
        self._until[name] = self._clock.mono() + seconds
        return True

    def leave(self, name: bytes, seconds: float) -> None:
        """Hold what was taken for so long only."""
        self._until[name] = self._clock.mono() + seconds

    async def settle(self) -> None:
        """Give back what was held for long enough."""
        mono = self._clock.mono()
        for name in [name for name, until in self._until.items() if until <= mono]:
            if self._until[name] > mono:
                continue  # taken again, while another one was given back
            # It counts as held until it is not: taken again meanwhile, it would be given back too.
            self._going.add(name)
            try:
                await self._leases.release(name)
            finally:
                self._going.discard(name)
                del self._until[name]

    def __repr__(self) -> str:
        return f"<Tenure of {len(self._until)}>"
