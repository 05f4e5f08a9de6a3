"""Which node is asked: what it costs, what decides between equals, and what a lost node moves."""

from __future__ import annotations

from collections import Counter
from math import ceil, nextafter
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from proxy.core.chain import Boundary
from proxy.core.prefix import Prompt, chained
from proxy.core.route import FEW, Candidate, Choice, Ring, drawn, least, prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

PROMPT = Prompt((Boundary(b"one", 1000), Boundary(b"two", 3000), Boundary(b"three", 10_000)), 0)


def question(*texts: str, system: str = "") -> Prompt:
    """A conversation: its system text, its first question, and the rest."""
    segments = [(b"system", system.encode())] if system else []
    found = chained([], [*segments, *((b"user", text.encode()) for text in texts)])
    assert found is not None
    return found


def nodes(number: int, **more: Any) -> list[Candidate]:
    return [Candidate(f"n{at}", **more) for at in range(number)]


def chosen(choice: Choice, candidates: Sequence[Candidate]) -> str:
    return candidates[choice.at].name


candidate_lists = st.lists(
    st.builds(
        Candidate,
        st.text("abc", min_size=1, max_size=3),
        depth=st.integers(0, 3),
        queued=st.floats(0, 100_000),
        running=st.integers(0, 20),
        weight=st.floats(0.1, 10),
        penalty=st.floats(0, 10_000),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda one: one.name,
)
questions = st.builds(question, st.text("abc", min_size=1, max_size=8))


@pytest.mark.parametrize(
    ("one", "a", "cost"),
    [
        (Candidate("n"), 2.0, 30_000.0),
        (Candidate("n"), 0.0, 10_000.0),
        (Candidate("n", depth=1), 2.0, 27_000.0),
        (Candidate("n", depth=2), 2.0, 21_000.0),
        (Candidate("n", depth=3), 2.0, 0.0),
        (Candidate("n", depth=2, queued=500), 2.0, 21_500.0),
        (Candidate("n", depth=2, queued=500, running=9), 1.0, 14_500.0),
        (Candidate("n", depth=2, queued=500, weight=2.0), 2.0, 10_750.0),
        (Candidate("n", depth=2, queued=500, weight=0.5, penalty=7), 2.0, 43_007.0),
        (Candidate("n", depth=3, weight=2.0, penalty=8), 2.0, 8.0),
    ],
)
def test_a_node_costs_what_waits_there_and_what_the_prompt_adds(
    one: Candidate, a: float, cost: float
) -> None:
    assert prefix([one], PROMPT, a).costs == (cost,)


@pytest.mark.parametrize(
    ("queued", "costs", "node", "reason"),
    [(2000, (2600.0, 3000.0), "a", "hit"), (3000, (3600.0, 3000.0), "b", "spill")],
)
def test_the_example_in_the_manual_is_right(
    queued: int, costs: tuple[float, float], node: str, reason: str
) -> None:
    prompt = Prompt((Boundary(b"one", 800), Boundary(b"two", 1000)), 0)
    both = [Candidate("a", depth=1, queued=queued), Candidate("b")]
    choice = prefix(both, prompt)

    assert (choice.costs, chosen(choice, both), choice.reason) == (costs, node, reason)


def test_a_miss_costs_three_times_its_tokens_unless_told_otherwise() -> None:
    assert prefix([Candidate("n")], PROMPT) == Choice(0, "cold", (30_000.0,))


@pytest.mark.parametrize(
    ("queued", "weight", "a"),
    [
        ((8192, 8192), 1.0, 2.0),
        ((8192, 8193), 1.0, 4.0),
        ((0, 16_385), 1.0, 4.0),
        ((100_000, 0), 1.0, 4.0),
        ((16_384, 16_384), 2.0, 2.0),
        ((5000, 5000), 0.5, 4.0),
    ],
)
def test_a_miss_is_twice_as_dear_while_much_waits_at_the_mean_node(
    queued: tuple[int, int], weight: float, a: float
) -> None:
    candidates = [Candidate(f"n{one}", 0, one, weight=weight) for one in queued]
    costs = prefix(candidates, PROMPT, 2.0).costs

    assert costs == tuple([(one + (1 + a) * 10_000) / weight for one in queued])


@given(candidate_lists)
def test_the_choice_costs_hardly_more_than_the_least(candidates: list[Candidate]) -> None:
    choice = prefix(candidates, PROMPT)
    equal = [at for at, cost in enumerate(choice.costs) if cost <= min(choice.costs) + 256]

    assert len(choice.costs) == len(candidates)
    assert choice.at in equal
    assert candidates[choice.at].depth == max(candidates[at].depth for at in equal)


@given(candidate_lists, st.randoms(use_true_random=False))
def test_the_order_of_candidates_does_not_count(candidates: list[Candidate], chance: Any) -> None:
    mixed = candidates.copy()
    chance.shuffle(mixed)
    one, other = prefix(candidates, PROMPT), prefix(mixed, PROMPT)

    assert chosen(one, candidates) == chosen(other, mixed)
    assert one.reason == other.reason


def test_what_is_too_short_to_be_kept_costs_like_what_was_never_sent() -> None:
    one, other = Candidate("n", depth=1, least=1000), Candidate("n", depth=1, least=1001)

    assert prefix([one], PROMPT, 2.0) == Choice(0, "hit", (27_000.0,))
    assert prefix([other], PROMPT, 2.0) == Choice(0, "cold", (30_000.0,))


def test_a_common_beginning_that_is_too_short_to_be_kept_brings_no_two_prompts_together() -> None:
    candidates = nodes(4, depth=1, least=100_000)
    spread = {prefix(candidates, question(str(n), system="s")).at for n in range(100)}

    assert spread == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("candidates", "at", "reason"),
    [
        ([Candidate("a"), Candidate("b", queued=257)], 0, "cold"),
        ([Candidate("a"), Candidate("b", depth=1)], 1, "hit"),
        ([Candidate("a", depth=1), Candidate("b", depth=3)], 1, "hit"),
        ([Candidate("a", depth=3), Candidate("b", depth=3, queued=257)], 0, "hit"),
        ([Candidate("a"), Candidate("b", depth=3, queued=60_000)], 0, "spill"),
        ([Candidate("a", depth=1), Candidate("b", depth=3, queued=60_000)], 0, "spill"),
        # Costs within the tolerance: the deeper one, though it costs more.
        ([Candidate("a", depth=1), Candidate("b", depth=2, queued=6256)], 1, "hit"),
        ([Candidate("a", depth=1), Candidate("b", depth=2, queued=6257)], 0, "spill"),
        ([Candidate("a", depth=2, queued=6256), Candidate("b", depth=1)], 0, "hit"),
        # A faster node, and one that is far away.
        ([Candidate("a"), Candidate("b", weight=2.0)], 1, "cold"),
        ([Candidate("a", depth=3, penalty=31_000), Candidate("b")], 1, "spill"),
        ([Candidate("a", depth=3, penalty=29_000), Candidate("b")], 0, "hit"),
    ],
)
def test_the_least_cost_wins_then_the_deepest(
    candidates: list[Candidate], at: int, reason: str
) -> None:
    choice = prefix(candidates, PROMPT, 2.0)

    assert (choice.at, choice.reason) == (at, reason)


