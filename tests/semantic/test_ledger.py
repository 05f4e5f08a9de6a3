"""The bounds of the ledger, and what it makes of bytes."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.evidence import STEPS
from semantic.ledger import MAX_GROUPS, MAX_NAMES, Ledger
from semantic.protocol import Kind
from semantic.track import Track

TERMS = ("threshold", 0.05, 0.0)


def ledger(
    terms: tuple[str, float, float] = TERMS,
    *,
    shadow: bool = False,
    trusted: bool = False,
    basis: bytes = b"",
) -> Ledger:
    """An empty one."""

    def made(_: Kind) -> Track:
        return Track(terms[1], 0, trusted=trusted)

    return Ledger(made, terms, shadow=shadow, basis=basis)


def taught(found: Ledger, group: str = "g", *, right: int = 300, wrong: int = 0) -> Ledger:
    """The ledger after labels of one group."""
    for number in range(right + wrong):
        found.kept(group, "semantic").learn(30, wrong=number >= right)
    return found


def test_to_read_a_track_keeps_none() -> None:
    found = ledger()
    found.track("g", "semantic")

    assert found.state() == {}


def test_the_group_that_learnt_nothing_for_longest_goes_first() -> None:
    found = ledger()
    for number in range(MAX_GROUPS):
        found.kept(str(number), "semantic")
    found.kept("0", "semantic")
    found.kept("another", "semantic")

    assert len(found.state()) == MAX_GROUPS
    assert "0" in found.state()
    assert "1" not in found.state()


def test_a_group_that_was_refuted_goes_last() -> None:
    """Else it would be served again when it comes back."""
    found = taught(ledger(trusted=True), "bad", right=0, wrong=20)
    for number in range(MAX_GROUPS):
        found.kept(str(number), "semantic")

    assert found.track("bad", "semantic").opened == STEPS


def test_a_name_counts_once() -> None:
    found = ledger()

    assert [found.counted(b"a"), found.counted(b"a"), found.counted(b"b")] == [False, True, False]


def test_names_are_bounded() -> None:
    found = ledger()
    for number in range(MAX_NAMES + 1):
        found.counted(number.to_bytes(16, "big"))

    assert not found.counted(bytes(16))


def test_what_was_dumped_is_restored() -> None:
    found = taught(ledger(), right=500, wrong=3)
    found.counted(b"a name")
    other = ledger()

    assert other.restore(found.dump())
    assert other.dump() == found.dump()
    assert other.state() == found.state()
    assert other.counted(b"a name")


def test_labels_gathered_in_shadow_hold_under_another_budget() -> None:
    other = ledger(("threshold", 0.02, 0.0))

    assert other.restore(taught(ledger(shadow=True), right=399).dump())
    assert other.state()["g"]["semantic_labels"] == 399
    assert other.track("g", "semantic").opened == 30


@pytest.mark.parametrize(
    "terms", [("threshold", 0.02, 0.0), ("threshold", 0.05, 0.9), ("entry", 0.05, 0.0)]
)
def test_labels_gathered_while_serving_do_not(terms: tuple[str, float, float]) -> None:
    """Above the threshold they were sampled, below it not: that is no fair sample of both."""
    other = ledger(terms)

    assert not other.restore(taught(ledger()).dump())
    assert other.state() == {}


@pytest.mark.parametrize("shadow", [False, True])
def test_of_another_embedder_only_what_was_learnt_of_canonical_questions_holds(
    *, shadow: bool
) -> None:
    """Its similarities are other numbers; what was wrong about a form is as wrong as before."""
    found = taught(ledger(shadow=shadow, trusted=True, basis=b"use"))
    for _ in range(20):
        found.kept("g", "canonical").learn(40, wrong=True)
    found.counted(b"a name")
    other = ledger(shadow=shadow, trusted=True, basis=b"e5")

    assert not other.restore(found.dump())
    assert set(other.state()["g"]) == {name for name in found.state()["g"] if "canon" in name}
    assert other.track("g", "canonical").opened == STEPS
    assert other.counted(b"a name")


@given(st.binary(max_size=200))
def test_foreign_bytes_leave_it_empty(data: bytes) -> None:
    found = taught(ledger())

    assert not found.restore(data)
    assert found.state() == {}


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_damaged_bytes_leave_nothing_that_could_not_be(at: int, flip: int) -> None:
    data = bytearray(taught(ledger(), right=200, wrong=2).dump())
    data[at % len(data)] ^= flip
    found = ledger()
    if found.restore(bytes(data)):
        # A label may have become another one, which nothing can tell; but it has to work.
        taught(found, right=100, wrong=5)
        found.state()


@pytest.mark.parametrize(
    "track",
    [
        ["g", "semantic", STEPS + 1, b"", b"", 0, 0],
        ["g", "semantic", 0, bytes([2 * STEPS]), b"", 0, 0],
        ["g", "semantic", 0, bytes(10_000), b"", 0, 0],
        ["g", "semantic", 0, b"", b"", -1, 0],
        ["g", "another", 0, b"", b"", 0, 0],
    ],
)
def test_a_track_that_could_not_be_counts_as_foreign(track: list[object]) -> None:
    data = msgspec.msgpack.encode([1, TERMS, False, [], [track]])

    assert not ledger().restore(data)
