"""Where vectors are: the embedder that makes them, and the index that finds the near ones."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semantic.embed.batch import Batcher
    from semantic.embed.port import Embedder
    from semantic.index.port import Index
    from semantic.vector import Vector


LONGEST: Final = 4000
"""Characters of an answer that is embedded: Chinese ones take 0.1 s a thousand."""


@dataclass(frozen=True, slots=True)
class Space:
    """The vectors of one embedder."""

    embedder: Embedder
    vectors: Batcher
    answers: Batcher
    """Of another queue, and another thread where there can be one: they are long, and no question
    is to wait for them."""
    index: Index

    async def remove(self, rows: Iterable[tuple[bytes, bytes]], *, everywhere: bool = True) -> None:
        """Forget these, each by scope and key. `everywhere`: nobody has an answer to them; else
        another machine may that shares the index. Raises: IndexUnavailableError."""
        forget = self.index.remove if everywhere else self.index.leave
        for scope, keys in _scopes(rows).items():
            await forget(scope, keys)

    async def keep(self, rows: Iterable[tuple[bytes, bytes]]) -> None:
        """There are answers to these, as far as is known here. Raises: IndexUnavailableError."""
        await self.index.keep(_scopes(rows))

    async def vector(self, text: str) -> Vector | None:
        """Of a text; None: this embedder cannot read it whole. Raises: EmbedderError."""
        if not self.embedder.takes(text) or not self.embedder.whole(text):
            return None
        return await self.vectors.vector(text)

    async def similarity(self, one: str, other: str) -> float | None:
        """The cosine of two texts; None: this embedder cannot read them whole.

        Raises: EmbedderError.
        """
        first = await self._answer(one)
        second = None if first is None else await self._answer(other)
        return None if first is None or second is None else float(np.dot(first, second))

    async def _answer(self, text: str) -> Vector | None:
        if len(text) > LONGEST or not self.embedder.takes(text):
            return None
        if not await asyncio.to_thread(self.embedder.whole, text):
            return None
        return await self.answers.vector(text)


def _scopes(rows: Iterable[tuple[bytes, bytes]]) -> dict[bytes, list[bytes]]:
    scopes: dict[bytes, list[bytes]] = {}
    for scope, key in rows:
        scopes.setdefault(scope, []).append(key)
    return scopes
