"""One more word among few narrows an English question."""

from __future__ import annotations

import pytest

from semantic.guard import extra
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What does the warranty cover", "What does the extended warranty cover"),
        ("How do I cook rice", "How do I cook brown rice"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(extra.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I cook rice", "How do I cook the rice"),
        (
            "Does the museum shop sell maps of London",
            "Does the museum shop sell folding maps of London",
        ),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(extra.differ(*pair) for pair in both(asked, stored))
