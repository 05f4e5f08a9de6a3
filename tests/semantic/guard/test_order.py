"""Sides that have changed places refuse; a topic said first instead of last does not."""

from __future__ import annotations

import pytest

from semantic.guard import order
from tests.semantic.texts import both


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("How much is an acre in hectares", "How much is a hectare in acres"),
        ("How do I train an assistance dog", "How do I train a dog assistance"),
        ("Convert metres to feet", "Convert feet to metres"),
        ("Move from Redis to Kafka", "Move from Kafka to Redis"),
        ("Is gold heavier than lead", "Is lead heavier than gold"),
        ("Did Anna call Mark", "Did Mark call Anna"),
        ("我能借你的书吗", "你能借我的书吗"),
        ("从北京到上海的火车", "从上海到北京的火车"),
        ("卖家给买家退款", "买家给卖家退款"),
        ("梨比桃贵吗", "桃比梨贵吗"),
        ("人民币换美元", "美元换人民币"),
        ("Can I sue my employer", "Can my employer sue me"),
        ("Can my wife use my card", "Can I use my wife's card"),
        ("Can police search me", "Can I search police"),
        ("How do I sue my employer", "How does my employer sue me"),
        ("我可以起诉公司吗", "公司可以起诉我吗"),
        ("谁打了我", "我打了谁"),
        ("Who pays the seller", "Who does the seller pay"),
        ("Can a tenant evict a landlord", "Can a landlord evict a tenant"),
        ("房东可以赶走租客吗", "租客可以赶走房东吗"),
        ("What is milk chocolate", "What is chocolate milk"),
        ("Who pays for a skating figure", "Who pays for a figure skate"),
        ("How do I store peanut butter", "How do I store butter peanuts"),
        ("password manager", "manager password"),
        ("does insurance cover accident damage", "does accident insurance cover damage"),
        ("牛奶巧克力怎么做", "巧克力牛奶怎么做"),
        ("怎么给银行打款", "银行怎么给我打款"),
        ("怎么给银行打款", "银行怎么给客户打款"),
        ("邻居欠我租金怎么办", "我欠邻居租金怎么办"),
        ("保险应该赔客户多少", "客户应该赔保险多少"),
        ("浇过花肥还要浇花水吗", "浇过花水还会浇花肥吗"),
        ("Does rust cause leaks", "Do leaks cause rust stains"),
        ("猫怎么打狗", "狗怎么打猫"),
        ("电池怎么换成锂电池", "锂电池怎么换成电池"),
        ("煮饺子水开几分钟", "煮饺子几分钟水开"),
        ("猫咬了怎么办", "咬了猫怎么办"),
    ],
)
def test_refused(asked: str, stored: str) -> None:
    assert all(order.differ(*pair) for pair in both(asked, stored))


@pytest.mark.parametrize(
    ("asked", "stored"),
    [
        ("Is parking free", "Is there free parking"),
        ("On my phone, how do I talk to Siri", "How do I talk to Siri on my phone"),
        ("Tea and coffee", "Tea and coffee please"),
        ("从北京到上海的火车", "北京到上海火车"),
        ("怎么给银行打款", "给银行打款怎么操作"),
        ("邻居欠我租金怎么办", "邻居欠了我租金怎么办"),
        ("谁可以帮我退货", "谁能帮我退货"),
        ("Who do I contact about my pay", "Who should I contact about my pay"),
        ("如何用Perl写脚本", "用Perl如何写脚本"),
        ("On a Mac how can I zip a file", "How can I zip a file on a Mac"),
        ("周末图书馆开门吗", "图书馆周末开门吗"),
        ("为什么海水是咸的", "海水为什么是咸的"),
        ("去海边玩带什么药", "带什么药去海边玩"),
        ("How do I join a chess club team", "How do I join a team at a chess club"),
        ("Free parking at the airport", "Airport free parking"),
        ("狗狗疫苗多久打一次", "狗狗多久打一次疫苗"),
        ("银行卡丢了怎么办", "丢了银行卡怎么办"),
    ],
)
def test_kept(asked: str, stored: str) -> None:
    assert not any(order.differ(*pair) for pair in both(asked, stored))
