"""Letters that say nothing where they stand, and the same letters at the end of a noun."""

from __future__ import annotations

import pytest

from semantic.han_light import light, weighty
from tests.semantic.texts import reading


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("会", "逾期会罚款吗"),
        ("上", "能带上飞机吗"),
        ("掉", "怎么关掉闹钟"),
        ("使用", "用微信怎么交电费"),
        ("被", "账户被锁了"),
        ("时", "发烧时能洗澡吗"),
        ("码", "车牌号码怎么查"),
        ("候", "发烧的时候能洗澡吗"),
        ("果", "如果发烧能洗澡吗"),
    ],
)
def test_says_nothing(word: str, text: str) -> None:
    assert light([word], text)


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("会", "商会怎么加入"),
        ("会", "公司年会流程"),
        ("上", "上半年报表"),
        ("上", "楼上漏水"),
        ("被", "孩子被骗了"),
        ("时", "课时怎么算"),
        ("完", "吃完饭"),
        ("再", "再买一次"),
        ("已", "已买"),
        ("没", "没买"),
        ("别", "别买"),
        ("免", "免押金"),
        ("更", "更大"),
        ("最", "最大"),
        ("刚", "刚买"),
        ("快", "快到了"),
        ("先", "先买"),
        ("内", "车内"),
        ("外", "车外"),
        ("头", "牙刷头"),
        ("果", "苹果汁"),
        ("时", "什么时候发烧"),
    ],
)
def test_says_something(word: str, text: str) -> None:
    assert not light([word], text)


def test_what_says_nothing_is_left_out() -> None:
    """Be it all there is."""
    assert weighty(reading("充电宝能带上飞机吗")) == ("充", "电", "宝", "带", "飞机")
    assert weighty(reading("们")) == ()
