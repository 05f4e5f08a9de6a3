"""A word exchanged in nearly equal questions refuses; a synonym or a slip does not."""

from __future__ import annotations

import pytest

from semantic.guard import slot
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Can I bring my guitar on board", "Can I bring my skateboard on board"),
        ("How do I clean a kettle", "How do I clean a carpet"),
        ("Does my wife get a widow's pension", "Does my husband get a widow's pension"),
        ("怎么清洗窗帘", "怎么清洗地毯"),
        ("红烧排骨怎么做", "红烧茄子怎么做"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(slot.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I mend a tap", "How do I repair a tap"),
        ("How do I clean a carpet", "How do I clean carpets"),
        ("How long can soup be kept in a jar", "How long can I keep soup in a jar"),
        ("Is the cook book free", "Is the cookbook free"),
        ("How many km is a marathon", "How many kilometres is a marathon"),
        ("10公斤橙子多少钱", "10千克橙子多少钱"),
        ("How do I claim compensation", "How do I claim compensaton"),
        ("怎么查询账单", "怎么查看账单"),
        ("怎么修改地址", "如何更改地址"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(slot.differ(*pair) for pair in both(asked, stored))
