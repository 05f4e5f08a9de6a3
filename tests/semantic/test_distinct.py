"""Texts that say different things, and their vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from semantic.embed.distinct import Distinct
from semantic.embed.port import EmbedderError
from semantic.vector import unit
from tests.semantic import models

if TYPE_CHECKING:
    from semantic.vector import Vectors

TEXTS = [f"question number {number}" for number in range(10)]


def rows(texts: list[str]) -> Vectors:
    """A vector of its own for each text."""
    return unit(models.rows(texts), models.DIMENSION)


def test_different_texts_with_vectors_of_their_own_are_well() -> None:
    found = Distinct()
    for _ in range(3):
        found.check(TEXTS, rows(TEXTS))


@pytest.mark.parametrize("together", [True, False])
def test_another_text_with_the_same_vector_is_refused(*, together: bool) -> None:
    found = Distinct()
    found.check(TEXTS, rows(TEXTS))
    same = rows(["one", "one"])
    with pytest.raises(EmbedderError, match="the same vector"):
        if together:
            found.check(["one", "two"], same)
        else:
            for text, row in zip(("one", "two"), same, strict=True):
                found.check([text], row[None])
    found.check(["one"], same[:1])


def test_the_first_of_them_stays_known_however_many_follow() -> None:
    """Each of the others would be the first one otherwise, now and then."""
    found, (row,) = Distinct(), rows(["one"])
    found.check(["one"], row[None])
    for number in range(200):
        with pytest.raises(EmbedderError):
            found.check([f"another {number}"], row[None])


@pytest.mark.parametrize("other", ["Où est-il?", "ou est il", "  OU EST\tIL !"])
def test_spellings_of_one_text_may_have_one_vector(other: str) -> None:
    found, (row,) = Distinct(), rows(["one"])

    for text in ("Ou est-il", other, "Ou est-il"):
        found.check([text], row[None])


def test_vectors_that_are_only_near_are_two() -> None:
    found, (row,) = Distinct(), rows(["one"])
    moved = row.copy()
    moved[0] += 0.02
    found.check(["one", "two"], np.stack([row, moved / np.linalg.norm(moved)]))
