"""One thing for another in texts of one wording."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.exchanged import exchanged

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=30)
REST = "take one after each meal with water and rest for some hours then call us again"
THEIRS = "drug helps h drug hurts b drug kills c d e f g"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (f"aspirin {REST}", f"ibuprofen {REST}", True),
        (f"{REST} aspirin", f"{REST} new medicine", True),
        (f"colour {REST}", f"color {REST}", False),
        (REST, f"please {REST}", False),
        (REST, REST, False),
        ("", "", False),
        ("x", "", False),
        # A third of it is other words: what stands for what cannot be told from one place.
        (f"aspirin {REST} a b c d e f", f"ibuprofen {REST} g h i j k l", False),
        # Each time that it is named, and nowhere else.
        ("aspirin helps a aspirin hurts b aspirin kills c d e f g", THEIRS, True),
        ("aspirin helps a aspirin hurts b aspirin kills c d e f g drug", THEIRS, False),
        # Most of it is other words.
        ("aspirin helps a b aspirin hurts c d", "drug helps e f drug hurts g h", False),
        # For each other.
        (f"reads get fast and writes slow {REST}", f"writes get fast and reads slow {REST}", True),
    ],
)
def test_cases(one: str, other: str, *, expected: bool) -> None:
    assert exchanged(one.split(), other.split()) is expected
    assert exchanged(other.split(), one.split()) is expected


@given(WORDS)
def test_nothing_is_exchanged_in_a_text_itself(words: list[str]) -> None:
    assert not exchanged(words, words)


@given(WORDS, WORDS)
def test_it_is_the_same_both_ways(one: list[str], other: list[str]) -> None:
    assert exchanged(one, other) == exchanged(other, one)


@given(st.lists(st.integers(0, 10**6).map(str), min_size=20, max_size=60, unique=True), st.data())
def test_a_name_for_a_name_is_found_wherever_it_stands(
    words: list[str], data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(words) - 1))

    assert exchanged(words, [*words[:place], "another", *words[place + 1 :]])