@given(questions, st.integers(2, 8), st.integers(0, 1), st.data())
def test_of_equal_nodes_a_lost_one_moves_only_its_own_prompts(
    asked: Prompt, number: int, depth: int, data: st.DataObject
) -> None:
    candidates = nodes(number, depth=depth)
    before = prefix(candidates, asked).at
    gone = data.draw(st.integers(0, number - 1))
    left = candidates[:gone] + candidates[gone + 1 :]

    assert gone == before or chosen(prefix(left, asked), left) == candidates[before].name


def test_cold_prompts_spread_evenly() -> None:
    candidates = nodes(4)
    counts = Counter(prefix(candidates, question(str(n))).at for n in range(2_000))

    assert all(400 < counts[at] < 600 for at in range(4))


@pytest.mark.parametrize(("depth", "spread"), [(0, 1), (1, 4), (2, 1)])
def test_equals_are_told_apart_by_the_first_boundary_that_none_of_them_holds(
    depth: int, spread: int
) -> None:
    """What all hold says nothing; what comes later may be another question of one conversation."""
    if depth == 2:
        prompts = [question("first", system="all have this")] * 200
    else:
        prompts = [question(f"{n}", system="all have this") for n in range(200)]

    assert len({prefix(nodes(4, depth=depth), one).at for one in prompts}) == spread


