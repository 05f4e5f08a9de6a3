"""Whether a person asks in Chinese."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.language import language


@pytest.mark.parametrize(
    "text",
    [
        "你好",
        "臺灣的首都在哪裡",
        "3+5等于几?",
        "用Python写一个快速排序函数",
        "帮我 debug 这个 React component 的 useState hook",
        "什么是 HTTP/2?",
        "《红楼梦》的作者是谁",
        "请解释这段代码:\ndef foo(a, b):\n    return a + b\n",
        "请解释这段代码\nfor the in what(who):\n    do(the, what, who)\n",
        "这段代码在做什么\n```python\nfor the_end in what: print(which)\n```",
        "如何优化 SQL: SELECT * FROM t WHERE a = 1",
        "总结:Apple released a new phone and it is very good",
    ],
)
def test_questions_in_chinese(text: str) -> None:
    assert language(text) == "zh"


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "12345",
        "😀😀",
        "hello",
        "def f(x): return x",
        "Explain the character 好",
        "what does 床前明月光 mean?",
        "Translate 你好世界 into English",
        "How do you say 我想喝一杯咖啡 in French?",
        "Bonjour, ça va ?",
        "Привет",
        "안녕하세요",
    ],
)
def test_questions_in_any_other_language(text: str) -> None:
    assert language(text) == "en"


@pytest.mark.parametrize("text", ["東京の天気はどうですか", "お元気ですか", "東京都港区の天気"])
def test_japanese_is_not_chinese(text: str) -> None:
    assert language(text) == "en"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("请把 'The quick brown fox is on the table' 翻译成中文", "zh"),
        ("请把 “The quick brown fox is on the table” 翻译成中文", "zh"),
        ("Who wrote “床前明月光,疑是地上霜” then?", "en"),
        ("Please translate into English: 委员会决定会议不能按计划举行。", "en"),
        ("请总结下面的文章:\nThe committee has decided that it will not be possible.", "zh"),
    ],
)
def test_what_is_quoted_or_worked_on_is_not_who_asks(text: str, expected: str) -> None:
    assert language(text) == expected


def test_where_all_is_quoted_the_quotation_counts() -> None:
    assert language("“你好吗”") == "zh"


def test_of_a_long_text_the_beginning_and_the_end_are_looked_at() -> None:
    assert language("请" * 3000 + " the of and" * 100_000 + "吗" * 3000) == "zh"


@pytest.mark.parametrize(
    "text", ["“", "```", "`", "a:", '"', "《", "(", "a(", "\n", "=", "'a ", "中"]
)
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    language(text * 100_000)

    assert time.process_time() - start < 0.1


@given(st.text())
def test_every_text_has_one(text: str) -> None:
    assert language(text) in ("zh", "en")
