"""What is asked of a part that may be away: in time, or not at all."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, TypeVar

from proxy.core.events import TierFailed, TierTurned
from proxy.core.outage import Outage
from proxy.ports import SemanticAbsentError, SemanticError, StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from proxy.core.events import Operation
    from proxy.ports import Clock, Emit

T = TypeVar("T")

_EACH: Final = 0.003
"""Seconds that a question takes the process, which answers one after the other."""
_FAILURES: Final = 5
_PAUSE: Final = 1.0
"""After so many failures in a row, one attempt in so many seconds."""

_START: Final = 60.0
"""Seconds that the process may take until it listens: it loads a model, on a machine that may be
busy."""


class Attempts:
    """Asks the semantic process. No failure of its is anybody else's."""

    def __init__(self, tier: str, clock: Clock, emit: Emit) -> None:
        self._tier = tier
        self._clock = clock
        self._emit = emit
        self._outage = Outage(_FAILURES, _PAUSE)
        self._absent: float | None = None
        """Since when nobody listens; None: somebody does."""
        self._asking = 0
        """Look-ups on their way."""

    @property
    def starting(self) -> bool:
        """Whether nobody listens, and nobody need be listening yet."""
        return self._absent is not None and self._clock.mono() - self._absent < _START

    async def look(self, work: Callable[[], Awaitable[T]], seconds: float) -> T | None:
        """What a request waits for; None: nothing came of it in time, or would have: those
        that are on their way take as long as it may."""
        if self._asking * _EACH >= seconds:
            return None
        self._asking += 1
        try:
            return await self.ask("get", work, seconds)
        finally:
            self._asking -= 1

    async def ask(
        self, operation: Operation, work: Callable[[], Awaitable[T]], seconds: float
    ) -> T | None:
        """What came of it in time; None: nothing did."""
        if not self._outage.admits(self._clock.mono()):
            return None
        try:
            async with asyncio.timeout(seconds):
                result = await work()
        except (SemanticError, TimeoutError) as error:
            self._failed(operation, error)
            return None
        self._absent = None
        if self._outage.worked():
            self._emit(TierTurned(self._tier, True))
        return result

    async def need(
        self, operation: Operation, work: Callable[[], Awaitable[T]], seconds: float
    ) -> T:
        """The same where nothing is not to be taken for an answer. Raises: StoreError."""

        async def done() -> tuple[T]:
            return (await work(),)

        told = await self.ask(operation, done, seconds)
        if told is None:
            raise StoreError(self._tier, "cannot be asked")
        return told[0]

    def _failed(self, operation: Operation, error: Exception) -> None:
        if not isinstance(error, SemanticAbsentError):
            self._absent = None
        elif self._absent is None:
            self._absent = self._clock.mono()
        if self.starting:
            return
        told = str(error) or type(error).__name__  # what the process says is a class too
        self._emit(TierFailed(self._tier, operation, told))
        if self._outage.failed(self._clock.mono()):
            self._emit(TierTurned(self._tier, False, told))
