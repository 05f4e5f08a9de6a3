"""Whatever of an engine's batches is lost, doubled or late: what is held is known exactly or not
at all, and a life that ended is noticed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.blocks import Batch, Change, Cleared, Removed, Stored
from proxy.core.lives import VOID, Lives

if TYPE_CHECKING:
    from collections.abc import Sequence

GPU = ("GPU", 0)


def one(block: int) -> Stored:
    return Stored(GPU, (block,), 16)


def said(number: int, *changes: Change, life: int = 0, rank: int = 0) -> Batch:
    """By default one more block."""
    return Batch(1000.0 * life + number, rank, changes or (one(1000 * life + number),))


def following(*numbers: int, life: int = 0) -> Lives:
    """Has heard these, and settled for what there was."""
    lives = Lives()
    for number in numbers:
        hear(lives, number, said(number, life=life))
    return lives


def hear(
    lives: Lives, number: int, batch: Batch | None, replay: Sequence[tuple[int, Batch]] = ()
) -> list[str]:
    """As the listener does it."""
    words: list[str] = list(lives.heard(number, batch))
    due: int | None = -1
    while replay and lives.behind(number) and lives.due != due:
        due, start = lives.due, lives.asked()
        for told, kept in replay:
            if told >= start:
                words += lives.replayed(told, kept)
    if lives.behind(number):
        words += lives.settled(number, batch)
    return words


def test_batches_in_order_are_counted() -> None:
    lives = following(0, 1, 2)

    assert lives.stock.held == {GPU: 3}


def test_who_comes_late_knows_nothing_and_nothing_is_void() -> None:
    lives = Lives()

    assert hear(lives, 7, said(7)) == []
    assert hear(lives, 8, said(8)) == []
    assert lives.stock.held is None


def test_who_comes_late_learns_from_the_replay() -> None:
    lives = Lives()
    replay = [(n, said(n, Cleared(), one(n)) if n == 3 else said(n)) for n in range(9)]

    assert hear(lives, 7, said(7), replay) == []
    assert lives.stock.held == {GPU: 6}
    assert hear(lives, 8, said(8)) == ["duplicate"]
    assert hear(lives, 9, said(9)) == []
    assert lives.stock.held == {GPU: 7}


def test_a_replay_that_begins_too_late_is_no_use_to_who_comes_late() -> None:
    lives = Lives()

    assert hear(lives, 7, said(7), [(n, said(n)) for n in range(3, 7)]) == []
    assert lives.stock.held is None


def test_a_gap_that_nothing_fills_is_a_loss() -> None:
    lives = following(0, 1)

    assert hear(lives, 3, said(3)) == ["gap", "lost"]
    assert lives.stock.held is None
    assert hear(lives, 4, said(4)) == []


def test_a_gap_that_the_replay_fills_is_none() -> None:
    lives = following(0, 1)

    assert hear(lives, 4, said(4), [(n, said(n)) for n in range(6)]) == ["gap"]
    assert lives.stock.held == {GPU: 6}
    assert hear(lives, 5, said(5)) == ["duplicate"]


def test_what_was_cleared_in_a_gap_is_heard_of() -> None:
    lives = following(0, 1)
    replay = [(1, said(1)), (2, said(2, Cleared())), (3, said(3))]

    assert hear(lives, 3, said(3), replay) == ["gap", "cleared"]
    assert lives.stock.held == {GPU: 1}


@pytest.mark.parametrize("kept", [[2, 3], [1, 3], [1], [3], []])
def test_a_replay_with_holes_fills_nothing(kept: list[int]) -> None:
    """Nor does one that does not show by the last known batch that it is of the same life."""
    lives = following(0, 1)

    assert hear(lives, 4, said(4), [(n, said(n)) for n in kept]) == ["gap", "lost"]
    assert lives.stock.held is None


def test_a_gap_in_which_a_new_life_began_is_a_restart() -> None:
    lives = following(0, 1)
    replay = [(n, said(n, life=1)) for n in range(5)]

    assert hear(lives, 4, said(4, life=1), replay) == ["gap", "restart"]
    assert lives.stock.held == {GPU: 5}


@pytest.mark.parametrize("first", [0, 1, 2])
def test_a_number_that_comes_again_is_a_restart(first: int) -> None:
    lives = following(0, 1, 2)

    assert hear(lives, first, said(first, life=1)) == ["restart"]
    assert lives.stock.held == (None if first else {GPU: 1})
    assert hear(lives, first + 1, said(first + 1, life=1)) == []


def test_a_batch_that_comes_twice_is_no_restart() -> None:
    lives = following(0, 1, 2)

    assert [hear(lives, n, said(n)) for n in range(3)] == [["duplicate"]] * 3
    assert lives.stock.held == {GPU: 3}


def test_of_a_life_that_is_older_by_its_clock_nothing_is_sure() -> None:
    lives = following(0, 1, 2, life=1)

    assert hear(lives, 0, said(0, life=0)) == ["restart"]
    assert lives.stock.held is None


def test_what_cannot_be_read_costs_the_count_and_not_the_knowledge() -> None:
    lives = following(0, 1)

    assert hear(lives, 2, None) == ["garbled"]
    assert hear(lives, 3, said(3)) == []
    assert lives.stock.held is None
    assert hear(lives, 1, None) == ["garbled"]


def test_one_engine_of_several_says_nothing_of_all() -> None:
    lives = following(0, 1)

    assert lives.heard(0, said(0, rank=1)) == ("stranger",)
    assert hear(lives, 2, said(2, Cleared())) == ["cleared"]
    assert lives.stock.held is None


@dataclass
class Engine:
    """What it holds in truth, and what its replay keeps."""

    life: int = 0
    number: int = 0
    held: list[int] = field(default_factory=list)
    kept: list[tuple[int, Batch]] = field(default_factory=list)

    @property
    def blocks(self) -> int:
        return len(self.held)

    def step(self, what: str) -> tuple[int, Batch]:
        if what == "restart":
            self.life, self.number, self.held, self.kept = self.life + 1, 0, [], []
        block = 1000 * self.life + self.number
        changes: tuple[Change, ...] = (one(block),)
        if what == "remove" and self.held:
            changes = (Removed(GPU, (self.held.pop(0),)),)
        else:
            if what == "clear":
                changes, self.held = (Cleared(), one(block)), []
            self.held.append(block)
        told = self.number, said(self.number, *changes, life=self.life)
        self.number += 1
        self.kept = [*self.kept, told][-5:]
        return told


steps = st.lists(
    st.tuples(
        st.sampled_from(["store", "store", "store", "remove", "clear", "restart"]),
        st.sampled_from(["heard", "heard", "heard", "lost", "twice", "late", "garbled"]),
        st.booleans(),
    ),
    max_size=40,
)


@given(steps)
def test_the_count_is_exact_or_unknown_and_no_end_of_a_life_is_missed(
    made: list[tuple[str, str, bool]],
) -> None:
    """Batches are lost, doubled, put off and garbled; the replay has the last five, or none."""
    engine, lives = Engine(), Lives()
    late: list[tuple[int, Batch]] = []
    due, life = -1, 0
    for what, fate, replayed in made:
        number, batch = engine.step(what)
        if what == "restart":
            lives.parted()
        if fate == "late":
            late.append((number, batch))
        if fate in ("late", "lost"):
            continue
        readable = fate != "garbled"
        words = hear(lives, number, batch if readable else None, engine.kept if replayed else ())
        if readable:
            assert lives.stock.held in (None, {GPU: engine.blocks} if engine.blocks else {})
            if life != engine.life and due not in (-1, number):
                assert VOID & set(words)
            due, life = number + 1, engine.life
        elif due != -1:
            due = max(due, number + 1)
        if fate == "twice":
            assert not VOID & set(hear(lives, number, batch))
        for missed in late:
            hear(lives, *missed)
            due = -1  # what comes out of order may have been taken for a new life
        late.clear()


def test_after_a_break_the_number_that_is_due_may_be_of_another_life() -> None:
    lives, other = following(0, 1), following(0, 1)
    for both in (lives, other):
        both.parted()

    assert hear(lives, 2, said(2)) == []
    assert lives.stock.held is None
    replay = [(n, said(n, life=1)) for n in range(3)]
    assert hear(other, 2, said(2, life=1), replay) == ["restart"]
    assert other.stock.held == {GPU: 3}


def test_after_a_break_the_replay_shows_that_nothing_happened() -> None:
    lives = following(0, 1)
    lives.parted()

    assert hear(lives, 2, said(2), [(n, said(n)) for n in range(3)]) == []
    assert lives.stock.held == {GPU: 3}
    assert hear(lives, 3, said(3)) == []
    assert lives.stock.held == {GPU: 4}


@pytest.mark.parametrize(
    ("kept", "expected", "due"),
    [
        ([], ("restart",), None),
        ([(1, said(1))], (), 2),
        ([(1, said(1)), (2, said(2))], (), 3),
        # Its last ones are later than ours: of which life they are, the next batch shows.
        ([(7, said(7))], (), 2),
    ],
)
def test_a_replay_after_a_break_that_has_nothing_is_of_a_new_life(
    kept: list[tuple[int, Batch]], expected: tuple[str, ...], due: int | None
) -> None:
    lives = following(0, 1)
    lives.parted()
    assert lives.asked() == 1
    for one in kept:
        assert lives.replayed(*one) == ()

    assert lives.ended() == expected
    assert lives.due == due
    assert lives.stock.held == ({GPU: due} if due else None)


def test_nothing_is_new_without_a_break() -> None:
    lives, late = following(0, 1), Lives()
    late.parted()
    for one in (lives, late):
        one.asked()

    assert lives.ended() == late.ended() == ()
    assert hear(late, 0, said(0)) == []


def test_the_first_batch_of_a_new_life_that_the_replay_told_of_is_no_second_restart() -> None:
    lives = following(0, 1)
    lives.parted()
    lives.asked()
    assert lives.ended() == ("restart",)

    assert hear(lives, 0, said(0, life=1)) == []
    assert lives.stock.held == {GPU: 1}
