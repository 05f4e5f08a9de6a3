"""A word more narrows a question, or makes it one about another thing."""

from __future__ import annotations

import pytest

from semantic.guard import extra
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        (
            "How do I sort a list of words in Lua",
            "How do I sort a list of words in Lua ignoring case",
        ),
        ("Suggest a family hotel in Graz", "Suggest a family hotel in Graz with a sauna"),
        (
            "What is the fee for a sea kayak in Kotor",
            "What is the fee per seat for a sea kayak in Kotor",
        ),
        ("What does the warranty cover", "What does the extended warranty cover"),
        ("How do I cook rice", "How do I cook brown rice"),
        ("Where do I buy a tent peg in Leeds", "Where do I buy a tent peg bag in Leeds"),
        ("Is a bike rack for a small car cheap", "Is a bike rack lock for a small car cheap"),
        (
            "Does the museum shop sell maps of London",
            "Does the museum shop sell folding maps of London",
        ),
        (
            "How do I board the night train to Vienna",
            "How do I bring a bike to board the night train to Vienna",
        ),
        ("哪里卖黑巧克力", "哪里卖黑巧克力酱料"),
        ("羽毛球拍怎么选", "羽毛球拍手胶怎么选"),
        ("哪里能买滑板", "哪里能买滑板车"),
        ("补牙怎么挂号", "怎么挂号"),
        ("床单多久洗一次", "床多久洗一次"),
        ("商会怎么加入", "商怎么加入"),
        ("副驾驶怎么调座椅", "驾驶怎么调座椅"),
        ("楼上漏水怎么办", "楼漏水怎么办"),
        ("刚做完手术能喝茶吗", "做完手术能喝茶吗"),
        ("吃完饭能游泳吗", "吃饭能游泳吗"),
        ("牛奶和巧克力怎么搭配", "牛奶巧克力怎么搭配"),
        ("孩子被骗了怎么办", "孩子骗了怎么办"),
        ("怎么加热牛奶", "怎么用锅热牛奶"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(extra.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How do I frame a small mirror in oak", "How do I frame a small mirror using oak"),
        (
            "How often should I water an indoor fig tree",
            "How often does an indoor fig tree need water",
        ),
        ("How do I cook rice", "How do I cook the rice"),
        ("Does the shop at the pier sell maps", "Does the shop over at the pier sell maps"),
        ("Do you ship tents to Fiji", "Do you guys ship tents to Fiji"),
        ("What can mould on walls do to lungs", "What does mould on walls do to lungs"),
        (
            "What papers must I show to rent a boat on the Rhine",
            "What papers do I need to rent a boat on the Rhine",
        ),
        ("公积金怎么取", "住房公积金怎么取"),
        ("怎么取消续费", "怎么取消掉续费"),
        ("充电宝能带上飞机吗", "充电宝能带飞机吗"),
        ("孩子不吃饭怎么办", "孩子不吃饭该怎么办"),
        ("账户锁了怎么办", "账户被锁了怎么办"),
        ("用微信怎么交电费", "微信怎么交电费"),
        ("怎么加热牛奶", "怎么热牛奶"),
        ("得了流感能洗澡吗", "流感能洗澡吗"),
        ("How do I cook rice", "怎么煮饭"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(extra.differ(*pair) for pair in both(asked, stored))
