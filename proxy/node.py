"""One upstream node: what it serves, and how many calls it is answering."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from proxy.core.limiter import Limiter

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    ) -> None:
        """`limiter`: how many calls it may have at once; None: 1000. `weight`: how fast it is,
        beside the others."""
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

    def serves(self, model: str) -> bool:
        return self._all or any(fnmatchcase(model, glob) for glob in self.models)

    @property
    def free(self) -> bool:
        """Whether it may have one more call."""
        return self.running < self.limiter.limit

    def __repr__(self) -> str:
        return f"<Node {self.name} running={self.running}/{self.limiter.limit}>"
