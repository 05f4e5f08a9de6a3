"""What a gateway writes into the fleet's table: once what is new, and never of an earlier life."""

from __future__ import annotations

from itertools import pairwise
from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from proxy.core.chain import Boundary
from proxy.core.table import SIZE, News, Part, Row, Table, packed, unpacked

digests = st.binary(min_size=16, max_size=16)
words = st.integers(0, (1 << 32) - 1)


def chain(*names: str, size: int = 100) -> tuple[Boundary, ...]:
    return tuple(
        Boundary("/".join(names[: at + 1]).encode().rjust(16, b"."), (at + 1) * size)
        for at in range(len(names))
    )


def table(*nodes: str, entries: int = 1000) -> Table:
    """One that knows these nodes to be in their first life."""
    made = Table(entries)
    for node in nodes or ("a", "b"):
        assert not made.found(node, 0)
    return made


def written(parts: list[Part]) -> dict[str, list[tuple[str, int, int]]]:
    """By node what is written: the end of its path, tokens, and how long it is kept."""
    return {
        part.node: [
            (row.digest.decode().strip(".")[-1], row.tokens, row.lives)
            for data in part.rows
            for row, _ in unpacked(data + bytes(8))
        ]
        for part in parts
    }


@given(digests, words, words)
def test_a_row_is_read_as_it_was_written(digest: bytes, tokens: int, lives: int) -> None:
    row = Row(digest, tokens, lives)

    assert unpacked(2 * (packed(row) + pack(">d", 1.5))) == [(row, 1.5)] * 2
    assert len(packed(row)) == SIZE == 24


def test_what_is_too_large_for_a_row_is_the_largest() -> None:
    most = (1 << 32) - 1

    assert packed(Row(b"x" * 16, 1 << 40, 1 << 33)) == packed(Row(b"x" * 16, most, most))


def test_of_a_next_turn_only_what_it_adds_is_written() -> None:
    """The deepest first, as the mirror keeps them; each with the tokens since the one before."""
    one = table()
    one.note([News("a", chain("x", "y"))], 0.0)
    first = written(one.take(100))
    one.note([News("a", chain("x", "y", "z"))], 1.0)

    assert first == {"a": [("y", 100, 0), ("x", 100, 0)]}
    assert written(one.take(100)) == {"a": [("z", 100, 0)]}


def test_another_node_is_another_matter() -> None:
    one = table()
    one.note([News("a", chain("x")), News("b", chain("x"))], 0.0)

    assert written(one.take(100)) == {"a": [("x", 100, 0)], "b": [("x", 100, 0)]}


def test_what_is_used_on_is_written_again_after_a_while() -> None:
    """After half a minute at the earliest, after a minute at the latest."""
    one, at = table(), []
    for second in range(200):
        one.note([News("a", chain("x"))], float(second))
        if one.take(100):
            at.append(second)

    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert at[0] == 0
    assert gaps
    assert all(30 <= gap <= 60 for gap in gaps)


def test_what_is_kept_for_a_time_is_written_at_each_use() -> None:
    one, seen = table(), []
    for second in range(3):
        one.note([News("a", chain("x"), 300.7)], float(second))
        seen += one.take(100)

    assert written(seen[:1]) == {"a": [("x", 100, 300)]}
    assert len(seen) == 3


def test_what_lives_for_less_than_a_second_is_not_kept_for_ever() -> None:
    one = table()
    one.note([News("a", chain("x"), 0.2)], 0.0)

    assert written(one.take(100)) == {"a": [("x", 100, 1)]}


def test_so_many_at_once_and_the_rest_later() -> None:
    one = table()
    one.note([News("a", chain("x", "y", "z"))], 0.0)

    assert [written(one.take(2)), written(one.take(2)), one.take(2)] == [
        {"a": [("z", 100, 0), ("y", 100, 0)]},
        {"a": [("x", 100, 0)]},
        [],
    ]


def test_what_does_not_fit_is_left_for_its_next_use() -> None:
    one, long = table(), chain(*map(str, range(512)))
    for i in range(40):
        one.note(
            [
                News(
                    "a",
                    tuple(b._replace(digest=b"%16d" % (i * 512 + at)) for at, b in enumerate(long)),
                )
            ],
            0.0,
        )
    waiting = sum(len(part.rows) for part in one.take(1 << 20))
    one.note([News("a", (Boundary(b"%16d" % (39 * 512), 5),))], 0.0)

    assert waiting == 1 << 14
    assert [len(part.rows) for part in one.take(10)] == [1]


def test_what_is_remembered_as_written_is_bounded() -> None:
    one = table(entries=10)
    for i in range(100):
        one.note([News("a", (Boundary(b"%16d" % i, 5),))], 0.0)
    one.take(1000)
    for i in range(100):
        one.note([News("a", (Boundary(b"%16d" % i, 5),))], 0.0)

    assert sum(len(part.rows) for part in one.take(1000)) >= 80


def test_of_a_node_whose_life_is_not_known_nothing_is_written_yet() -> None:
    one = Table(1000)
    one.note([News("a", chain("x"))], 0.0)
    assert one.take(100) == []
    one.found("a", 7)

    assert [(part.node, part.epoch, len(part.rows)) for part in one.take(100)] == [("a", 7, 1)]


def test_what_was_learned_in_an_earlier_life_is_not_written() -> None:
    one = table()
    before = News("a", chain("x"))
    one.note([before], 0.0)
    number = one.began("a")
    one.note([before, News("a", chain("y"), epoch=number), News("b", chain("x"))], 0.0)

    assert number == 1
    assert written(one.take(100)) == {"a": [("y", 100, 0)], "b": [("x", 100, 0)]}


def test_a_new_life_is_written_though_nothing_is_held_in_it() -> None:
    """Again where it may have been lost."""
    one, seen = table(), []
    one.began("a")
    seen += [one.take(100), one.take(100)]
    one.lost()
    seen += [one.take(100)]

    assert seen == [[Part("a", 1, ())], [], [Part("a", 1, ())]]


def test_in_a_new_life_all_is_new() -> None:
    one = table()
    one.note([News("a", chain("x"))], 0.0)
    one.take(100)
    one.began("a")
    one.note([News("a", chain("x"), epoch=1)], 0.0)

    assert [(part.epoch, len(part.rows)) for part in one.take(100)] == [(1, 1)]


def test_two_who_find_out_the_same_give_it_the_same_number() -> None:
    one, other = table(), table()
    told = one.began("a")

    assert other.began("a") == told
    assert not other.heard("a", told)


@given(st.lists(st.integers(0, 5), max_size=8), st.randoms())
def test_in_whatever_order_lives_are_heard_of_the_last_one_counts(
    told: list[int], random: object
) -> None:
    one, other = table("a"), table("a")
    for epoch in told:
        one.heard("a", epoch)
    for epoch in sorted(told):
        other.found("a", epoch)

    assert one.epoch("a") == other.epoch("a") == max([0, *told])


def test_the_first_word_of_the_table_voids_nothing() -> None:
    """Who starts knows no earlier life."""
    one = Table(10)

    assert [one.found("a", 3), one.found("a", 3), one.found("a", 4)] == [False, False, True]
    assert one.heard("b", 0)


def test_what_may_be_lost_is_written_again() -> None:
    one = table()
    one.note([News("a", chain("x"))], 0.0)
    one.take(100)
    one.lost()
    one.note([News("a", chain("x"))], 1.0)

    assert written(one.take(100)) == {"a": [("x", 100, 0)]}
    assert repr(one) == "<Table 0 rows to write, 2 lives known>"
