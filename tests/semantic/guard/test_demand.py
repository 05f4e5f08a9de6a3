"""One more demand, or another form, refuses; one demand in other words does not."""

from __future__ import annotations

import pytest

from semantic.guard import demand
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I prune figs", "How do I prune figs and when"),
        ("Write a regex for dates", "Write a regex for dates and explain each part"),
        ("What does a notary do", "What does a notary do and how much is one"),
        ("Explain tides", "Explain tides in one sentence"),
        ("Explain tides", "Explain tides with examples"),
        ("Explain tides", "Explain tides in simple terms"),
        ("Explain tides", "Explain tides in detail"),
        ("Explain why ice floats", "Explain why ice floats step by step"),
        ("Compare tea and coffee", "Compare tea and coffee as a table"),
        ("List the moons of Mars", "List the moons of Mars alphabetically"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(demand.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Explain tides in detail", "Explain tides in depth"),
        ("How do I fold a map", "How do I fold a map step by step"),
        ("Explain tides briefly", "Explain tides in a nutshell"),
        ("Compare tea and coffee", "Compare coffee and tea"),
        ("Find a room with a table", "Find a room that has a table"),
        ("What is a list of lists", "A list of lists, what is it"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(demand.differ(*pair) for pair in both(asked, stored))
