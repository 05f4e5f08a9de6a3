"""Other routers' policies, as they are published, for `route_sim`.

Each is a re-implementation from a description of the algorithm and its defaults, none is the
product's own code: what is compared are ideas, and the products may do better or worse. Where a
policy goes by what nodes hold or have to do, it is told the exact state of all nodes, including
what their queues will have changed by the time the prompt begins. That is more than any of them
would know. The one exception is `sglang tree`, which by its nature goes by its own decisions, and
takes the first of equal nodes, as it is said to.
"""

from __future__ import annotations

import random
from math import sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3

from tests.bench.route_engine import BLOCK, Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.bench.route_engine import Node, Request

    Key = Callable[[Node], float]


class Setting(NamedTuple):
    """What a policy may know of the fleet beforehand."""

    names: tuple[str, ...]
    rate: float
    """Tokens in a second that a node computes."""
    seed: int = 1


def _running(node: Node) -> float:
    return node.running


def _first(nodes: Sequence[Node]) -> int:
    """The place of the first node with the fewest requests."""
    return min(range(len(nodes)), key=lambda at: nodes[at].running)


def _uncached(node: Node, asked: Request) -> int:
    return max(0, asked.tokens - BLOCK * node.held(asked.blocks))


class Drawing(Policy):
    """Equal nodes are drawn lots for: the first of them each time would never use the others."""

    def __init__(self, setting: Setting) -> None:
        self._chance = random.Random(setting.seed)

    def least(self, nodes: Sequence[Node], key: Key, among: Sequence[int] | None = None) -> int:
        """The place of a node with the least key."""
        costs = {at: key(nodes[at]) for at in (range(len(nodes)) if among is None else among)}
        least = min(costs.values())
        return self._chance.choice([at for at, cost in costs.items() if cost == least])


class Random(Drawing):
    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        return self._chance.randrange(len(nodes))


class RoundRobin(Policy):
    def __init__(self, setting: Setting) -> None:
        self._next = 0

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        self._next += 1
        return (self._next - 1) % len(nodes)


class PowerOfTwo(Drawing):
    """Of two nodes drawn, the one with fewer requests."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        return self.least(
            nodes, _running, self._chance.sample(range(len(nodes)), min(2, len(nodes)))
        )


class LeastRequests(Drawing):
    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        return self.least(nodes, _running)


class LeastTokens(Drawing):
    """Fewest tokens yet to compute, whoever holds the prompt."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        return self.least(nodes, lambda node: node.queued)


class Hashed(Policy):
    """Consistent hashing of the first two blocks."""

    points = 160

    def __init__(self, setting: Setting) -> None:
        self._ring = sorted(
            (blake3(f"{name} {i}".encode()).digest(length=8), name)
            for name in setting.names
            for i in range(self.points)
        )

    def walk(self, asked: Request, nodes: Sequence[Node]) -> Iterator[int]:
        """Places of nodes along the ring, some of them several times."""
        block = asked.blocks[:2][-1]
        key = blake3(block.to_bytes(8, "big")).digest(length=8)
        places = {node.name: at for at, node in enumerate(nodes)}
        start = next((at for at, point in enumerate(self._ring) if point[0] >= key), 0)
        for _, name in self._ring[start:] + self._ring[:start]:
            if name in places:
                yield places[name]

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        return next(self.walk(asked, nodes))


class Bounded(Hashed):
    """Consistent hashing where a node has at most 1.25 times the mean number of requests."""

    points = 256

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        most = 1.25 * (sum(node.running for node in nodes) + 1) / len(nodes)
        walked = -1
        for at in self.walk(asked, nodes):
            if nodes[at].running <= most:
                return at
            walked = at if walked < 0 else walked
        return walked


class SGLangTree(Policy):
    """The node that was last sent the longest known beginning, where that is over 0.3 of the
    prompt; else, and whenever requests are out of balance, the fewest requests."""

    def __init__(self, setting: Setting) -> None:
        self._sent: dict[int, str] = {}
        """By block. Never full: the tree's default is larger than what the traces put in it."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        at = self._choice(asked, nodes)
        for block in asked.blocks:
            self._sent[block] = nodes[at].name
        return at

    def _choice(self, asked: Request, nodes: Sequence[Node]) -> int:
        loads = [node.running for node in nodes]
        if max(loads) - min(loads) > 64 and max(loads) > 1.5 * min(loads):
            return _first(nodes)
        places = {node.name: at for at, node in enumerate(nodes)}
        known = 0
        for block in asked.blocks:
            if self._sent.get(block) not in places:
                break
            known += 1
        if BLOCK * known > 0.3 * asked.tokens:
            return places[self._sent[asked.blocks[known - 1]]]
        return _first(nodes)


class AIBrix(Drawing):
    """The longest prefix whose node is within one deviation of the mean number of requests; fewest
    requests where these differ by more than 8."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        loads = [node.running for node in nodes]
        if max(loads) - min(loads) <= 8:
            mean = sum(loads) / len(loads)
            most = mean + sqrt(sum((load - mean) ** 2 for load in loads) / len(loads))
            depths = [node.held(asked.blocks) for node in nodes]
            for at in sorted(range(len(nodes)), key=lambda at: (-depths[at], loads[at])):
                if depths[at] and loads[at] <= most:
                    return at
        return self.least(nodes, _running)


class Dynamo(Drawing):
    """Fewest blocks: those to compute, this prompt's among them, and those that answers use."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        def cost(node: Node) -> float:
            return node.queued + _uncached(node, asked) + node.prompts

        return self.least(nodes, cost)


class Product(Drawing):
    """Tokens to compute, this prompt's among them, times requests."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        def cost(node: Node) -> float:
            return (node.queued + _uncached(node, asked)) * (node.running + 1)

        return self.least(nodes, cost)


class Blend(Drawing):
    """llm-d's older default: share of the prompt held, free memory and free queue as 2:1:1."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        low = min(node.waiting for node in nodes)
        high = max(node.waiting for node in nodes)

        def cost(node: Node) -> float:
            prefix = node.held(asked.blocks) / len(asked.blocks)
            free = 1 - min(1.0, node.prompts / (BLOCK * node.size))
            queue = (high - node.waiting) / (high - low) if high > low else 1.0
            return -(2 * prefix + free + queue)

        return self.least(nodes, cost)


class Sticky(Drawing):
    """llm-d's newer default: nodes that hold 0.80 of the prompt, unless the best of them is 18 s of
    work behind the best of all; of these the one with the fewest tokens to compute."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._gap = 18 * setting.rate

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        def cost(node: Node) -> float:
            return node.queued + _uncached(node, asked)

        sticky = [
            at
            for at, node in enumerate(nodes)
            if node.held(asked.blocks) >= 0.8 * len(asked.blocks)
        ]
        if sticky:
            gap = min(nodes[at].queued for at in sticky) - min(node.queued for node in nodes)
            if gap <= self._gap:
                return self.least(nodes, cost, sticky)
        return self.least(nodes, cost)


BASELINES: Final[dict[str, Callable[[Setting], Policy]]] = {
    "random": Random,
    "round robin": RoundRobin,
    "power of two": PowerOfTwo,
    "least requests": LeastRequests,
    "least tokens": LeastTokens,
    "hash, blocks 1-2": Hashed,
    "chwbl 1.25": Bounded,
    "sglang tree": SGLangTree,
    "aibrix": AIBrix,
    "dynamo linear": Dynamo,
    "lmetric product": Product,
    "llm-d blend": Blend,
    "llm-d sticky": Sticky,
}
