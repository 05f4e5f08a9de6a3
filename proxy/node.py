"""One upstream node: what it serves, and how many calls it is answering."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from proxy.core.health import Health
from proxy.core.limiter import Limiter
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from proxy.ports import Upstream


class Node:
    """An upstream, what it serves, and how many calls it is answering."""

    def __init__(
        self,
        name: str,
        upstream: Upstream,
        *,
        models: Sequence[str] = ("*",),
        credential: str | None = None,
        ask_usage: bool = True,
        limiter: Limiter | None = None,
        weight: float = 1.0,
        zone: str = "local",
        probe: Callable[[], Awaitable[bool]] | None = None,
    ) -> None:
        """`limiter`: how many calls it may have at once; None: 1000. `weight`: how fast it is,
        beside the others. `probe`: whether it answers now, or raises ConnectionRefusedError; None:
        it is not asked that."""
        self.name, self.upstream = name, upstream
        self.models = tuple(models)
        self._all = "*" in self.models
        self.credential = credential
        """Sent instead of the client's own; None: the client's."""
        self.ask_usage = ask_usage
        self.limiter = limiter or Limiter(1000)
        self.weight, self.zone = weight, zone
        self.running = 0
        self.queued = 0.0
        """Tokens of prompts that it has yet to compute."""
        self.probe = probe
        self.health = Health(probed=probe is not None)
        self.shadow: Callable[[], None] | None = None
        """Ends the shadow call that it computes just now."""
        self._silent: dict[asyncio.Timeout, Callable[[], bool]] = {}
        """What it has not begun to answer, and whether another could."""

    @asynccontextmanager
    async def waited_for(self, elsewhere: Callable[[], bool]) -> AsyncIterator[None]:
        """Until its answer begins, or it is given up, which it is only if there is hope
        `elsewhere`. Raises: UpstreamError, kind `ejected`."""
        try:
            async with asyncio.timeout(None) as limit:
                self._silent[limit] = elsewhere
                try:
                    yield
                finally:
                    self._silent.pop(limit, None)
        except TimeoutError:
            raise UpstreamError(self.name, "ejected", "it answers no probes") from None

    @asynccontextmanager
    async def shadowed(
        self, seconds: float, *, gives_way: bool
    ) -> AsyncIterator[Callable[[], None]]:
        """While it computes what nobody waits for, until it is interrupted by what this gives, or
        for so long. `gives_way`: any request that is sent to it interrupts it too.

        Raises: UpstreamError, kind `interrupted` or `timeout`."""
        over = interrupted = False

        def interrupt() -> None:
            nonlocal interrupted
            if not (over or limit.expired()):
                interrupted = True
                limit.reschedule(asyncio.get_running_loop().time())

        try:
            async with asyncio.timeout(seconds) as limit:
                if gives_way:
                    self.shadow = interrupt
                try:
                    yield interrupt
                finally:
                    over = True
                    self.shadow = None if gives_way else self.shadow
        except TimeoutError:
            kind = "interrupted" if interrupted else "timeout"
            raise UpstreamError(self.name, kind, "the shadow call was given up") from None

    def give_up(self) -> None:
        """Wait no longer for what it has not begun to answer and another node could."""
        now = asyncio.get_running_loop().time()
        for limit, elsewhere in list(self._silent.items()):
            if elsewhere():
                del self._silent[limit]  # once: its end may take longer than until the next probe
                limit.reschedule(now)

    def serves(self, model: str) -> bool:
        return self._all or any(fnmatchcase(model, glob) for glob in self.models)

    @property
    def free(self) -> bool:
        """Whether it may have one more call."""
        return self.running < self.limiter.limit

    def __repr__(self) -> str:
        return f"<Node {self.name} running={self.running}/{self.limiter.limit}>"
