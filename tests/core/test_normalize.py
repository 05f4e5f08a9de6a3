"""Normal forms of text: what meets, and what never may."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config import Mask
from proxy.core.normalize import Normalizer, normalizer


def made(
    profile: str, *, masks: tuple[Mask, ...] = (), fillers: tuple[str, ...] = ()
) -> Normalizer:
    found = normalizer("fold" if profile == "fold" else "prose", masks, fillers, 16384)
    assert found is not None
    return found


PROSE = made("prose")
FOLD = made("fold", fillers=("please", "hi", "请问", "hi there", "Could you"))

SAME_PROSE = [
    (" 如何退款 ", "如何退款"),
    ("　如何退款\n", "如何退款"),
    ("How do I\r\n\r\nget a  refund?\t", "How do I get a refund?"),
    ("One.\n\nTwo.", "One. Two."),
    ("cafe\u0301", "café"),
    ("a\u00a0b", "a b"),
    ("It's  fine, don't  worry", "It's fine, don't worry"),
    ('He said "yes"  twice', 'He said "yes" twice'),
    ("", "  "),
]


@pytest.mark.parametrize(("one", "other"), SAME_PROSE)
@pytest.mark.parametrize("profile", [PROSE, FOLD], ids=["prose", "fold"])
def test_blanks_and_composition_do_not_count(profile: Normalizer, one: str, other: str) -> None:
    assert profile.text(one) == profile.text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Refund", "refund"),
        ("refund?", "refund"),
        ("１２", "12"),
        ("ﬁn", "fin"),
        ("in form", "inform"),
        ("a\u200bb", "ab"),
        ("please help", "help"),
    ],
)
def test_prose_keeps_case_punctuation_and_forms(one: str, other: str) -> None:
    assert PROSE.text(one) != PROSE.text(other)


CODE = [
    ("if a:\n    b\nc", "if a:\n    b\n    c"),
    ("if a:\n\tb\nc", "if a:\n\tb\n\tc"),
    ("if a:\n b", "if a: b"),
    ("if a:\r    b", "if a:\r        b"),
    ("for (;;) {\nx\n}", "for (;;) { x }"),
    ("a;\nb", "a; b"),
    ("```\na  b\n```", "```\na b\n```"),
    ("~~~\na  b", "~~~\na b"),
    ('print("a  b")', 'print("a b")'),
    ("What is `a  b`?", "What is `a b`?"),
    ("'a\tb'", "'a b'"),
    ("翻译“a  b”", "翻译“a b”"),
    ('{"a":  1}', '{"a": 1}'),
]


@pytest.mark.parametrize(("one", "other"), CODE)
@pytest.mark.parametrize("profile", [PROSE, FOLD], ids=["prose", "fold"])
def test_code_and_quotations_keep_every_blank(profile: Normalizer, one: str, other: str) -> None:
    assert profile.text(one) != profile.text(other)


@pytest.mark.parametrize(
    ("one", "other"), [("a ｛", "a {"), ("a;\u3000", "a;"), ("｀｀｀ｘ", "```x")]
)
def test_folding_makes_no_code(one: str, other: str) -> None:
    assert FOLD.text(one) != FOLD.text(other)


def test_case_counts_in_code_when_folding() -> None:
    assert FOLD.text("```\nA\n```") != FOLD.text("```\na\n```")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("How do I get a refund?", "how do i get a refund"),
        ("How do I get a refund?!", "how do i get a refund"),
        ("Stop!!!", "stop"),
        ("如何退款？", "如何退款"),
        ("好！", "好"),
        ("ＡＢＣ１２", "abc12"),
        ("STRASSE", "straße"),
        ("请问，如何退款？", "如何退款"),
        ("Please, could you help?", "HELP"),
        ("help please please", "help"),
        ("Hi  there, help", "help"),
    ],
)
def test_folding_lets_meet(one: str, other: str) -> None:
    assert FOLD.text(one) == FOLD.text(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("-5 + 3", "5 + 3"),
        (".5 + 1", "5 + 1"),
        ("what is 5!", "what is 5"),
        ("what is 5²", "what is 52"),
        ("what is 1½", "what is 11/2"),
        ("x₂", "x2"),
        ("C++", "C"),
        ("C#", "C"),
        ("$5", "5"),
        ("5%", "5"),
        ("pleased to help", "d to help"),
        ("displease", "dis"),
        ("please", "hi there"),
        ("?", "!"),
        ("don't", "dont"),
    ],
)
def test_folding_keeps_apart(one: str, other: str) -> None:
    assert FOLD.text(one) != FOLD.text(other)


def test_a_text_of_filler_words_alone_keeps_one() -> None:
    assert FOLD.text("Please, please!") == FOLD.text("please") != ""


MASKS = (Mask(name="order", pattern=r"#\d+"), Mask(name="time", pattern=r"\d\d:\d\d"))


def test_what_a_mask_matches_counts_as_its_name() -> None:
    masked = made("prose", masks=MASKS)

    assert masked.text("Order #17 at 10:30") == masked.text("Order #9001 at 23:59")
    assert masked.text("Order #17") != masked.text("Order order")
    assert masked.text("Order #17") != masked.text("Order 10:30")
    assert masked.text("Order #17 now") != masked.text("Order #17 later")


def test_masks_reach_into_code_too() -> None:
    masked = made("prose", masks=MASKS)

    assert masked.text("a:\n    #17") == masked.text("a:\n    #18") != masked.text("a:\n   #18")


def test_the_profile_none_makes_no_second_key() -> None:
    assert normalizer("none", MASKS, (), 16384) is None


anything = st.text(
    st.sampled_from("aB1 \t\r\n\u00a0\u3000\"'`{};.!?,-é\u0301中。！ﬁ²１\0")
    | st.characters(codec="utf-8"),
    max_size=16,
)


@given(anything)
def test_trimming_and_composing_changes_nothing_afterwards(text: str) -> None:
    composed = unicodedata.normalize("NFC", text)

    assert PROSE.text(f" {composed}\n") in (PROSE.text(text), "\0code\0" + f" {composed}\n")


@given(anything, anything)
def test_prose_never_merges_texts_that_differ_in_more_than_blanks(one: str, other: str) -> None:
    def bare(text: str) -> str:
        return "".join(unicodedata.normalize("NFC", text).split())

    if PROSE.text(one) == PROSE.text(other):
        assert bare(one) == bare(other)


@given(anything)
def test_folding_is_done_when_it_is_done(text: str) -> None:
    """Folding again finds nothing more, so that order of spelling and folding cannot matter."""
    once = FOLD.text(text)

    if not once.startswith("\0code\0"):
        assert FOLD.text(once) in (once, "\0code\0" + once)


@given(anything)
def test_no_text_becomes_nothing_by_folding(text: str) -> None:
    assert FOLD.text(text) or not text.strip()
