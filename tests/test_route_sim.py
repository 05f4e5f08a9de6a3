"""The replay of traces: nodes compute as it is said, and other routers' policies choose so too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest

from tests.bench import route_engine, route_sim
from tests.bench.route_baselines import BASELINES, Setting
from tests.bench.route_engine import BLOCK, Node, Policy, Replay, request
from tests.bench.route_ours import Routers

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tests.bench.route_engine import Call, Request

RATE: Final = 1024.0
NAMES: Final = ("a", "b", "c")


class Fixed(Policy):
    """Always the first node that is alive."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        return 0


def asked(blocks: Iterable[int], at: float = 0.0, output: int = 0) -> Request:
    blocks = tuple(blocks)
    return request(at, BLOCK * len(blocks), output, blocks)


def alone(requests: Iterable[Request], size: int = 100) -> list[Call]:
    return Replay([Node("a", RATE, size)], Fixed()).run(requests)


def trio(size: int = 100) -> list[Node]:
    return [Node(name, RATE, size) for name in NAMES]


def chosen(policy: str, nodes: Sequence[Node], prompt: Request) -> str:
    """Names of the nodes that it chooses when it is asked again and again."""
    made = BASELINES[policy](Setting(NAMES, RATE))
    return "".join(sorted({nodes[made.pick(prompt, nodes, 0.0)].name for _ in range(50)}))


def test_a_prompt_takes_its_tokens_and_a_little() -> None:
    (call,) = alone([asked([1, 2, 3, 4])])

    assert call.ttft == pytest.approx(2.005)
    assert call.cached == 0


def test_what_two_prompts_share_is_computed_once() -> None:
    _, second = alone([asked([1, 2, 3]), asked([1, 2, 4], at=10.0)])

    assert second.cached == 2 * BLOCK
    assert second.ttft == pytest.approx(0.505)


def test_who_comes_first_is_served_first() -> None:
    _, second = alone([asked([1, 2]), asked([1, 2, 3], at=0.5)])

    assert second.cached == 2 * BLOCK
    assert second.ttft == pytest.approx(1.005 - 0.5 + 0.505)


def test_the_tail_of_the_oldest_chain_goes_first() -> None:
    node = Node("a", RATE, 5)
    node.take(asked([1, 2, 3]), 0.0)
    node.take(asked([1, 4, 5, 6]), 0.0)

    assert node.held((1, 2, 3)) == 2
    assert node.held((1, 4, 5, 6)) == 4

    node.take(asked([7]), 0.0)

    assert node.held((1, 2, 3)) == 1


def test_the_last_block_may_be_part_of_one() -> None:
    node = Node("a", RATE, 5)
    prompt = request(0.0, 700, 0, (1, 2))

    assert node.take(prompt, 0.0)[0] == 0
    assert node.take(prompt, 0.0)[0] == 700
    assert [boundary.tokens for boundary in prompt.prompt.chain] == [512, 700]


