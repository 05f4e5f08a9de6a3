"""Which warmed prompts no request has found yet, and what it saves the one that does."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.chain import Boundary


class Awaited(Protocol):
    """What a `Savings` is, wherever it is kept."""

    def await_(self, node: str, digest: bytes, tokens: int) -> None: ...

    def found(self, node: str, chain: Sequence[Boundary], told: int) -> int: ...


class Savings:
    """Tokens that were computed for nobody yet, by node and prompt; the oldest are forgotten."""

    def __init__(self, most: int = 4096) -> None:
        self._most = most
        self._tokens: OrderedDict[tuple[str, bytes], int] = OrderedDict()

    def await_(self, node: str, digest: bytes, tokens: int) -> None:
        """A node was made to compute so many tokens, up to that boundary."""
        self._tokens[node, digest] = tokens
        if len(self._tokens) > self._most:
            self._tokens.popitem(last=False)

    def found(self, node: str, chain: Sequence[Boundary], told: int) -> int:
        """Tokens that a request was spared, of those `told` that its node had kept. Only the first
        request saves them: all later ones would have found what the first one left."""
        for boundary in reversed(chain) if self._tokens else ():
            tokens = self._tokens.pop((node, boundary.digest), None)
            if tokens is not None:
                return min(told, tokens)
        return 0

    def __len__(self) -> int:
        return len(self._tokens)

    def __repr__(self) -> str:
        return f"<Savings {len(self)} awaited>"
