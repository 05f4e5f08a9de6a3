"""Which texts an embedder of certain languages can read."""

from __future__ import annotations

import pytest

from semantic.embed.script import readable

ENGLISH = frozenset({"en"})
MANY = frozenset(["ar", "de", "en", "fr", "ja", "ko", "ru", "th", "zh"])


@pytest.mark.parametrize(
    "text",
    [
        "how do I get a refund?",
        "Où est l'hôtel à 12 €?",
        "ＡＢＣ １２３",
        "5 µm × 3",
        "100%",
        "refund 😀",
        "two\nlines\tand more",
    ],
)
def test_latin_letters_and_what_stands_between_them_are_read_by_all(text: str) -> None:
    assert readable(text, ENGLISH)
    assert readable(text, MANY)
    assert readable(text, None)


@pytest.mark.parametrize(
    "text",
    ["怎么退货", "order 48213 怎么退货", "𠮷", "返品できますか", "반품", "как", "คืนสินค้า", "كيف"],
)
def test_other_scripts_are_read_by_embedders_of_their_languages(text: str) -> None:
    assert not readable(text, ENGLISH)
    assert readable(text, MANY)
    assert readable(text, None)


@pytest.mark.parametrize("text", ["שלום", "γειά", "नमस्ते"])
def test_a_script_of_no_language_named_is_not_read(text: str) -> None:
    assert not readable(text, MANY)
    assert readable(text, None)


@pytest.mark.parametrize(
    "text", ["", " \n", "😀🚀", "?!…", "___", "a\0b", "a\x1bb", "half a pair \ud83d"]
)
def test_a_text_that_says_nothing_or_is_broken_is_read_by_none(text: str) -> None:
    assert not readable(text, None)
    assert not readable(text, MANY)