def test_boundaries_are_at_powers_of_two_and_at_the_end() -> None:
    counts = [boundary.tokens // BLOCK for boundary in asked(range(11)).prompt.chain]

    assert counts == [1, 2, 4, 8, 11]
    assert [len(asked(range(n)).prompt.chain) for n in (1, 2, 3, 4)] == [1, 2, 3, 3]


def test_answers_run_on_after_the_first_token() -> None:
    seen: list[tuple[int, int, int]] = []

    class Watch(Fixed):
        def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
            seen.append((nodes[0].queued, nodes[0].waiting, nodes[0].running))
            return 0

    Replay(trio(), Watch()).run(
        [asked([1, 2], output=10), *(asked([9], at=at) for at in (0.5, 1.1, 3.0))]
    )

    assert seen == [(0, 0, 0), (1024, 1, 1), (512, 1, 2), (0, 0, 0)]


def test_what_waits_at_a_node_that_dies_is_sent_to_another() -> None:
    requests = [asked([1, 2]), asked([3, 4]), asked([5, 6], at=5.0)]

    calls = Replay(trio(), Fixed()).run(requests, killed=1.5)

    assert [call.node.name for call in calls] == ["a", "b", "b"]
    assert [call.ttft for call in calls] == pytest.approx([1.005, 1.5 + 1.005, 1.005])


@pytest.mark.parametrize(("running", "expected"), [((3, 1, 2), "b"), ((1, 2, 1), "ac")])
def test_least_requests(running: tuple[int, ...], expected: str) -> None:
    nodes = trio()
    for node, count in zip(nodes, running, strict=True):
        node.running = count

    assert chosen("least requests", nodes, asked([1])) == expected


def test_two_that_are_drawn_are_never_the_busiest() -> None:
    nodes = trio()
    nodes[1].running = 9
    made = BASELINES["power of two"](Setting(NAMES, RATE))

    assert {nodes[made.pick(asked([1]), nodes, 0.0)].name for _ in range(50)} == {"a", "c"}


def test_chance_and_turns_reach_all() -> None:
    nodes = trio()
    for policy in ("random", "round robin"):
        made = BASELINES[policy](Setting(NAMES, RATE))
        first = [made.pick(asked([1]), nodes, 0.0) for _ in range(30)]
        assert set(first) == {0, 1, 2}
        if policy == "round robin":
            assert first[:4] == [0, 1, 2, 0]


def test_least_tokens_does_not_care_who_holds_it() -> None:
    nodes = trio()
    nodes[0].take(asked([1, 2]), 0.0)
    nodes[0].queued = 1

    assert chosen("least tokens", nodes, asked([1, 2])) == "bc"


def test_hashing_goes_by_two_blocks_and_stays_when_another_node_dies() -> None:
    nodes = trio()
    made = BASELINES["hash, blocks 1-2"](Setting(NAMES, RATE))
    places = [made.pick(asked([0, i, 7]), nodes, 0.0) for i in range(60)]

    assert set(places) == {0, 1, 2}
    assert [made.pick(asked([0, i, 8, 9]), nodes, 0.0) for i in range(60)] == places
    after = [made.pick(asked([0, i]), nodes[1:], 0.0) for i in range(60)]
    assert [at for at, old in zip(after, places, strict=True) if old] == [
        old - 1 for old in places if old
    ]


def test_a_bounded_ring_passes_over_a_full_node() -> None:
    nodes = trio()
    made = BASELINES["chwbl 1.25"](Setting(NAMES, RATE))
    home = made.pick(asked([1, 2]), nodes, 0.0)
    for node in nodes:
        node.running = 4
    nodes[home].running = 5

    assert made.pick(asked([1, 2]), nodes, 0.0) == home
    nodes[home].running = 7
    assert made.pick(asked([1, 2]), nodes, 0.0) != home


def test_the_tree_follows_what_it_sent_unless_out_of_balance() -> None:
    nodes = trio()
    made = BASELINES["sglang tree"](Setting(NAMES, RATE))
    nodes[0].running = 1
    assert made.pick(asked([1, 2, 3]), nodes, 0.0) == 1

    nodes[1].running = 64
    assert made.pick(asked([1, 2, 3, 4]), nodes, 0.0) == 1
    assert made.pick(asked([1, 7, 8, 9]), nodes, 0.0) == 2
    nodes[1].running = 65
    assert made.pick(asked([1, 2, 3, 5]), nodes, 0.0) == 2


def test_aibrix_takes_the_longest_prefix_that_is_not_too_busy() -> None:
    nodes = trio()
    nodes[0].take(asked([1, 2, 3]), 0.0)
    nodes[1].take(asked([1, 2]), 0.0)

    assert chosen("aibrix", nodes, asked([1, 2, 3])) == "a"
    nodes[0].running = 3
    assert chosen("aibrix", nodes, asked([1, 2, 3])) == "b"
    nodes[0].running, nodes[1].running = 0, 9
    assert chosen("aibrix", nodes, asked([1, 2, 3])) == "ac"
    nodes[0].running = 1
    assert chosen("aibrix", nodes, asked([1, 2, 3])) == "c"


def test_sums_products_and_blends() -> None:
    nodes = trio()
    nodes[0].take(asked([1, 2, 3, 4]), 0.0)
    prompt = asked([1, 2, 3, 4, 5])
    nodes[0].prompts, nodes[0].running = 5 * BLOCK, 1

    assert chosen("dynamo linear", nodes, prompt) == "bc"
    assert chosen("lmetric product", nodes, prompt) == "a"
    nodes[0].running = 5
    assert chosen("lmetric product", nodes, prompt) == "bc"
    nodes[0].waiting = 1
    assert chosen("llm-d blend", nodes, prompt) == "a"
    nodes[0].prompts = 70 * BLOCK
    assert chosen("llm-d blend", nodes, prompt) == "bc"


def test_a_sticky_node_is_left_when_it_is_18_seconds_behind() -> None:
    nodes = trio()
    nodes[2].take(asked([1, 2, 3, 4]), 0.0)
    nodes[2].queued = int(18 * RATE)

    assert chosen("llm-d sticky", nodes, asked([1, 2, 3, 4, 5])) == "c"
    assert chosen("llm-d sticky", nodes, asked([1, 2, 3, 4, 5, 6])) == "ab"
    nodes[2].queued += 1
    assert chosen("llm-d sticky", nodes, asked([1, 2, 3, 4, 5])) == "ab"


def test_replays_of_a_trace_agree_and_ours_waits_less_than_turns() -> None:
    fleet = route_sim.Fleet("conversation", 1.0, 4, 500, 1)
    requests = route_engine.arrivals(route_engine.trace("conversation", 400), 0.5, seed=1)

    def waits(policy: str | Routers) -> list[float]:
        made = route_sim.made(fleet, policy, 1)
        return [call.ttft for call in route_sim.replay(fleet, made, requests)]

    ours = waits(Routers())

    assert len(ours) == 400
    assert ours == waits(Routers()) == waits(Routers(number=3))
    assert sum(ours) < 0.7 * sum(waits("round robin"))


def test_routers_that_hear_of_each_other_late_or_never_wait_longer() -> None:
    fleet = route_sim.Fleet("conversation", 1.0, 4, 500, 1)
    requests = route_engine.arrivals(route_engine.trace("conversation", 800), 0.5, seed=1)

    def mean(staleness: float | None) -> float:
        made = route_sim.made(fleet, Routers(number=4, staleness=staleness), 1)
        return route_sim.measured(route_sim.replay(fleet, made, requests), 4).mean

    assert mean(0.0) < mean(1.0) < mean(None)
