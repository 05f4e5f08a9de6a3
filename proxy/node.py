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
        beside the others. `probe`: whether it answers now; None: it is not asked that."""
        self.name = name
        self.upstream = upstream
        self.models = tuple(models)
        self._all = "*" in self.models
        self.credential = credential
        """Sent instead of the client's own; None: the client's."""
        self.ask_usage = ask_usage
        self.limiter = limiter or Limiter(1000)
        self.weight = weight
        self.zone = zone
        self.running = 0
        self.queued = 0.0
        """Tokens of prompts that it has yet to compute."""
        self.probe = probe
        self.health = Health(probed=probe is not None)
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
