"""Who holds which prefix: what is put is found, what is dropped, and what a report changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.chain import Boundary
from proxy.core.prefixes import Prefixes
from proxy.core.restart import DOUBTED, LOST

if TYPE_CHECKING:
    from collections.abc import Sequence

Chain = tuple[Boundary, ...]

NODES = ("a", "b", "c")
ENDLESS = 1e12


def chain(*names: str, size: int = 1000) -> Chain:
    """Boundaries of `size` tokens each; a boundary's name is that of its whole path."""
    return tuple(
        Boundary("/".join(names[:depth]).encode(), depth * size)
        for depth in range(1, len(names) + 1)
    )


def known(
    nodes: Sequence[str] = NODES, *, entries: int = 1_000_000, capacity: float = ENDLESS
) -> Prefixes:
    return Prefixes(nodes, entries=entries, capacity=capacity)


def depth(prefixes: Prefixes, name: str, asked: Chain) -> int:
    return prefixes.depths([name], asked)[0]


paths = st.lists(st.sampled_from("xyz"), min_size=1, max_size=5)
names = st.sampled_from(NODES)
steps = st.lists(
    st.tuples(st.just("put"), names, paths)
    | st.tuples(st.just("forget"), names, paths)
    | st.tuples(st.just("report"), names, paths, st.integers(0, 5), st.sampled_from([0, 0.5, 1])),
    max_size=40,
)


class Naive:
    """What each node holds as a set, with nothing ever dropped for want of room."""

    def __init__(self) -> None:
        self.held: dict[str, set[bytes]] = {name: set() for name in NODES}
        self.lost = dict.fromkeys(NODES, 0)
        self.epochs = dict.fromkeys(NODES, 0)

    def depths(self, asked: Chain) -> list[int]:
        return [
            max((at for at, one in enumerate(asked, 1) if one.digest in self.held[name]), default=0)
            for name in NODES
        ]

    def put(self, name: str, asked: Chain) -> None:
        self.held[name] |= {one.digest for one in asked}

    def forget(self, name: str) -> None:
        self.held[name], self.lost[name] = set(), 0
        self.epochs[name] += 1

    def report(self, name: str, asked: Chain, expected: int, cached: float) -> None:
        thought = expected * 1000
        if cached * asked[-1].tokens >= thought - 256:
            if thought:
                self.lost[name] = 0
            return
        self.lost[name] = 0 if cached else self.lost[name] + 1
        if self.lost[name] == LOST:
            self.forget(name)
            self.put(name, asked)


@given(steps, paths)
def test_it_agrees_with_sets(taken: list[tuple[object, ...]], asked: list[str]) -> None:
    prefixes, naive = known(), Naive()
    for step in taken:
        match step:
            case ("put", str(name), list(path)):
                prefixes.put(name, chain(*path))
                naive.put(name, chain(*path))
            case ("forget", str(name), list(_)):
                prefixes.forget(name)
                naive.forget(name)
            case ("report", str(name), list(path), int(expected), int() | float() as cached):
                at = min(expected, len(path))
                prefixes.report(name, chain(*path), at, cached)
                naive.report(name, chain(*path), at, cached)
            case _:
                raise AssertionError(step)

        assert prefixes.depths(NODES, chain(*asked)) == naive.depths(chain(*asked))
    for name in NODES:
        boundaries, tokens, _, epoch = prefixes.stats(name)
        assert (boundaries, epoch) == (len(naive.held[name]), naive.epochs[name])
        assert tokens == 1000 * boundaries
    for _ in range(2):
        prefixes.put("a", ())  # clears what is gone
    assert set(prefixes._owners) == set().union(*naive.held.values())
    for name in NODES:
        prefixes.forget(name)
        assert depth(prefixes, name, chain(*asked)) == 0
    prefixes.put("a", ())
    assert not prefixes._owners


