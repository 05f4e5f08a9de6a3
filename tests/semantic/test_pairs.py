"""The gate of the semantic tier: how many true pairs it serves, and how many traps."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pytest

from semantic.embed.use import Use
from semantic.settings import Settings
from tests.semantic.ladder import SETS, Pair, pairs, percent, step

if TYPE_CHECKING:
    from numpy.typing import NDArray

STRICT, BALANCED = Settings(profile="strict"), Settings(profile="balanced")
LIMITS = {"fow_pairs": (38.0, 1.0), "en_contrast": (36.0, 2.2), "zh_contrast": (36.0, 2.3)}
"""In percent: at least so many of the pairs that share an answer, at most so many of the traps."""
LEXICAL = {"fow_pairs": 28.0, "en_contrast": 24.0, "zh_contrast": 36.0}
"""The same floor without any embedder."""


@pytest.fixture(scope="module")
def cosines() -> dict[str, list[float]]:
    """Of each pair of each set."""
    embedder = Use()
    return {name: cosines_of(embedder, pairs(name)) for name in SETS}


def cosines_of(embedder: Use, listed: list[Pair]) -> list[float]:
    vectors: NDArray[np.float32] = embedder.encode([text for p in listed for text in (p.a, p.b)])
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return [float(one @ other) for one, other in zip(vectors[::2], vectors[1::2], strict=True)]


def shares(
    listed: list[Pair], near: list[float], settings: Settings = STRICT
) -> tuple[float, float]:
    """Percent served of the pairs that share an answer, and of the traps."""
    served, all_ = Counter[bool](), Counter(pair.same_answer for pair in listed)
    for pair, cosine in zip(listed, near, strict=True):
        served[pair.same_answer] += step(pair, cosine, settings) != ""
    return percent(served[True], all_[True]), percent(served[False], all_[False])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("settings", [STRICT, BALANCED])
@pytest.mark.parametrize("name", SETS)
def test_what_should_be_is_served_and_no_traps(
    name: str, settings: Settings, cosines: dict[str, list[float]]
) -> None:
    same, traps = shares(pairs(name), cosines[name], settings)

    floor, limit = LIMITS[name]
    assert same >= floor
    assert traps <= limit


@pytest.mark.parametrize("name", SETS)
def test_canonical_questions_alone_serve_no_trap(name: str) -> None:
    """Without an embedder nothing is near: what is served then has one canonical form."""
    listed = pairs(name)

    same, traps = shares(listed, [-1.0] * len(listed))

    assert same >= LEXICAL[name]
    assert traps == 0
