"""One upstream node: what it serves, and how many calls it is answering."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from proxy.core.health import Health
from proxy.core.limiter import Limiter
from proxy.core.progress import Progress
from proxy.core.workload import NOBODY
from proxy.outstanding import Outstanding
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from proxy.core.health import Sign
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
        probe: Callable[[], Awaitable[Sign]] | None = None,
        frozen: float = 0.0,
    ) -> None:
        """`limiter`: how many calls it may have at once; None: 1000. `weight`: how fast it is,
        beside the others. `probe`: whether it answers now; None: it is not asked that. `frozen`:
        seconds of silence after which no answer goes on any more; 0: however long."""
        self.name, self.upstream, self.ask_usage = name, upstream, ask_usage
        self.models, self._all = tuple(models), "*" in models
        self.credential = credential
        """Sent instead of the client's own; None: the client's."""
        self.limiter = limiter or Limiter(1000)
        self.weight, self.zone = weight, zone
        self.running, self.queued = 0, 0.0
        """Tokens of prompts without a first byte, that it had yet to compute when it was asked."""
        self.probe, self.progress = probe, Progress()
        self.outstanding = Outstanding(name, frozen=frozen)
        self.health, self.strangers = Health(probed=probe is not None), NOBODY
        """What others than the gateways have it do."""
        self.computing: dict[bytes, int] = {}
        """For how many calls of this gateway it computes a prompt from that boundary on."""
        self.shadow: Callable[[], None] | None = None
        """Ends the shadow call that it computes just now."""

    def computes(self, first: bytes | None, calls: int) -> None:
        """A prompt from that boundary on, for so many calls more or fewer; None: it has it all."""
        if first is None:
            return
        if count := self.computing.get(first, 0) + calls:
            self.computing[first] = count
        else:
            del self.computing[first]

    @asynccontextmanager
    async def shadowed(
        self, seconds: float, *, gives_way: bool, first: bytes | None = None
    ) -> AsyncIterator[Callable[[], None]]:
        """While it computes what nobody waits for, until it is interrupted by what this gives, or
        for so long. `gives_way`: any request that is sent to it interrupts it too. `first`: the
        boundary from which on it computes it.

        Raises: UpstreamError, kind `interrupted` or `timeout`."""
        self.computes(first, 1)
        try:
            async with self._limited(seconds, gives_way=gives_way) as interrupt:
                yield interrupt
        finally:
            self.computes(first, -1)

    @asynccontextmanager
    async def _limited(
        self, seconds: float, *, gives_way: bool
    ) -> AsyncIterator[Callable[[], None]]:
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

    def serves(self, model: str | None) -> bool:
        """Whether it is asked for it; None: for what is about no model."""
        return model is None or self._all or any(fnmatchcase(model, glob) for glob in self.models)

    @property
    def free(self) -> bool:
        """Whether it may have one more call."""
        return self.running < self.limiter.limit

    def __repr__(self) -> str:
        return f"<Node {self.name} running={self.running}/{self.limiter.limit}>"