@given(
    st.lists(st.tuples(names, paths), max_size=40), st.integers(0, 20), st.floats(0, 20_000), paths
)
def test_with_little_room_it_knows_less_but_nothing_wrong(
    puts: list[tuple[str, list[str]]], entries: int, capacity: float, asked: list[str]
) -> None:
    prefixes, naive = known(entries=entries, capacity=capacity), Naive()
    for name, path in puts:
        prefixes.put(name, chain(*path))
        naive.put(name, chain(*path))
        boundaries, tokens, _, _ = prefixes.stats(name)

        assert boundaries <= max(1, entries // 3)
        assert tokens == 1000 * boundaries <= capacity
    found = prefixes.depths(NODES, chain(*asked))
    assert all(one <= most for one, most in zip(found, naive.depths(chain(*asked)), strict=True))
    bits = {name: prefixes._held[name].bit for name in NODES}
    for digest, owners in prefixes._owners.items():
        holders = [name for name in NODES if digest in prefixes._held[name].boundaries]
        assert owners == sum(bits[name] for name in holders) > 0


@given(st.lists(st.tuples(names, paths), max_size=20), st.integers(1, 12))
def test_a_node_that_holds_a_boundary_holds_all_before_it(
    puts: list[tuple[str, list[str]]], entries: int
) -> None:
    prefixes = known(entries=3 * entries)
    for name, path in puts:
        prefixes.put(name, chain(*path))
    for name, path in puts:
        asked = chain(*path)
        held = [one.digest in prefixes._held[name].boundaries for one in asked]

        assert held == sorted(held, reverse=True)
        assert sum(held) == depth(prefixes, name, asked)


def test_each_node_is_told_its_own_depth_in_the_order_asked() -> None:
    prefixes = known()
    prefixes.put("a", chain("x"))
    prefixes.put("b", chain("x", "y", "z"))

    assert prefixes.depths(["c", "b", "a"], chain("x", "y", "z")) == [0, 3, 1]
    assert prefixes.depths(["a"], chain("x", "y")) == [1]
    assert prefixes.depths([], chain("x")) == []
    assert prefixes.depths(NODES, ()) == [0, 0, 0]


def test_the_deepest_boundary_counts_though_others_are_missing() -> None:
    """A long prompt knows its last boundaries only."""
    prefixes = known()
    prefixes.put("a", chain("x", "y", "z")[1:])

    assert depth(prefixes, "a", chain("x", "y", "z", "w")) == 3
    assert prefixes.stats("a")[:2] == (2, 3000)


@pytest.mark.parametrize("nodes", [1, 64, 300])
def test_any_number_of_nodes_is_told_apart(nodes: int) -> None:
    everyone = [str(number) for number in range(nodes)]
    prefixes = known(everyone)
    for at, name in enumerate(everyone):
        prefixes.put(name, chain(*"xyzw"[: at % 5]))

    assert prefixes.depths(everyone, chain(*"xyzw")) == [at % 5 for at in range(nodes)]


def test_clients_cannot_make_the_memory_grow() -> None:
    prefixes = known(("a", "b"), entries=1_000)
    for number in range(25_000):
        for name in ("a", "b"):
            prefixes.put(name, chain(f"{name}{number}", "y"))

    assert prefixes.stats("a")[:2] == (500, 500_000)
    assert len(prefixes._owners) == 1_000
    assert repr(prefixes) == "<Prefixes 1000 boundaries of 2 nodes>"


def test_a_node_holds_no_more_tokens_than_it_can() -> None:
    prefixes = known(("a",), capacity=10_500)
    for number in range(1_000):
        prefixes.put("a", chain(str(number), "y", "z"))

    assert prefixes.stats("a")[:2] == (10, 10_000)


def test_exactly_what_there_is_room_for_is_kept() -> None:
    prefixes = known(("a",), entries=3, capacity=3000)
    prefixes.put("a", chain("x", "y", "z"))

    assert prefixes.stats("a")[:2] == (3, 3000)


def test_a_prompt_beyond_all_room_is_not_kept() -> None:
    prefixes = known(("a",), capacity=1000)
    prefixes.put("a", chain("x", size=1001))

    assert prefixes.stats("a")[:2] == (0, 0)
    assert not prefixes._owners


def test_no_room_at_all_is_room_for_one() -> None:
    for prefixes in (known(entries=0), known(entries=2)):
        prefixes.put("a", chain("x", "y"))

        assert depth(prefixes, "a", chain("x", "y")) == 1
    assert repr(known((), entries=5)) == "<Prefixes 0 boundaries of 0 nodes>"


def test_the_tail_of_the_chain_used_longest_ago_is_dropped_first() -> None:
    prefixes = known(("a",), entries=6)
    old, new = chain("x", "y", "z"), chain("u", "v", "w")
    prefixes.put("a", old)
    prefixes.put("a", new)
    found = []
    for number in range(6):
        prefixes.put("a", chain(str(number)))
        found.append((depth(prefixes, "a", old), depth(prefixes, "a", new)))

    assert found == [(2, 3), (1, 3), (0, 3), (0, 2), (0, 1), (0, 0)]


def test_what_is_used_again_is_kept_longer() -> None:
    prefixes = known(("a",), entries=4)
    prefixes.put("a", chain("x", "y"))
    prefixes.put("a", chain("u", "v"))
    prefixes.put("a", chain("x", "y"))
    prefixes.put("a", chain("1", "2"))

    assert depth(prefixes, "a", chain("x", "y")) == 2
    assert depth(prefixes, "a", chain("u", "v")) == 0


def test_to_look_is_not_to_use() -> None:
    prefixes = known(("a",), entries=2)
    prefixes.put("a", chain("x"))
    prefixes.put("a", chain("y"))
    prefixes.depths(["a"], chain("x"))
    prefixes.put("a", chain("z"))

    assert depth(prefixes, "a", chain("x")) == 0


LONG = chain("x", "y", "z", "w")  # 4000 tokens


@pytest.mark.parametrize(
    ("expected", "cached", "factor"),
    [
        (4, 1.0, 1.0),
        (4, 0.936, 1.0),  # 256 tokens less
        (4, 0.935, 0.9),
        (4, 0.5, 0.9),
        (4, 0.0, 0.9),
        (2, 0.5, 1.0),
        (2, 0.813, 1.0),  # 256 tokens more than the next boundary
        (2, 0.814, 1.1),
        (2, 1.0, 1.1),
        (2, 0.4, 0.9),
        (3, 0.999, 1.0),
        (3, 1.0, 1.1),
        (0, 0.0, 1.0),
        (0, 1.0, 1.1),
    ],
)
def test_a_report_moves_the_capacity_towards_what_is_true(
    expected: int, cached: float, factor: float
) -> None:
    prefixes = known(capacity=100_000)
    prefixes.report("a", LONG, expected, cached)

    assert [prefixes.stats(name)[2] for name in NODES] == [
        pytest.approx(100_000 * factor),
        100_000,
        100_000,
    ]


def test_a_capacity_never_falls_below_what_every_node_has() -> None:
    prefixes = known(capacity=20_000)
    for _ in range(50):
        prefixes.report("a", LONG, 4, 0.5)

    assert prefixes.stats("a")[2] == 16_384


def test_a_capacity_that_rose_without_end_comes_down_again() -> None:
    """A node asked by others too has more than is known, report after report."""
    prefixes = known(capacity=100_000)
    for _ in range(30_000):
        prefixes.report("a", LONG, 0, 1.0)
    assert prefixes.stats("a")[2] == 1_000_000_000
    for _ in range(400):
        prefixes.report("a", LONG, 4, 0.5)

    assert prefixes.stats("a")[2] < 100_000


@pytest.mark.parametrize(
    ("capacity", "expected", "cached", "after"),
    [
        (1_000.0, 4, 0.5, 1_000.0),
        (1_000.0, 0, 1.0, 1_100.0),
        (2e9, 0, 1.0, 2e9),
        (2e9, 4, 0.5, 1.8e9),
        (float("inf"), 4, 0.5, float("inf")),
    ],
)
def test_a_capacity_set_beyond_the_bounds_never_moves_the_wrong_way(
    capacity: float, expected: int, cached: float, after: float
) -> None:
    prefixes = known(capacity=capacity)
    prefixes.report("a", LONG, expected, cached)

    assert prefixes.stats("a")[2] == pytest.approx(after)


def test_less_capacity_drops_what_no_longer_has_room() -> None:
    prefixes = known(capacity=20_000)
    prefixes.put("a", chain(*"abcdefghijklmnopqrst"))
    prefixes.report("a", LONG, 4, 0.5)

    assert prefixes.stats("a")[:2] == (18, 18_000)


def test_without_adapting_reports_leave_the_capacity() -> None:
    prefixes = Prefixes(NODES, entries=100, capacity=20_000, adapts=False)
    prefixes.report("a", LONG, 4, 0.5)
    prefixes.report("a", LONG, 0, 1.0)

    assert prefixes.stats("a")[2] == 20_000


def lost(*reports: tuple[int, float]) -> int:
    """The epoch after these reports on what was held."""
    prefixes = known()
    prefixes.put("a", chain("other"))
    prefixes.put("b", chain("other"))
    for expected, cached in reports:
        prefixes.put("a", LONG)
        prefixes.report("a", LONG, expected, cached)
    epoch = prefixes.stats("a")[3]
    assert prefixes.depths(NODES, chain("other")) == [0 if epoch else 1, 1, 0]
    assert depth(prefixes, "a", LONG) == 4
    return epoch


@pytest.mark.parametrize(
    ("reports", "epoch"),
    [
        ([(4, 0.0)] * (LOST - 1), 0),
        ([(4, 0.0)] * LOST, 1),
        ([(4, 0.0)] * (2 * LOST - 1), 1),
        ([(4, 0.0)] * (2 * LOST), 2),
        ([*[(4, 0.0)] * (LOST - 1), (4, 1.0), (4, 0.0)], 0),
        ([*[(4, 0.0)] * (LOST - 1), (4, 0.5), (4, 0.0)], 0),
        ([*[(4, 0.0)] * (LOST - 1), (2, 1.0), (4, 0.0)], 0),
        # Where nothing was expected, nothing is learnt.
        ([*[(4, 0.0)] * (LOST - 1), (0, 0.0), (4, 0.0)], 1),
        ([(0, 0.0)] * (2 * LOST), 0),
    ],
)
def test_a_node_that_has_nothing_of_much_again_and_again_began_anew(
    reports: list[tuple[int, float]], epoch: int
) -> None:
    assert lost(*reports) == epoch


@pytest.mark.parametrize(("said", "known_still"), [("", 0), ("usage", 1), ("events", 1)])
def test_a_node_that_could_not_be_reached_is_gone_by_if_it_will_tell(
    said: str, known_still: int
) -> None:
    prefixes = known()
    for name in "ab":
        prefixes.put(name, chain("other"))
    if said == "usage":
        prefixes.report("a", chain("other"), 0, 0.0)
    if said == "events":
        prefixes.restarts("a").tells = True
    prefixes.doubt("a")

    assert prefixes.depths(NODES, chain("other")) == [known_still, 1, 0]
    assert prefixes.epoch("a") == 1 - known_still


def test_what_is_doubted_is_settled_by_the_next_reports() -> None:
    """And its room is what it was: nothing was driven out."""
    prefixes = known(capacity=1e6)
    prefixes.put("a", chain("other"))
    prefixes.put("a", LONG)
    prefixes.report("a", LONG, 0, 0.0)
    prefixes.doubt("a")
    told = [prefixes.report("a", LONG, 4, 0.0) for _ in range(DOUBTED)]

    assert told == [*[False] * (DOUBTED - 1), True]
    assert prefixes.depths(["a"], chain("other")) == [0]
    assert prefixes.depths(["a"], LONG) == [4]
    assert prefixes.stats("a")[2] == pytest.approx(1e6)
    assert prefixes.epoch("a") == 1


def test_nodes_lose_each_on_their_own() -> None:
    prefixes = known()
    prefixes.report("a", LONG, 4, 0.0)
    prefixes.report("b", LONG, 4, 0.0)

    assert [prefixes.stats(name)[3] for name in NODES] == [0, 0, 0]


def test_little_that_is_gone_says_nothing() -> None:
    prefixes = known()
    for _ in range(5):
        prefixes.report("a", chain("x", size=256), 1, 0.0)

    assert prefixes.stats("a")[2:] == (ENDLESS, 0)


def test_a_forgotten_node_counts_its_losses_anew() -> None:
    prefixes = known()
    for _ in range(LOST - 1):
        prefixes.report("a", LONG, 4, 0.0)
    prefixes.forget("a")
    prefixes.report("a", LONG, 4, 0.0)

    assert prefixes.stats("a")[3] == 1


def test_to_forget_one_node_leaves_the_others() -> None:
    prefixes = known()
    for name in NODES:
        prefixes.put(name, LONG)
    prefixes.forget("b")

    assert prefixes.depths(NODES, LONG) == [4, 0, 4]
    assert [prefixes.stats(name)[3] for name in NODES] == [0, 1, 0]
    assert prefixes.stats("b")[:2] == (0, 0)
    for name in NODES:
        prefixes.forget(name)
    prefixes.put("a", ())
    assert not prefixes._owners


def test_what_a_forgotten_node_held_is_cleared_bit_by_bit_and_never_counts() -> None:
    prefixes = known(("a", "b"), entries=20_000)
    for number in range(5_000):
        prefixes.put("a", chain(str(number)))
        prefixes.put("b", chain(str(number)))
    prefixes.forget("a")
    prefixes.put("a", chain("7"))
    found = [depth(prefixes, name, chain("7")) for name in ("a", "b")]
    others = [depth(prefixes, "a", chain(str(number))) for number in range(5_000)]
    for _ in range(6):
        prefixes.put("a", chain("7"))
    bits = prefixes._held["a"].bit

    assert found == [1, 1]
    assert sum(others) == 1
    assert sum(bool(owners & bits) for owners in prefixes._owners.values()) == 1
    assert not prefixes._gone


def test_a_chain_that_no_prompt_has_frees_no_room() -> None:
    prefixes = known(capacity=5000)
    prefixes.put("a", (Boundary(b"deep", 1_000_000), Boundary(b"shallow", 0)))
    for i in range(10):
        prefixes.put("a", chain(f"{i}"))

    assert prefixes.stats("a")[:2] == (5, 5000)


def test_the_room_that_a_node_tells_takes_the_place_of_the_estimate() -> None:
    prefixes = Prefixes(NODES, entries=1000, capacity=2_000_000)
    for name in "vwxyz":
        prefixes.put("a", chain(name, size=1000))
    prefixes.room("a", 3000)

    assert [depth(prefixes, "a", chain(name)) for name in "vwxyz"] == [0, 0, 1, 1, 1]
    prefixes.room("a", 40_000)
    assert prefixes.stats("a")[2] == 40_000


def test_reports_correct_a_node_below_its_room_only() -> None:
    prefixes = Prefixes(NODES, entries=1000)
    prefixes.room("a", 100_000)
    long = chain("x", "y", size=5000)
    for _ in range(5):
        prefixes.report("a", long, 0, 1.0)
    assert prefixes.stats("a")[2] == 100_000
    prefixes.report("a", long, 2, 0.1)
    assert prefixes.stats("a")[2] == pytest.approx(97_000)
    for _ in range(5):
        prefixes.report("a", long, 0, 1.0)
    assert prefixes.stats("a")[2] == 100_000


def test_what_others_keep_at_a_node_is_not_forgotten_with_its_next_room() -> None:
    prefixes = Prefixes(NODES, entries=1000)
    prefixes.room("a", 100_000)
    prefixes.report("a", chain("x", size=5000), 1, 0.1)
    prefixes.room("a", 110_000)

    assert prefixes.stats("a")[2] == pytest.approx(99_000)


def test_a_room_is_told_in_the_nodes_own_tokens() -> None:
    """Four bytes are a token here; of another script, or of pictures, a node counts otherwise."""
    prefixes = Prefixes(NODES, entries=1000)
    prefixes.room("a", 100_000)
    for _ in range(50):
        prefixes.report("a", chain("x", size=5000), 0, 0.0, 2500)
    assert prefixes.stats("a")[2] == pytest.approx(200_000, rel=0.01)
    prefixes.report("a", chain("x", size=5000), 0, 0.0, 10**400)
    assert prefixes.stats("a")[2] == 100_000 / 16


TURNS = ((0, 569), (512, 614), (512, 659), (512, 705), (512, 756), (512, 844), (1024, 1101))
"""Tokens kept and in all, of the turns of a conversation, as vLLM 0.32 says it that keeps blocks of
512 tokens. Nothing was dropped between them."""


def conversation(prefixes: Prefixes, turns: Sequence[tuple[int, int]], ratio: float = 1.5) -> None:
    """Each turn adds to the prompt; we count `ratio` tokens for each of the node's."""
    asked: Chain = ()
    for kept, total in turns:
        expected = len(asked)
        asked = (*asked, Boundary(f"{total}".encode(), round(ratio * total)))
        prefixes.put("a", asked)
        prefixes.report("a", asked, expected, kept / total, total)


def test_a_part_of_a_block_that_is_not_kept_says_nothing_of_the_room() -> None:
    prefixes = known(capacity=100_000)
    conversation(prefixes, TURNS)

    assert prefixes.stats("a")[2] == 100_000


def test_a_block_that_is_not_kept_does() -> None:
    prefixes = known(capacity=100_000)
    conversation(prefixes, [*TURNS, (512, 1300)])

    assert prefixes.stats("a")[2] == pytest.approx(90_000)


def test_a_node_that_keeps_single_tokens_is_taken_at_its_word() -> None:
    """As llama.cpp does it: 300 tokens less are not there any more."""
    prefixes = known(capacity=100_000)
    conversation(prefixes, [(0, 569), (569, 614), (614, 659), (659, 1200), (900, 1300)], 1.0)

    assert prefixes.stats("a")[2] == pytest.approx(90_000)


def test_a_node_that_keeps_large_blocks_is_not_lost_by_prompts_that_fill_none() -> None:
    prefixes = known()
    conversation(prefixes, TURNS)
    for number in range(2 * LOST):
        asked = chain(f"short {number}", size=600)
        prefixes.report("a", asked, 1, 0.0, 400)

    assert prefixes.stats("a")[2:] == (ENDLESS, 0)
