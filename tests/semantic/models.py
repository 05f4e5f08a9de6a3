"""Models that are small, and some that are wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

DIMENSION = 8


def pseudo(text: str) -> NDArray[np.float64]:
    """A vector that depends on each character of the text, and on nothing else."""
    seed = np.frombuffer(text.encode() or b"\0", np.uint8)
    return np.random.default_rng(seed).standard_normal(DIMENSION)


def rows(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.stack([pseudo(text) for text in texts])


class Small:
    """A model that does what it is told to."""

    tag = "small:1:8"
    dimension = DIMENSION
    languages: frozenset[str] | None = None
    batches = True
    parallel = False

    def __init__(self, encode: Callable[[Sequence[str]], Any] = rows) -> None:
        self._encode = encode

    def whole(self, text: str) -> bool:
        return len(text) < 100

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        made: NDArray[Any] = self._encode(texts)
        return made
