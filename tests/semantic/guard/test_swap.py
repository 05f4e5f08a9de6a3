"""One word against one refuses; a synonym, a form of it, or several words reworded do not."""

from __future__ import annotations

import pytest

from semantic.guard import swap
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I clean a kettle", "How do I clean a carpet"),
        ("What is a monsoon", "What is a typhoon"),
        ("Does the museum sell maps of the old town", "Does the museum sell maps of the old port"),
        ("怎么清洗窗帘", "怎么清洗地毯"),
        ("银杏怎么种", "水杉怎么种"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(swap.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I mend a tap", "How do I repair a tap"),
        ("How do I clean a carpet", "How do I clean carpets"),
        ("How do I clean a carpet", "How do I get a rug clean at home"),
        ("How do I clean a carpet", "How do I clean a woollen carpet"),
        ("怎么查询账单", "怎么查看账单"),
        ("How do I pay", "怎么付款"),
        ("窗帘怎么清洗", "怎样把窗帘洗得干净"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(swap.differ(*pair) for pair in both(asked, stored))
