"""What is done and what has been done do not change places; one thing done in other words may."""

from __future__ import annotations

import pytest

from semantic.guard import deed
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I wash a painted wall", "How do I paint a washed wall"),
        ("How do I found a firm", "How do I find a firm"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(deed.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How can silt be swept from a large drain", "How do I sweep silt from a large drain"),
        ("How do I wash a painted wall", "How do I wash the painted walls"),
        ("How do I remove silt safely", "How do I safely remove silt"),
        ("How do I wash a painted wall", "How do I paint a kitchen wall"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(deed.differ(*pair) for pair in both(asked, stored))
