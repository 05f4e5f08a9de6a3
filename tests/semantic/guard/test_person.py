"""I and you refuse each other, except where it is asked how all do it."""

from __future__ import annotations

import pytest

from semantic.guard import person
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Tell my boss about his slip", "Tell my boss about her slip"),
        ("What becomes of the bond when I resign", "What becomes of the bond when you resign"),
        ("Will I retire early", "Will you retire early"),
        ("Who pays me", "Who pays you"),
        ("What does a tiler charge", "What does your tiler charge"),
        ("我会被录取吗", "你会被录取吗"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(person.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Is he allowed to vote", "May he vote"),
        ("How do I glaze a pot", "How do you glaze a pot"),
        ("Where can I park", "Where can you park"),
        ("What does your tiler charge", "What does the tiler charge"),
        ("What becomes of the bond when I resign", "What becomes of my bond on resigning"),
        ("Do you heat the pool", "Is the pool heated"),
        ("我怎么补票", "你们怎么补票"),
        ("会被录取吗", "我会被录取吗"),
        ("Will I retire early", "你会提前退休吗"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(person.differ(*pair) for pair in both(asked, stored))
