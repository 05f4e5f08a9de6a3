"""Which questions are compared at all."""

from __future__ import annotations

import pytest

from semantic.eligible import ineligible
from semantic.settings import Settings
from tests.semantic.texts import reading

HOUR = 3600.0


@pytest.mark.parametrize(
    "text",
    [
        "how do I get a refund",
        "How do I reset my password?",
        "How do I cancel my mobile contract?",
        "Can I pay my water bill in instalments?",
        "What does it cost to add a bag?",
        "Does my home insurance cover floods?",
        "Why do I have to verify my identity?",
        "How is my PIN sent?",
        "What is the capital of Peru?",
        "How do I fix my bicycle pump?",
        "How to shorten my commute",
        "How does weather differ from climate",
        "Where can I find the code of conduct?",
        "Is there a discount for 2 adults and 1 child?".replace(" and 1 child", ""),
        "怎么退货",
        "退货流程",
        "我的密码忘了怎么办",
        "怎么修改我的收货地址",
        "信用卡怎么还款",
        "这样可以吗退货要钱吗".removeprefix("这样可以吗"),
        "翻译行业的前景怎么样",
        "Can I get a refund?",
        "How can I get my money back?",
        "How will I get my card?",
        "Where can I get my card PIN?",
        "Can I have my order delivered to a locker?",
        "Can I change my address after ordering?",
        "How do I empty my cart?",
        "How do I see what is in the cart?",
        "Do you remember passwords?",
        "What did we land on the moon with?",
        "How do I delete my last message?",
        "Can I change my last name?",
        "How much do I have to pay for shipping?",
        "How many days do I have to return an item?",
        "How long until a cheque clears?",
        "How long does it take to get to the airport?",
        "How many days are in a leap year?",
        "When is a parcel late?",
        "What is the price of a ticket?",
        "How much is delivery?",
        "What is bitcoin?",
        "How does the bitcoin price change?",
        "What determines the price of gold?",
        "How do I buy bitcoin?",
        "What is the silver card?",
        "How to make weather-proof boots",
        "我怎么退货",
        "怎么清空我的购物车",
        "我怎么查我的购物车",
        "怎么删除上一条消息",
        "距离多远可以免费送货",
        "签收后还有几天可以退货",
        "春节为什么要贴对联",
        "开学需要准备什么",
        "比特币是什么",
        "油价是怎么算的",
        "黄金价格受什么影响",
        "奖金价值怎么算",
        "因此文件丢了怎么办",
        "日本文化有什么特点",
        "应该代码签名吗",
        "版本文件放在哪",
        "晚上怎么充电最省钱",
        "以后晚上能送货吗",
        "以前年度的发票怎么开",
        "咱爸妈体检选什么套餐",
    ],
)
def test_compared(text: str) -> None:
    assert ineligible(reading(text), HOUR, Settings()) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("?!", "empty"),
        ("\0", "empty"),
        ("a word " * 100, "long"),
        ("```python\nprint(1)\n```", "code"),
        ("Why does def f(x): return x fail", "code"),
        ("select name from users where id", "code"),
        ("Add 1, 2 and 3", "numbers"),
        ("Write to jo@example.org", "address"),
        ("Summarise https://example.org/a", "address"),
        ("Translate this to French", "deictic"),
        ("What does the following mean", "deictic"),
        ("Rewrite it in Rust", "deictic"),
        ("Shorten my essay", "deictic"),
        ("Explain the code above", "deictic"),
        ("What is this?", "deictic"),
        ("What is the weather today", "time"),
        ("weather in Oslo", "time"),
        ("How is the weather", "time"),
        ("latest iPhone model", "time"),
        ("Who is the current president", "time"),
        ("Where is my order", "personal"),
        ("What is my balance", "personal"),
        ("When will I get my refund?", "personal"),
        ("Why was my card declined?", "personal"),
        ("My parcel hasn't arrived", "personal"),
        ("I have received my order", "personal"),
        ("Remind me at 7am", "personal"),
        ("Refund order 48213", "personal"),
        ("cancel my order", "personal"),
        ("这段话什么意思", "deictic"),
        ("以下哪个正确", "deictic"),
        ("上面的代码为什么报错", "deictic"),
        ("翻译成英文", "deictic"),
        ("今天天气怎么样", "time"),
        ("最新的手机是哪款", "time"),
        ("现在几点了", "time"),
        ("我的订单到哪了", "personal"),
        ("我的余额是多少", "personal"),
        ("我还没收到货", "personal"),
        ("加1减2乘3等于几", "numbers"),
        ("What is in my cart", "personal"),
        ("What's on my calendar?", "personal"),
        ("How many items are in my basket?", "personal"),
        ("Can I get my refund", "personal"),
        ("Will I get my deposit back?", "personal"),
        ("Hello, can I have my money back please", "personal"),
        ("What was my last question", "personal"),
        ("Show the answer to my previous question", "personal"),
        ("What did I just ask?", "personal"),
        ("How much did I spend in March?", "personal"),
        ("How many points do I have?", "personal"),
        ("What did we talk about before", "personal"),
        ("Do you remember what I said?", "personal"),
        ("What was my first question?", "personal"),
        ("pizza near me", "personal"),
        ("How much is gold per gram?", "time"),
        ("咱家的网费还剩多少", "personal"),
        ("How many days until Christmas", "time"),
        ("How long until the end of Ramadan?", "time"),
        ("Days to Black Friday", "time"),
        ("How far away is Christmas?", "time"),
        ("How many weeks are left in the year?", "time"),
        ("When is Easter?", "time"),
        ("bitcoin price", "time"),
        ("What is the price of gold?", "time"),
        ("How much is one bitcoin worth?", "time"),
        ("price of a barrel of oil", "time"),
        ("BTC to USD", "time"),
        ("昨晚谁赢了", "time"),
        ("昨儿的比赛结果", "time"),
        ("明早几点开门", "time"),
        ("前晚的球赛", "time"),
        ("上个星期有什么活动", "time"),
        ("近日有什么活动", "time"),
        ("距离春节还有几天", "time"),
        ("离高考还有多少天", "time"),
        ("春节是哪天", "time"),
        ("什么时候过年", "time"),
        ("比特币价格", "time"),
        ("一个比特币值多少", "time"),
        ("金价多少一克", "time"),
        ("北京油价", "time"),
        ("我欠多少钱", "personal"),
        ("怎么我的快递还没到", "personal"),
        ("我的余额怎么少了", "personal"),
        ("我还欠你们多少", "personal"),
        ("俺有多少积分", "personal"),
        ("我的购物车里有什么", "personal"),
        ("本人的快递到哪了", "personal"),
        ("俺的订单发货了吗", "personal"),
        ("咱们的包裹到哪了", "personal"),
        ("我之前问了什么", "personal"),
        ("我上次买的是什么", "personal"),
        ("我上一个问题是什么", "deictic"),
        ("上一条回答是什么意思", "deictic"),
        ("此文的主旨是什么", "deictic"),
        ("该代码有什么问题", "deictic"),
        ("本文作者想表达什么", "deictic"),
        ("解释该函数", "deictic"),
    ],
)
def test_not_compared(text: str, reason: str) -> None:
    assert ineligible(reading(text), HOUR, Settings()) == reason


def test_questions_about_now_are_compared_where_answers_are_short_lived() -> None:
    asked = reading("What is the weather today")

    assert ineligible(asked, 300.0, Settings(volatile_ttl=300.0)) == ""
    assert ineligible(asked, 301.0, Settings(volatile_ttl=300.0)) == "time"


def test_personal_questions_are_compared_where_a_credential_is_one_persons() -> None:
    settings = Settings(personal=True)

    assert ineligible(reading("Where is my order"), HOUR, settings) == ""
    assert ineligible(reading("我的订单到哪了"), HOUR, settings) == ""


def test_the_longest_text_is_a_setting() -> None:
    asked = reading("how do I get a refund")

    assert ineligible(asked, HOUR, Settings(max_chars=asked.length)) == ""
    assert ineligible(asked, HOUR, Settings(max_chars=asked.length - 1)) == "long"
