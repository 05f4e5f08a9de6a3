"""A no on one side refuses; one on each, or in a word that denies nothing, does not."""

from __future__ import annotations

import pytest

from semantic.guard import negation
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Which trains run on Sunday", "Which trains don't run on Sunday"),
        ("Cook with salt", "Cook without salt"),
        ("Should I feed ducks", "Should I stop feeding ducks"),
        ("Is it possible", "Is it impossible"),
        ("支持退货吗", "不支持退货吗"),
        ("为什么扣费", "为什么没扣费"),
        ("含税价格", "未含税价格"),
        ("可以吸烟", "禁止吸烟"),
        ("付款成功", "付款失败"),
        ("没收到退税怎么办", "收到退税怎么办"),
        ("忘关煤气会怎样", "关煤气会怎样"),
        ("Why is my test failing", "Why is my test not failing"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(negation.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("I can't log in", "I am unable to log in"),
        ("I cannot pay", "I can't pay"),
        ("Don't tell me", "Never tell me"),
        ("能不能退货", "可以退货吗"),
        ("是不是免费", "免费吗"),
        ("有什么不同", "有什么区别"),
        ("非常好吃", "很好吃"),
        ("是否收费", "收费吗"),
        ("喝不下水怎么办", "没喝下水怎么办"),
        ("忘了带票怎么办", "没带票怎么办"),
        ("忘了密码怎么办", "忘记密码怎么办"),
        ("财产没收以后怎么办", "财产被没收怎么办"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(negation.differ(*pair) for pair in both(asked, stored))
