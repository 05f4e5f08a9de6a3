"""How much a node keeps is found from a guess that is far off, and then held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.capacity import Capacity

if TYPE_CHECKING:
    from collections.abc import Sequence


def corrected(ways: str, tokens: float = 100_000) -> float:
    """After reports of more (+) and of less (-)."""
    capacity = Capacity(tokens)
    for way in ways:
        (capacity.larger if way == "+" else capacity.smaller)()
    return capacity.tokens


@pytest.mark.parametrize(
    ("ways", "factors"),
    [
        ("+", [1.1]),
        ("-", [0.9]),
        ("--", [0.9, 0.9]),
        ("+++", [1.1, 1.1, 1.1]),
        ("-+", [0.9, 1.03]),
        ("+-", [1.1, 0.97]),
        ("--+-", [0.9, 0.9, 1.03, 0.97]),
        ("-+---", [0.9, 1.03, 0.97, 0.97, 0.97]),
    ],
)
def test_a_tenth_until_the_first_turn_and_then_three_hundredths(
    ways: str, factors: Sequence[float]
) -> None:
    expected = 100_000.0
    for factor in factors:
        expected *= factor

    assert corrected(ways) == pytest.approx(expected)


@pytest.mark.parametrize("guess", [1 / 8, 1 / 2, 1.0, 4.0, 16.0])
def test_it_comes_to_what_is_true_and_stays_there(guess: float) -> None:
    true = 500_000
    capacity, found = Capacity(guess * true), []
    for _ in range(200):
        (capacity.larger if capacity.tokens < true else capacity.smaller)()
        found.append(capacity.tokens / true)

    assert all(0.96 < one < 1.04 for one in found[-100:])


@given(st.lists(st.sampled_from("+-"), max_size=60), st.integers(0, 9))
def test_what_was_taken_for_no_want_of_room_is_given_back(ways: list[str], less: int) -> None:
    capacity = Capacity(10_000_000)
    for way in ways:
        (capacity.larger if way == "+" else capacity.smaller)()
    before = capacity.tokens
    capacity.confirmed()
    for _ in range(less):
        capacity.smaller()
    capacity.restored()

    # Where the least that a node may have was met, nothing is made of what was not taken.
    assert capacity.tokens == pytest.approx(before)


def test_what_does_not_adapt_is_left_alone() -> None:
    capacity = Capacity(100_000, adapts=False)
    capacity.smaller()
    capacity.larger()
    capacity.told(5)

    assert capacity.tokens == 100_000


def test_a_room_that_is_told_again_keeps_the_part_that_is_ours() -> None:
    capacity = Capacity(2_000_000)
    capacity.told(100_000)
    assert capacity.tokens == 100_000
    capacity.smaller()
    capacity.told(200_000)

    assert capacity.tokens == pytest.approx(180_000)
    capacity.told(200_000)
    assert capacity.tokens == pytest.approx(180_000)


def test_a_report_may_differ_by_a_block_of_the_nodes() -> None:
    capacity = Capacity(100_000)
    assert (capacity.slack(3000, 0), capacity.slack(3000, 1000)) == (256, 256)
    for kept in (512, 1024, 1536):
        capacity.measure(4000, 2000, kept / 2000)

    assert capacity.slack(4000, 2000) == 1024
    assert capacity.slack(4000, 0) == 256
