"""Blocks held, counted exactly or not at all; and what there is room for."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.blocks import Cleared, Removed, Stored, Unknown
from proxy.core.stock import Stock

GPU, CPU, WINDOW = ("GPU", 0), ("CPU", 0), ("GPU", 1)


def stored(where: tuple[str, int], blocks: int, size: int, start: int = 0) -> Stored:
    return Stored(where, tuple(range(start, start + blocks)), size)


def removed(where: tuple[str, int], blocks: int) -> Removed:
    return Removed(where, tuple(range(blocks)))


def begun(*changes: object) -> Stock:
    stock = Stock()
    stock.begin()
    stock.change(changes)
    return stock


def test_nothing_is_known_before_a_life_begins() -> None:
    stock = Stock()
    stock.change([stored(GPU, 3, 16), removed(GPU, 1)])

    assert (stock.held, stock.tokens, stock.room) == (None, 0, 0)


def test_what_is_cleared_is_known_to_be_gone() -> None:
    stock = Stock()
    cleared = stock.change([stored(GPU, 3, 16), Cleared(), stored(GPU, 2, 16)])

    assert cleared
    assert stock.held == {GPU: 2}


def test_what_was_moved_to_another_memory_may_outlive_a_clearance() -> None:
    stock = begun(stored(GPU, 3, 16), stored(CPU, 3, 16), Cleared())

    assert stock.held is None


def test_the_room_is_known_once_something_is_removed() -> None:
    stock = begun(stored(GPU, 100, 16))
    assert (stock.tokens, stock.room) == (1600, 0)
    stock.change([removed(GPU, 5), stored(GPU, 3, 16, 100)])
    assert (stock.tokens, stock.room) == (98 * 16, 1600)
    stock.change([stored(GPU, 9, 16, 103)])
    assert stock.room == 1600
    stock.change([Removed(GPU, (50,))])

    assert stock.room == 107 * 16


def test_what_is_used_again_is_not_counted_again() -> None:
    stock = begun(stored(GPU, 10, 16), stored(GPU, 10, 16), stored(GPU, 2, 16, 9))
    assert stock.held == {GPU: 11}
    stock.change([removed(GPU, 10), removed(GPU, 10)])

    assert (stock.held, stock.room) == ({GPU: 1}, 11 * 16)


def test_a_place_that_still_fills_leaves_the_room_open() -> None:
    stock = begun(stored(GPU, 10, 16), stored(CPU, 10, 16), removed(GPU, 1))
    assert stock.room == 0
    stock.change([stored(CPU, 40, 16), removed(CPU, 1)])

    assert stock.room == 40 * 16


def test_layers_that_are_kept_apart_are_not_added_up() -> None:
    stock = begun(stored(GPU, 10, 16), stored(WINDOW, 4, 16), removed(GPU, 1), removed(WINDOW, 1))

    assert (stock.tokens, stock.room) == (9 * 16, 10 * 16)


def test_a_room_outlives_a_clearance() -> None:
    stock = begun(stored(GPU, 10, 16), removed(GPU, 1), Cleared())

    assert (stock.held, stock.room) == ({}, 160)


def test_what_does_not_add_up_makes_it_unknown() -> None:
    for changes in (
        [stored(GPU, 1, 16), stored(GPU, 1, 32)],
        [stored(GPU, 1, 16), Unknown()],
        [stored((f"m{i}", 0), 1, 16) for i in range(100)],
        [stored(GPU, 600_000, 16), stored(GPU, 600_000, 16, 600_000)],
    ):
        assert begun(*changes).held is None


def test_what_was_never_stored_can_be_removed() -> None:
    """One of two copies was removed before, which counted for both."""
    stock = begun(removed(GPU, 1), stored(GPU, 2, 16), Removed(GPU, (7,)), removed(CPU, 1))

    assert (stock.held, stock.room) == ({GPU: 2}, 0)


some = st.lists(st.integers(0, 9), max_size=5).map(tuple)
changes = st.lists(
    st.builds(Stored, st.sampled_from([GPU, WINDOW]), some, st.just(16))
    | st.builds(Removed, st.sampled_from([GPU, WINDOW]), some)
    | st.builds(Cleared),
    max_size=30,
)


@given(changes)
def test_the_count_is_that_of_the_blocks(made: list[object]) -> None:
    stock = begun(*made)
    truth: dict[tuple[str, int], set[int]] = {GPU: set(), WINDOW: set()}
    most = 0
    for one in made:
        match one:
            case Stored(where, blocks, _):
                truth[where] |= set(blocks)
            case Removed(where, blocks):
                truth[where] -= set(blocks)
            case _:
                truth = {where: set() for where in truth}
        most = max(most, *map(len, truth.values()))

    assert stock.held == {where: len(blocks) for where, blocks in truth.items() if blocks}
    assert stock.room <= most * 16
