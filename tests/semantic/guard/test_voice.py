"""Passive and active with the parts exchanged refuse; one deed in both voices does not."""

from __future__ import annotations

import pytest

from semantic.guard import voice
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Was the dog bitten by the cat", "Did the dog bite the cat"),
        ("Are agents paid by owners", "Do agents pay owners"),
        ("Is the surgeon assisted by a nurse", "Does a surgeon assist the nurse"),
        ("What do owls hunt", "What hunts owls"),
        ("What is eaten by owls", "What eats owls"),
        ("What birds hunt owls", "What birds do owls hunt"),
        ("What triggers a bad migraine", "What does a bad migraine trigger"),
        ("Who did Acme buy", "Who bought Acme"),
        ("我打伤了别人怎么办", "我被打伤了怎么办"),
        ("病人把医生投诉了", "病人被医生投诉了"),
        ("猫抓了我怎么办", "我的猫被抓了怎么办"),
        ("举报同事怎么写材料", "被同事举报怎么写材料"),
        ("怎么拉黑了老客户", "怎么看出被老客户拉黑"),
        ("What happens if I scratch a car", "What happens if I am scratched at a car wash"),
        ("What if we overcharge", "What if we get overcharged"),
        ("How can I tell that I am muted", "How can I tell that I mute"),
        ("How do I learn who muted me", "How do I learn who I muted"),
        ("Am I covered if I dent a van", "Am I covered if my van is dented"),
        ("怎么知道谁举报了我", "怎么知道我举报了谁"),
        ("怎么静音别人", "别人静音了怎么看出来"),
        ("员工被经理投诉怎么办", "员工投诉经理怎么办"),
        ("什么吸引蚊子", "蚊子吸引什么"),
        ("谁批准预算", "预算批准谁"),
        ("把邻居举报了会怎样", "被邻居举报了会怎样"),
        ("将房东起诉要多少钱", "被房东起诉要多少钱"),
        ("向顾客投诉怎么写", "被顾客投诉怎么写"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(voice.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Was the dog bitten by the cat", "Did the cat bite the dog"),
        ("Are agents paid by owners", "Do owners pay agents"),
        ("Which mice are eaten by owls", "Which mice do owls eat"),
        ("Which owl eats the mice", "Which owl are the mice eaten by"),
        ("Can the fee be paid by card", "Can I pay the fee by card"),
        ("Is it reviewed by Monday", "Will it be reviewed on Monday"),
        ("What do owls hunt", "Tell me what owls hunt"),
        ("What birds hunt at night", "What birds do hunt at night"),
        ("What birds do owls hunt", "Which birds do owls hunt"),
        ("What does inertia mean", "What is inertia"),
        ("我被猫抓了怎么办", "猫抓了我怎么办"),
        ("账户被锁了怎么办", "账户锁了怎么办"),
        ("账户被冻结了怎么办", "账户冻结了怎么办"),
        ("员工被经理投诉怎么办", "经理投诉员工怎么办"),
        ("谁是作者", "作者是谁"),
        ("什么水果维生素多", "维生素多的水果有什么"),
        ("被子怎么洗", "怎么洗被子"),
        ("被狗咬了怎么办", "狗咬了人怎么办"),
        ("How do I learn who muted me", "How can I learn who has muted me"),
        ("我举报了谁怎么查", "怎么查我举报了谁"),
        ("我把手机弄丢了", "手机被我弄丢了"),
        ("学生把老师气哭了", "老师被学生气哭了"),
        ("把手坏了", "被手划伤了"),
        ("What if we get sued", "What if we are sued"),
        ("What if I tire of work", "What if I am late for work"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(voice.differ(*pair) for pair in both(asked, stored))
