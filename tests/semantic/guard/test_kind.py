"""Two members of one class refuse; two names of one member do not."""

from __future__ import annotations

import pytest

from semantic.guard import kind
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Shops open on Monday", "Shops open on Friday"),
        ("Flights to Rome", "Flights to Madrid"),
        ("Pay in euros", "Pay in dollars"),
        ("Say it in French", "Say it in German"),
        ("Install it on Linux", "Install it on Windows"),
        ("A red dress", "A blue dress"),
        ("Sort a list in Java", "Sort a list in Rust"),
        ("Events in June", "Events in July"),
        ("A present for my mother", "A present for my brother"),
        ("Food for dogs", "Food for cats"),
        ("周一开门吗", "周五开门吗"),
        ("北京有多大", "上海有多大"),
        ("美元汇率", "欧元汇率"),
        ("翻译成英文", "翻译成日文"),
        ("安卓怎么截图", "鸿蒙怎么截图"),
        ("红色的裙子", "蓝色的裙子"),
        ("父亲的生日", "母亲的生日"),
        ("狗能吃葡萄吗", "猫能吃葡萄吗"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(kind.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Shops open on Monday", "Shops open on Mondays"),
        ("Pay in pounds", "Pay in GBP"),
        ("Made in the US", "Made in America"),
        ("Use Postgres", "Use PostgreSQL"),
        ("A present for my mum", "A present for my mother"),
        ("星期一开门吗", "周一开门吗"),
        ("翻译成英文", "翻译成英语"),
        ("驾照过期", "驾驶证过期"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(kind.differ(*pair) for pair in both(asked, stored))
