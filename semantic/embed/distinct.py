"""Vectors that were given lately: two texts that say different things may not have one."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

import numpy as np

from semantic.embed.port import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semantic.vector import Vector, Vectors

_MOST: Final = 64
_SAME: Final = 0.99999
"""Cosine from which on two vectors are one: texts of the greatest length that differ in a word have
0.9995 at most."""


class Distinct:
    """For an embedder that is somewhere else: what was one when it was tried may have become
    another, that gives everything the same vector. Then every question is like every other."""

    def __init__(self) -> None:
        self._given: list[tuple[str, Vector]] = []
        """Letters of a text, and its vector; oldest first, no two vectors the same."""

    def check(self, texts: Sequence[str], rows: Vectors) -> None:
        """Raises EmbedderError where a text has the vector of another. Which of the two it belongs
        to, nobody knows: the earlier keeps it."""
        for text, row in zip(texts, rows, strict=True):
            self._check(_letters(text), row)

    def _check(self, letters: str, row: Vector) -> None:
        if self._given:
            cosines = np.stack([vector for _, vector in self._given]) @ row
            place = int(np.argmax(cosines))
            if cosines[place] > _SAME:
                if self._given[place][0] != letters:
                    raise EmbedderError("gives different texts the same vector")
                self._given.pop(place)
        self._given.append((letters, row.copy()))
        del self._given[:-_MOST]


def _letters(text: str) -> str:
    """The text without what an embedder may well pass over: case, accents, marks, white space."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(filter(str.isalnum, plain))