def test_what_comes_after_the_first_unknown_boundary_does_not_count() -> None:
    prompts = [question("first", str(n), system="all have this") for n in range(200)]

    assert len({prefix(nodes(4, depth=1), one).at for one in prompts}) == 1


def test_a_prompt_that_all_hold_to_its_end_has_a_place_all_the_same() -> None:
    spread = {prefix(nodes(4, depth=1), question(str(n))).at for n in range(200)}

    assert spread == {0, 1, 2, 3}


def test_nodes_that_cost_more_are_no_part_of_the_draw() -> None:
    candidates = [*nodes(2), Candidate("busy", queued=10_000)]

    assert {prefix(candidates, question(str(n))).at for n in range(100)} == {0, 1}


@pytest.mark.parametrize(
    ("running", "at"), [([0], 0), ([3, 1, 2], 1), ([2, 1, 1], 1), ([0, 0], 0), ([5, 5, 4], 2)]
)
def test_the_least_is_the_one_with_the_fewest_calls(running: list[int], at: int) -> None:
    candidates = [Candidate(str(place), running=calls) for place, calls in enumerate(running)]

    assert least(candidates) == Choice(at, "least")


@pytest.mark.parametrize("weights", [(1.0, 3.0), (3.0, 1.0), (0.5, 2.0, 1.5), (1.0, 1.0)])
def test_a_node_has_as_many_of_the_calls_as_its_weight_is_of_all(
    weights: tuple[float, ...],
) -> None:
    running = [0] * len(weights)
    for _ in range(round(4 * sum(weights))):
        pairs = enumerate(zip(running, weights, strict=True))
        running[least([Candidate(str(i), running=r, weight=w) for i, (r, w) in pairs]).at] += 1

    assert running == [4 * weight for weight in weights]


@pytest.mark.parametrize(
    ("weights", "chance", "at"),
    [
        ([1.0, 1.0], 0.0, 0),
        ([1.0, 1.0], 0.49, 0),
        ([1.0, 1.0], 0.5, 1),
        ([1.0, 3.0], 0.24, 0),
        ([1.0, 3.0], 0.25, 1),
        ([3.0, 1.0], 0.74, 0),
        ([3.0, 1.0], 0.75, 1),
        ([0.0, 1.0], 0.0, 1),
        ([1.0, 0.0, 1.0], 0.5, 2),
        ([0.7, 2.7], nextafter(1.0, 0.0), 1),
        ([0.1] * 10, nextafter(1.0, 0.0), 9),
    ],
)
def test_one_is_drawn_by_weight(weights: list[float], chance: float, at: int) -> None:
    candidates = [Candidate(str(place), weight=weight) for place, weight in enumerate(weights)]

    assert drawn(candidates, chance) == Choice(at, "random")


@given(candidate_lists, st.floats(0, 1, exclude_max=True))
def test_what_is_drawn_is_there(candidates: list[Candidate], chance: float) -> None:
    assert 0 <= drawn(candidates, chance).at < len(candidates)


def ring_of(candidates: Sequence[Candidate]) -> Ring:
    return Ring([(one.name, one.weight) for one in candidates])


RING = ring_of(nodes(8))


@given(questions, st.sets(st.integers(0, 7), max_size=7))
def test_idle_nodes_that_are_lost_move_only_their_own_keys(asked: Prompt, gone: set[int]) -> None:
    before = RING(nodes(8), asked).at
    left = [one for at, one in enumerate(nodes(8)) if at not in gone]
    after = chosen(RING(left, asked), left)

    assert before in gone or after == f"n{before}"
    assert after == chosen(ring_of(left)(left, asked), left)


@given(questions, st.randoms(use_true_random=False))
def test_the_order_of_members_does_not_count(asked: Prompt, chance: Any) -> None:
    mixed = nodes(8)
    chance.shuffle(mixed)

    assert chosen(ring_of(mixed)(mixed, asked), mixed) == f"n{RING(nodes(8), asked).at}"


@given(st.lists(st.text("abc", min_size=1, max_size=9000), min_size=1, max_size=5))
def test_all_turns_of_a_conversation_go_to_one_idle_node(turns: list[str]) -> None:
    asked = {RING(nodes(8), question(*turns[:n], system="s")).at for n in range(1, len(turns) + 1)}

    assert len(asked) == 1


