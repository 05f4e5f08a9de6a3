"""What causes it against what it causes refuses; either in other words does not."""

from __future__ import annotations

import pytest

from semantic.guard import cause
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What causes rust", "What does rust cause"),
        ("What made the dam burst", "What did the burst dam result in"),
        ("What led to the fall of Rome", "What did the fall of Rome lead to"),
        ("The causes of the Boer War", "The consequences of the Boer War"),
        ("Why did the strike happen", "What happened because of the strike"),
        ("What results from erosion", "What does erosion result from"),
        ("What foods cause gout", "What foods does gout affect"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(cause.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What causes rust", "What is rust caused by"),
        ("What led to the fall of Rome", "The reasons for the fall of Rome"),
        ("What are the effects of tea", "What does tea lead to"),
        ("Does rust cause leaks", "Can rust cause leaks"),
        ("What makes a good host", "Why is a host good"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(cause.differ(*pair) for pair in both(asked, stored))
