"""If, only if, even if, as long as and unless refuse each other; two words for one do not."""

from __future__ import annotations

import pytest

from semantic.guard import condition
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Does the policy lapse if I move abroad", "Does the policy lapse unless I move abroad"),
        ("Can I enter if I am over 60", "Can I enter only if I am over 60"),
        ("Is it taxed if it is a gift", "Is it taxed even if it is a gift"),
        ("Is it taxed when it is a gift", "Is it taxed even though it is a gift"),
        ("Can we camp if it is dry", "Can we camp regardless of whether it is dry"),
        ("Can I leave", "Can I leave unless told to stay"),
        ("如果下雨还办音乐会吗", "除非下雨还办音乐会吗"),
        ("如果迟到能进场吗", "即使迟到能进场吗"),
        ("要是戴帽子能进场吗", "只要戴帽子就能进场吗"),
        ("会员能进场吗", "只有会员才能进场吗"),
        ("虽然过期还能用吗", "如果过期还能用吗"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(condition.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Does the policy lapse if I move abroad", "Does the policy lapse when I move abroad"),
        ("If it rains, is the show off", "Is the show off in case it rains"),
        ("Is the show off in the rain", "Is the show off if it rains"),
        ("Tell me if the pool is open", "Is the pool open"),
        ("如果下雨还办音乐会吗", "要是下雨还办音乐会吗"),
        ("下雨的话还办音乐会吗", "下雨还办音乐会吗"),
        ("只要求本科吗", "要求本科吗"),
        ("Can I leave", "只有会员才能进场吗"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(condition.differ(*pair) for pair in both(asked, stored))