def test_conversations_of_one_application_spread() -> None:
    """They begin with one system text, and are told apart by their first questions."""
    counts = Counter(RING(nodes(8), question(str(n), system="s")).at for n in range(4_000))

    assert len(counts) == 8
    assert max(counts.values()) < 1.5 * 500
    assert min(counts.values()) > 0.6 * 500


def test_a_heavier_node_takes_more() -> None:
    candidates = [Candidate("a"), Candidate("b", weight=3.0)]
    ring = ring_of(candidates)
    counts = Counter(ring(candidates, question(str(n))).at for n in range(2_000))

    assert counts[1] == pytest.approx(1_500, abs=200)


def test_the_lightest_node_has_a_place_too() -> None:
    candidates = [Candidate("a", weight=0.001), Candidate("b", weight=0.001)]
    ring = ring_of(candidates)

    assert {ring(candidates, question(str(n))).at for n in range(200)} == {0, 1}


def placed(ring: Ring, candidates: list[Candidate], asked: Sequence[Prompt]) -> list[Candidate]:
    """The candidates after these prompts, one after the other, none of them ended."""
    now = candidates.copy()
    for one in asked:
        at = ring(now, one).at
        now[at] = now[at]._replace(running=now[at].running + 1)
    return now


@given(
    st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0]), min_size=1, max_size=6),
    st.lists(st.integers(0, 3), min_size=1, max_size=60),
)
def test_no_node_has_more_than_its_share(weights: list[float], asked: list[int]) -> None:
    candidates = [Candidate(f"n{at}", weight=weight) for at, weight in enumerate(weights)]
    prompts = [question(str(number)) for number in asked]
    now = placed(ring_of(candidates), candidates, prompts)
    mean = len(asked) / sum(weights)

    assert sum(one.running for one in now) == len(asked)
    assert all(one.running <= max(FEW, ceil(1.25 * mean * one.weight + 1e-9)) for one in now)


def test_a_few_calls_drive_no_conversation_away() -> None:
    busy = [one._replace(running=0) for one in nodes(8)]
    home = RING(busy, question("hot")).at
    busy[home] = busy[home]._replace(running=FEW - 1)
    stays = RING(busy, question("hot")).at
    busy[home] = busy[home]._replace(running=FEW)

    assert stays == home
    assert RING(busy, question("hot")).at != home


def test_one_hot_conversation_overflows_to_the_next_nodes() -> None:
    now = placed(RING, nodes(8), [question("hot")] * 80)

    assert max(one.running for one in now) == ceil(1.25 * 10)
    assert chosen(RING(nodes(8), question("hot")), nodes(8)) in {
        one.name for one in now if one.running == 13
    }


@pytest.mark.parametrize("running", range(6))
@pytest.mark.parametrize("number", [1, 2, 3, 8])
def test_nodes_that_are_equally_busy_take_what_they_take_when_idle(
    number: int, running: int
) -> None:
    idle, busy = nodes(number), nodes(number, running=running)
    ring = ring_of(idle)

    for text in range(50):
        assert ring(busy, question(str(text))).at == ring(idle, question(str(text))).at


@given(st.lists(st.integers(0, 9), min_size=8, max_size=8), questions, st.randoms())
def test_the_order_of_busy_candidates_does_not_count(
    running: list[int], asked: Prompt, chance: Any
) -> None:
    busy = [Candidate(f"n{at}", running=calls) for at, calls in enumerate(running)]
    mixed = busy.copy()
    chance.shuffle(mixed)

    assert chosen(RING(mixed, asked), mixed) == chosen(RING(busy, asked), busy)


def test_a_node_that_the_ring_does_not_know_is_asked_if_there_is_no_other() -> None:
    new = [Candidate("new", running=5), Candidate("newer", running=4)]

    assert RING(new, question("a")) == Choice(1, "ring")
    assert chosen(RING([*new, Candidate("n3")], question("a")), [*new, Candidate("n3")]) == "n3"


@given(candidate_lists, questions)
def test_the_ring_always_answers(candidates: list[Candidate], asked: Prompt) -> None:
    assume(len(candidates) > 1)
    choice = ring_of(candidates[1:])(candidates, asked)

    assert 0 <= choice.at < len(candidates)
    assert choice.reason == "ring"
