"""The semantic process rid of questions whose answers no tier holds, whoever dropped them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Protocol

from proxy.core.events import TierFailed
from proxy.ports import SemanticAbsentError, SemanticError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from proxy.core.entry import Key
    from proxy.core.near import Why
    from proxy.ports import Clock, Emit

    Gone = Callable[[Sequence[Key]], Awaitable[Sequence[Key]]]

TIER: Final = "semantic"
PORTION: Final = 256
"""Questions at once."""
EVERY: Final = 2.0
"""Seconds between two portions: 100,000 questions have their turn within 13 minutes, for 0.15 % of
a core."""
_PATIENCE: Final = 10.0
"""Seconds for an answer of the process."""


class Process(Protocol):
    """The semantic process. All methods raise SemanticError."""

    async def review(self, most: int) -> tuple[Sequence[Key], int]: ...

    async def forget(self, keys: Sequence[Key], why: Why, mark: int | None = None) -> None: ...


class Auditing:
    """A walk over all that the process knows; one worker of a machine does it.

    Tiers drop entries in many ways, and some of them, as a full Redis or a bucket's rules, tell
    nobody. Until its turn a question costs a look at the tiers by each request that meets it, and
    is forgotten by the first.
    """

    def __init__(self, process: Process, gone: Gone, clock: Clock, emit: Emit) -> None:
        """`gone`: those of some keys that no tier holds; none of which that is not certain."""
        self._process = process
        self._gone = gone
        self._clock = clock
        self._emit = emit

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._clock.sleep(EVERY)
            try:
                await self.round()
            except SemanticAbsentError:
                pass  # it starts, or whoever tells it what there is has said that it is lost
            except (SemanticError, TimeoutError) as error:
                self._emit(TierFailed(TIER, "audit", type(error).__name__))

    async def round(self) -> None:
        """One portion. Raises: SemanticError, TimeoutError."""
        async with asyncio.timeout(_PATIENCE):
            keys, mark = await self._process.review(PORTION)
        if gone := await self._gone(keys):
            async with asyncio.timeout(_PATIENCE):
                await self._process.forget(gone, "evicted", mark)
