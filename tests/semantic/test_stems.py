"""Words without their endings, and in one spelling."""

from __future__ import annotations

import pytest

from semantic.spelling import spelt
from semantic.stems import base, folded


@pytest.mark.parametrize(
    ("word", "verb"),
    [
        ("making", "make"), ("descaling", "descale"), ("stopped", "stop"), ("filling", "fill"),
        ("cancelling", "cancel"), ("visiting", "visit"), ("inviting", "invite"),
        ("changing", "change"), ("wrote", "write"), ("freezing", "freeze"), ("drawn", "draw"),
        ("planned", "plan"), ("opening", "open"), ("parking", "park"), ("paid", "pay"),
        ("bring", "bring"), ("string", "string"), ("bed", "bed"), ("kettle", "kettle"),
    ],
)  # fmt: skip
def test_a_verb_without_its_ending(word: str, verb: str) -> None:
    assert base(word) == verb


@pytest.mark.parametrize(
    ("british", "american"),
    [
        ("harbour", "harbor"), ("memorise", "memorize"), ("modelling", "modeling"),
        ("theatre", "theater"), ("offence", "offense"), ("paediatric", "pediatric"),
        ("sulphate", "sulfate"), ("dialogue", "dialog"),
    ],
)  # fmt: skip
def test_one_spelling(british: str, american: str) -> None:
    assert spelt(british) == spelt(american)
    assert folded(british) == folded(american)


@pytest.mark.parametrize(
    "word", ["hour", "detour", "flour", "rise", "selling", "silence", "prologue", "daemon", ""]
)
def test_a_word_that_is_spelt_so_everywhere(word: str) -> None:
    assert spelt(word) == word
