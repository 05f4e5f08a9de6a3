"""What was, is being done or will be refuses the other; the same time in other words does not."""

from __future__ import annotations

import pytest

from semantic.guard import tense
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Who will host the Games", "Who hosted the Games"),
        ("Who runs the mill", "Who ran the mill"),
        ("What happens when it rains", "What happened when it rained"),
        ("Is the pool being cleaned", "Has the pool been cleaned"),
        ("Has the bus left", "Is the bus leaving"),
        ("Should I have called a vet", "Should I call a vet"),
        ("I missed the ferry. What now", "I will miss the ferry. What now"),
        ("We have sold the barn. Who pays the tax", "We will sell the barn. Who pays the tax"),
        ("How do developed countries trade", "How do developing countries trade"),
        ("Do I insure a used car", "Do I use an insured car"),
        ("Is the beach currently crowded", "Is the beach usually crowded"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(tense.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Who won the cup", "Who was the winner of the cup"),
        ("How are figs dried", "How do I dry figs"),
        ("Is the pool being cleaned", "Are they cleaning the pool"),
        ("Should I have a will", "Should I get a will"),
        ("I missed the ferry. What now", "I have missed the ferry. What now"),
        ("Is the beach crowded", "Is the beach usually crowded"),
        ("Why is my tap leaking", "Why has my tap leaked"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(tense.differ(*pair) for pair in both(asked, stored))
