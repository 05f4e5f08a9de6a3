"""Most words equal, but another type of question."""

from __future__ import annotations

import pytest

from semantic.guard import type
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("What is included in the fare", "Is the fare included"),
        ("What sides are in a hexagon", "How many sides are in a hexagon"),
        ("What do I need to renew a visa", "How do I renew a visa"),
        ("What is inflation", "Why is there inflation"),
        ("How do I get a card", "When do I get a card"),
        ("卡丢了怎么办", "卡怎么丢了"),
        ("什么是复利", "怎么复利"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(type.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Is there a dress code", "What is the dress code"),
        ("What is the total number of keys", "How many keys"),
        ("How do I apply", "Where do I apply"),
        ("How is cheese made", "How do you make cheese"),
        ("What is the price of milk", "How much is milk"),
        ("多久发货", "什么时候发货"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(type.differ(*pair) for pair in both(asked, stored))
