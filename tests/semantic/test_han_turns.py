"""Turns of one Chinese question come out as one; what only looks like a turn stays as it is."""

from __future__ import annotations

import pytest

from semantic.han_turns import plain


@pytest.mark.parametrize(
    ("asked", "turned"),
    [
        ("食堂周日开不开门", "食堂周日开门"),
        ("食堂周日开门么", "食堂周日开门吗"),
        ("食堂周日开门不", "食堂周日开门吗"),
        ("他为什么不", "他为什么不"),
        ("对账单进行核对", "核对账单"),
        ("有什么好办法去茶渍", "怎么去茶渍"),
        ("去茶渍的正确方法是什么", "去茶渍的方法"),
        ("居住证办理流程", "怎么办理居住证"),
        ("取消申请流程", "取消申请流程"),
        ("猫吐了该怎么处理才好", "猫吐了怎么办"),
        ("怎么处理旧家具", "怎么处理旧家具"),
        ("会场入场时间是几点", "会场入场几点"),
        ("质保期是多久", "质保多久"),
        ("打车得花多少钱", "打车要多少钱"),
        ("报名截止日期是几号", "报名截止几号"),
        ("每天要喝几杯水", "每天要喝有多少杯水"),
        ("有几只猫", "有多少猫"),
        ("推荐几部电影", "推荐几部电影"),
        ("1斤等于多少克", "1斤是多少克"),
        ("从冬至到春分几天", "冬至到春分几天"),
        ("吃几次", "吃有多少次"),
        ("牛和羊有什么不同", "牛和羊的区别是什么"),
        ("羊跟牛的区别在哪里", "牛和羊的区别是什么"),
        ("办证要准备哪些材料", "办证需要什么材料"),
        ("坐高铁去多久", "高铁去多久"),
        ("怎么用perl改名", "perl怎么改名"),
        ("在excel里怎么求和", "excel怎么求和"),
        ("写首关于雪的诗", "写一首关于雪的诗"),
    ],
)
def test_plain(asked: str, turned: str) -> None:
    assert plain(asked) == turned


@pytest.mark.parametrize("asked", ["", "不", "么", "怎么", "方法", "几", "的区别", "吗"])
def test_a_part_of_a_question_is_kept(asked: str) -> None:
    assert plain(asked) == asked
