"""What labels show about a threshold."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.evidence import STEPS, byte, counted, least, refuted, shown, step, threshold

labels = st.lists(st.integers(0, 2 * STEPS - 1), max_size=400).map(bytes)


@pytest.mark.parametrize(
    ("similarity", "number"),
    [(0.8, 0), (0.8049, 0), (0.805, 1), (0.95, 30), (0.9999, 39), (1.0, 40), (1.0005, 40)],
)
def test_a_similarity_belongs_to_the_highest_threshold_that_it_reaches(
    similarity: float, number: int
) -> None:
    assert step(similarity) == number


@pytest.mark.parametrize("similarity", [0.7999, 0.0, -1.0, math.nan, -math.inf])
def test_what_is_below_all_thresholds_has_none(similarity: float) -> None:
    assert step(similarity) == -1


@given(st.integers(0, STEPS - 1))
def test_a_threshold_reaches_itself(number: int) -> None:
    assert step(threshold(number)) == number


def test_closed_is_above_any_similarity() -> None:
    assert threshold(STEPS) > 1.0


def test_just_enough_right_labels_show_it() -> None:
    enough = least(0.05, 0.05)
    right = bytes([byte(30, wrong=False)])

    assert shown(right * enough, 0, 0.05, 0.05) == 30
    assert shown(right * (enough - 1), 0, 0.05, 0.05) == STEPS


def test_a_threshold_stays_above_the_wrong_ones() -> None:
    right, wrong = (bytes([byte(30, wrong=False)]), bytes([byte(20, wrong=True)]))

    assert shown(right * 200 + wrong * 40, 0, 0.05, 0.05) == 30


def test_dirt_at_the_top_is_outweighed_by_what_lies_below() -> None:
    """One wrong label at the top does not close what a thousand right ones below it bear."""
    top, below = bytes([byte(40, wrong=True)]), bytes([byte(30, wrong=False)])

    assert shown(top + below * 1000, 0, 0.05, 0.05) == 30


def test_much_dirt_at_the_top_is_not_outweighed() -> None:
    """What is asked first and fails ends the search, however clean the rest is."""
    right, wrong = (bytes([byte(40, wrong=bad)]) for bad in (False, True))
    below = bytes([byte(30, wrong=False)])

    assert shown(right * 380 + wrong * 20 + below * 2000, 0, 0.05, 0.05) == STEPS


def test_a_search_may_begin_where_there_is_more_than_the_least_evidence() -> None:
    """One wrong label among the least that could suffice would end the only search."""
    enough = least(0.05, 0.05)
    top = bytes([byte(40, wrong=False)]) * (enough - 1) + bytes([byte(40, wrong=True)])

    assert shown(top + bytes([byte(30, wrong=False)]) * 300, 0, 0.05, 0.05) == 30


@given(labels, st.integers(0, STEPS - 1))
def test_nothing_below_the_floor_is_shown(found: bytes, floor: int) -> None:
    assert floor <= shown(found, floor, 0.3, 0.2)


@given(labels, st.randoms(use_true_random=False))
def test_the_order_of_labels_shows_nothing(found: bytes, chance: object) -> None:
    mixed = list(found)
    chance.shuffle(mixed)  # type: ignore[attr-defined]

    assert shown(bytes(mixed), 0, 0.3, 0.2) == shown(found, 0, 0.3, 0.2)


@given(labels)
def test_a_stricter_budget_never_shows_a_lower_threshold(found: bytes) -> None:
    assert (
        shown(found, 0, 0.1, 0.2) >= shown(found, 0, 0.3, 0.2) or shown(found, 0, 0.1, 0.2) == STEPS
    )


def test_few_wrong_ones_refute_nothing_and_many_do() -> None:
    right, wrong = (bytes([byte(30, wrong=False)]), bytes([byte(30, wrong=True)]))

    assert refuted(right * 50 + wrong * 1, 30, 0.05, 0.05) == 30
    assert refuted(right * 50 + wrong * 9, 30, 0.05, 0.05) == STEPS


def test_what_lies_above_the_wrong_ones_is_not_refuted() -> None:
    top, bottom = bytes([byte(38, wrong=False)]), bytes([byte(30, wrong=True)])

    assert refuted(top * 20 + bottom * 10, 30, 0.05, 0.05) == 38


@given(labels, st.integers(0, STEPS))
def test_each_label_from_a_step_on_counts_once(found: bytes, floor: int) -> None:
    there = [label for label in found if label >= byte(floor, wrong=False)]

    assert counted(bytearray(found), floor) == (len(there), sum(label & 1 for label in there))


def test_labels_are_counted_from_a_step_on() -> None:
    found = bytes([byte(10, wrong=True), byte(20, wrong=False), byte(30, wrong=True)])

    assert counted(found, 20) == (2, 1)
