"""Any text has a reading, always the same one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.canonical import question
from tests.semantic.texts import reading


@pytest.mark.parametrize(
    ("text", "language", "tongue"),
    [
        ("How do I pay", "en", "en"),
        ("怎么付款", "zh", "zh"),
        ("如何在Linux下查看端口", "zh", "zh"),
        ("What does 你好 mean in English", "en", "en"),
        ("JSON转YAML", "zh", "zh"),
        ("Spring Boot 和 Spring Cloud 区别", "zh", "zh"),
        ("支払い方法を教えてください", "other", "hiragana"),
        ("어떻게 결제하나요", "other", "hangul"),
        ("Как оплатить заказ", "other", "cyrillic"),
        ("¿Cómo puedo pagar la cuenta?", "other", "es"),
        ("Comment puis-je payer pour mon compte", "other", "fr"),
        ("Wie kann ich bezahlen", "other", "de"),
        ("", "en", "en"),
        ("42", "en", "en"),
    ],
)
def test_the_language(text: str, language: str, tongue: str) -> None:
    found = reading(text)

    assert (found.language, found.tongue) == (language, tongue)


@pytest.mark.parametrize(
    ("text", "question", "modal", "body"),
    [
        ("How do I get a refund?", "how", "", ("refund",)),
        ("Can't I use my card?", "whether", "can", ("use", "my", "card")),
        (
            "My food is cold, can I get a refund",
            "whether",
            "can",
            ("get", "refund", "my", "food", "cold"),
        ),
        ("退货流程", "how", "", ("退货",)),
        ("会议室怎么预订", "how", "", ("预订", "会议室")),
        ("飞机可以带充电宝吗", "whether", "can", ("飞机", "带", "充", "电", "宝")),
        ("婴儿几个月可以吃辅食", "long", "", ("吃", "辅", "食", "孩子")),
    ],
)
def test_the_question(text: str, question: str, modal: str, body: tuple[str, ...]) -> None:
    found = reading(text)

    assert (found.question, found.modal, found.body) == (question, modal, body)


def test_full_width_and_traditional_letters_are_folded() -> None:
    assert reading("ＡＰＩ怎麼用？").body == reading("API怎么用?").body


@given(st.text(max_size=200))
def test_total_and_deterministic(text: str) -> None:
    first = reading(text)

    assert first == reading(text)
    assert question(first) == question(reading(text))
    assert first.length == len(text)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "怎么",
        "one ",
        "1",
        "'",
        "a@",
        "/",
        "``",
        "😀",
        "\0",
        "how do i ",
        "thanks ",
        "so , ",
        "hi ",
        "请问",
        "-",
        ", ",
    ],
)
def test_ten_thousand_letters(piece: str) -> None:
    text = (piece * 10_000)[:10_000]

    assert reading(text).length == 10_000
