"""Where vectors are: the embedder that makes them, and the index that finds the near ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semantic.embed.batch import Batcher
    from semantic.embed.port import Embedder
    from semantic.index.port import Index


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of one embedder."""

    embedder: Embedder
    vectors: Batcher
    index: Index

    async def remove(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """Forget these, each by scope and key. Raises: IndexUnavailableError."""
        scopes: dict[bytes, list[bytes]] = {}
        for scope, key in rows:
            scopes.setdefault(scope, []).append(key)
        for scope, keys in scopes.items():
            await self.index.remove(scope, keys)

    async def similarity(self, one: str, other: str) -> float | None:
        """The cosine of two texts; None: this embedder cannot read them whole.

        Raises: EmbedderError.
        """
        for text in (one, other):
            if not self.embedder.takes(text) or not self.embedder.whole(text):
                return None
        first, second = await self.vectors.vector(one), await self.vectors.vector(other)
        return float(np.dot(first, second))
