"""How two questions meet: what the semantic tier would say of one where the other is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from semantic.alike import alike, least
from semantic.canonical import question
from semantic.eligible import ineligible
from semantic.guard.verdict import opposed, refusal
from semantic.reading import read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semantic.embed.port import Embedder
    from semantic.protocol import Kind
    from semantic.settings import Settings
    from semantic.vector import Vectors

_LIVES: Final = 3600.0
"""Seconds: of an answer, where nothing else is said."""


class Score:
    """By the settings and the embedder of a semantic process."""

    def __init__(
        self, settings: Settings, embedder: Embedder, embed: Callable[[Sequence[str]], Vectors]
    ) -> None:
        """`embed`: the embedder's, for who cannot wait."""
        self._settings = settings
        self._embedder = embedder
        self._embed = embed

    def __call__(self, asked: str, stored: str) -> tuple[Kind, float, str]:
        """By what they meet, how near, and why the stored answer is not served all the same;
        empty: it is, if that is near enough. Raises: EmbedderError."""
        terms = self._settings.terms
        one, other = read(asked, terms), read(stored, terms)
        for reading in (one, other):
            if why := ineligible(reading, _LIVES, self._settings):
                return "semantic", 0.0, f"ineligible:{why}"
        form = question(one)
        if form is not None and form == question(other) and not opposed(one, other):
            return "canonical", 1.0, ""
        for text in (asked, stored):
            if not self._embedder.takes(text) or not self._embedder.whole(text):
                return "semantic", 0.0, "ineligible:script"
        first, second = self._embed((asked, stored))
        similarity, settings = float(np.dot(first, second)), self._settings
        guard = refusal(one, other, settings)
        near = similarity >= least(settings, one.language)
        if not guard and near and alike(one, other):
            return "canonical", similarity, ""
        return "semantic", similarity, guard
