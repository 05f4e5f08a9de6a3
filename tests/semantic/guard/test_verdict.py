"""The first guard that refuses names itself; profiles and settings say which are asked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.canonical import question
from semantic.guard import term
from semantic.guard.verdict import refusal
from semantic.settings import Profile, Settings, Terms
from tests.semantic.texts import both, reading

SETTINGS = [Settings(profile=profile) for profile in ("strict", "balanced", "relaxed")]
FRAGMENTS = [
    "how do I ", "what is ", "怎么", "不", "没有", "not ", "can't ", "7am ", "三点", "10% ",
    "from A to B ", "Paris ", "北京", "buy ", "sell ", "买", "卖", "\0", "😀", "'s ", "，", "? ",
    "the ", "的", "ſ", "İ", "ß", "two hundred and ", "百分之", "万", "http://x ", "a@b.c ", "“",
    "```", "İstanbul ", "कैसे ", "١٢", "one ", "Ⅷ", "½", "²", "1:99 ", "99pm ", "1,2,3", "0x1F ",
    "我", "you ", "my ",
]  # fmt: skip
TEXTS = st.text(max_size=60) | st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("".join)


@pytest.mark.parametrize(
    ("asked", "stored", "name"),
    [
        ("Top 5 songs", "Top 6 songs", "number"),
        ("支持退货吗", "不支持退货吗", "negation"),
        ("为什么退款", "怎么退款", "question"),
        ("How do I pay", "怎么付款", "language"),
        ("Turn on lights", "Turn off lights", "opposite"),
        ("北京有多大", "上海有多大", "kind"),
        ("How do I clean a kettle", "How do I clean a carpet", "swap"),
        ("Can I post a big lamp in a box", "Can I post a hot soup in a box", "slot"),
        ("Can I travel free", "Can my daughter travel free", "narrow"),
    ],
)
def test_the_reason(asked: str, stored: str, name: str) -> None:
    assert {refusal(*pair, Settings()) for pair in both(asked, stored)} == {name}


@pytest.mark.parametrize(
    ("profile", "reason"), [("strict", "swap"), ("balanced", "swap"), ("relaxed", "")]
)
def test_relaxed_does_not_mind_which_word(profile: Profile, reason: str) -> None:
    asked, stored = reading("How do I clean a kettle"), reading("How do I clean a carpet")

    assert refusal(asked, stored, Settings(profile=profile)) == reason


@pytest.mark.parametrize(("profile", "reason"), [("strict", "slot"), ("balanced", "")])
def test_only_strict_minds_several_words(profile: Profile, reason: str) -> None:
    asked, stored = (
        reading("Can I post a big lamp in a box"),
        reading("Can I post a hot soup in a box"),
    )

    assert refusal(asked, stored, Settings(profile=profile)) == reason


def test_another_language_may_be_let_pass() -> None:
    pair = reading("How do I pay"), reading("怎么付款")

    assert refusal(*pair, Settings(cross_language=True)) == ""


def test_operators_terms_refuse() -> None:
    terms = Terms(
        protected_terms=("Acme One", "尊享卡"),
        antonyms=(("inbound lane", "outbound lane"), ("直播", "回放")),
        classes=(("gizmo", "widget"), ("甲醇", "乙醇")),
    )

    for one, other, name in (
        ("Reset the Acme One", "Reset the device", "term"),
        ("尊享卡怎么办理", "怎么办理", "term"),
        ("Open the inbound lane", "Open the outbound lane", "opposite"),
        ("怎么看直播", "怎么看回放", "opposite"),
        ("Does a gizmo float", "Does a widget float", "kind"),
        ("甲醇有毒吗", "乙醇有毒吗", "kind"),
    ):
        assert {
            refusal(*pair, Settings(profile="balanced")) for pair in both(one, other, terms)
        } == {name}


def test_a_protected_term_is_a_whole_word() -> None:
    terms = Terms(protected_terms=("one",))

    assert not term.differ(*both("Phone support", "Support by phone", terms)[0])


@given(TEXTS, st.sampled_from(SETTINGS))
def test_a_question_is_never_refused_its_own_answer(text: str, settings: Settings) -> None:
    assert refusal(reading(text), reading(text), settings) == ""


@given(TEXTS, TEXTS, st.sampled_from(SETTINGS))
def test_who_came_first_makes_no_difference(one: str, other: str, settings: Settings) -> None:
    (first, second), _ = both(one, other)

    assert (refusal(first, second, settings) == "") == (refusal(second, first, settings) == "")


@given(TEXTS, TEXTS)
def test_equal_canonical_questions_agree_in_what_a_key_holds(one: str, other: str) -> None:
    """Other guards may refuse such a pair: quotes, for one, are no part of a canonical question."""
    first, second = reading(one), reading(other)
    if question(first) is not None and question(first) == question(second):
        assert first.tongue == second.tongue
        assert refusal(first, second, SETTINGS[0]) not in (
            "number",
            "negation",
            "question",
            "length",
        )
