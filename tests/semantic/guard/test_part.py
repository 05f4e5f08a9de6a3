"""Only some, half of it, and some against all refuse; the same amount in other words does not."""

from __future__ import annotations

import pytest

from semantic.guard import part
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Users who bought every book", "Users who bought any book"),
        ("Is the soup too hot to eat", "Is the soup hot to eat"),
        ("Check if all fields are set", "Check if any field is set"),
        ("Are few seats left", "Are a few seats left"),
        ("Do not all members vote", "Do all members not vote"),
        ("Can adults use the pool", "Can only adults use the pool"),
        ("Is the trial exclusively for students", "Is the trial for students"),
        ("Peel an apple", "Peel half an apple"),
        ("Are all seats reserved", "Are some seats reserved"),
        ("Are all seats reserved", "Are any seats reserved"),
        ("Do both partners pay", "Does either partner pay"),
        ("教师能借阅吗", "只有教师能借阅吗"),
        ("周末开放吗", "仅周末开放吗"),
        ("退一半押金吗", "退押金吗"),
        ("所有课程都免费吗", "部分课程免费吗"),
        ("全体成员投票吗", "大多数成员投票吗"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(part.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I remove any stain", "How do I remove every stain"),
        ("Are a few seats left", "Are some seats left"),
        ("How many seats are left", "Are some seats left"),
        ("Can only adults use the pool", "Is it only adults who can use the pool"),
        ("Are all seats reserved", "Is every seat reserved"),
        ("Can all members vote", "Can any member vote"),
        ("Is there some parking", "Is there parking"),
        ("养一只猫要花多少钱", "养猫要花多少钱"),
        ("半夜能办入住吗", "夜里能办入住吗"),
        ("所有课程都免费吗", "课程全部免费吗"),
        ("只要登记就行吗", "登记就行吗"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(part.differ(*pair) for pair in both(asked, stored))
