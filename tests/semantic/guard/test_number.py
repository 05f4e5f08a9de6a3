"""Numbers that differ refuse, the same number in another spelling does not."""

from __future__ import annotations

import pytest

from semantic.guard import number
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Room for 2 people", "Room for 12 people"),
        ("Top 5 songs", "Top ten songs"),
        ("Wake me at 7am", "Wake me at 7pm"),
        ("Turn 3 into 4", "Turn 4 into 3"),
        ("Which is the largest lake", "Which is the second largest lake"),
        ("Version 2.1 notes", "Version 2.10 notes"),
        ("Save 10%", "Save 10"),
        ("Pay £50,000", "Pay £5,000"),
        ("Meet on 2024-03-05", "Meet on 2024-05-03"),
        ("Is tax due", "Is tax due in 30 days"),
        ("三个苹果多少钱", "四个苹果多少钱"),
        ("上午9点开会", "晚上9点开会"),
        ("打九折", "打八折"),
        ("iphone八怎么样", "iphone7怎么样"),
        ("5千克大米", "5千袋大米"),
        ("百分之十的税", "百分之二十的税"),
        ("2023年高考", "二零二四年高考"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(number.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Top 5 songs", "Top five songs"),
        ("Meet at 7 in the evening", "Meet at 7pm"),
        ("Wait 30 days", "Wait thirty days"),
        ("Save 10%", "Save ten percent"),
        ("Pay 50,000", "Pay 50000"),
        ("Pay 5k", "Pay 5,000"),
        ("Twenty five guests", "25 guests"),
        ("Which one is best", "Which is best"),
        ("3rd floor", "third floor"),
        ("Get off at the 2nd stop", "Get off at the second stop"),
        ("Wait a second", "Wait a sec"),
        ("三个苹果", "3个苹果"),
        ("下午三点", "15:00"),
        ("下午三点", "15点"),
        ("5千克大米", "5公斤大米"),
        ("百分之十", "10%"),
        ("十万元", "100000元"),
        ("iphone八", "iphone 8"),
        ("二零二四年", "2024年"),
        ("介绍一下北京", "介绍北京"),
        ("三点半开会", "3:30开会"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(number.differ(*pair) for pair in both(asked, stored))
