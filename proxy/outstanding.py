"""What a node was asked and has not answered whole: for how long it is waited for."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from math import inf
from typing import TYPE_CHECKING, Final

from proxy.core.pace import Pace
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    End = Callable[[], Awaitable[None]]
    Elsewhere = Callable[[], bool]


_STALLED: Final = 0.1
"""Seconds by which a timer may be late before it is rather this process that stood still."""


class Outstanding:
    """Of one node."""

    def __init__(self, node: str, *, frozen: float) -> None:
        """`frozen`: seconds of silence after which no answer goes on; 0: however long."""
        self._node, self._frozen = node, frozen
        self.pace = Pace()
        self.heard = 0
        """Grows with all that comes of it."""
        self.late: Callable[[], None] | None = None
        """Told where a first byte is late, and nothing else came either."""
        self._silent: dict[asyncio.Timeout, Elsewhere] = {}
        """What it has not begun to answer, and whether another could."""
        self._answers: dict[End, Elsewhere] = {}
        """What ends each answer that it has begun, and whether another could give one."""

    @asynccontextmanager
    async def waited_for(self, elsewhere: Elsewhere, allowed: float = inf) -> AsyncIterator[None]:
        """Until its answer begins, or it is given up, which it is only if there is hope
        `elsewhere`. `allowed`: seconds after which it is late.

        Raises: UpstreamError, kind `ejected`."""
        watched = self.late is not None and allowed < inf
        try:
            async with asyncio.timeout(None) as limit:
                self._silent[limit] = elsewhere
                watching = _Watching(self, allowed) if watched else None
                try:
                    yield
                finally:
                    self._silent.pop(limit, None)
                    if watching is not None:
                        watching.end()
        except TimeoutError:
            raise UpstreamError(self._node, "ejected", "it answers no probes") from None

    def begun(self, end: End, elsewhere: Elsewhere) -> None:
        """An answer arrives, until it is `ended`. `end`: ends it before its time."""
        self._answers[end] = elsewhere

    def ended(self, end: End) -> None:
        self._answers.pop(end, None)

    def give_up(self) -> None:
        """Wait no longer for what it has not begun to answer and another node could."""
        now = asyncio.get_running_loop().time()
        for limit, elsewhere in list(self._silent.items()):
            if elsewhere():
                del self._silent[limit]  # once: its end may take longer than until the next probe
                limit.reschedule(now)

    async def silent_for(self, seconds: float) -> None:
        """Nothing came of it for so long, no answer to a probe either: once that is enough, end
        what it has begun and another could answer."""
        if not 0 < self._frozen <= seconds:
            return
        for end, elsewhere in list(self._answers.items()):
            if elsewhere():
                await end()

    def __repr__(self) -> str:
        return f"<Outstanding {len(self._silent)} unbegun, {len(self._answers)} begun>"


class _Watching:
    """A watch over one call: whether its node is silent for longer than is allowed."""

    def __init__(self, calls: Outstanding, allowed: float) -> None:
        self._calls, self._allowed = calls, allowed
        self._begin()

    def _begin(self) -> None:
        self._heard, loop = self._calls.heard, asyncio.get_running_loop()
        self._timer = loop.call_later(self._allowed, self._over, loop)

    def _over(self, loop: asyncio.AbstractEventLoop) -> None:
        stalled = loop.time() - self._timer.when() > _STALLED
        if stalled or self._calls.heard != self._heard:
            self._begin()  # the node is busy with others, or we were
        elif self._calls.late is not None:
            self._calls.late()

    def end(self) -> None:
        self._timer.cancel()
