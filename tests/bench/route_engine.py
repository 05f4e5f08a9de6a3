"""Nodes that compute prompts, in simulated time, and the replay of a trace over them.

Simple on purpose: a node computes one prompt at a time, first come first served, at a fixed rate
over what it has not kept, plus a little for each prompt; its answers stream beside that without
slowing it. It keeps blocks of 512 tokens, the ones used longest ago dropped first, and of one chain
the tail before the head. As prompts begin in the order in which they arrive, what a node has kept
of a prompt when it begins is settled as soon as the node is chosen.
"""

from __future__ import annotations

import gzip
import heapq
import json
import random
from collections import OrderedDict
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.core.chain import Boundary
from proxy.core.prefix import Prompt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

BLOCK: Final = 512
"""Tokens."""
RATES: Final = {"conversation": 7_000.0, "synthetic": 9_000.0}
"""Tokens of a prompt that a node computes in a second, by trace."""
_PROMPT: Final = 0.005
"""Seconds that each prompt takes besides its tokens."""
_TOKEN: Final = 0.03
"""Seconds for each token of an answer."""
_QUANTUM: Final = 3.0
"""Seconds to which times in the traces are rounded."""
_FOLDER: Final = Path(__file__).parent / "traces"


class Request(NamedTuple):
    """One line of a trace."""

    at: float
    """Seconds from the beginning of the trace."""
    tokens: int
    output: int
    blocks: tuple[int, ...]
    """Equal number, equal prompt up to here."""
    prompt: Prompt


def trace(name: str, most: int | None = None) -> list[Request]:
    """The requests of a trace that is part of the repository, or the first ones of them."""
    requests: list[Request] = []
    with gzip.open(_FOLDER / f"mooncake_{name}_trace.jsonl.gz", "rt") as lines:
        for line in lines:
            if len(requests) == most:
                break
            told = json.loads(line)
            requests.append(
                request(
                    told["timestamp"] / 1000,
                    told["input_length"],
                    told["output_length"],
                    told["hash_ids"],
                )
            )
    return requests


def request(at: float, tokens: int, output: int, blocks: Iterable[int]) -> Request:
    """A request whose prompt has a boundary after 1, 2, 4, ... blocks, and at its end."""
    blocks = tuple(blocks)
    counts = [1 << power for power in range(len(blocks).bit_length()) if 1 << power < len(blocks)]
    chain = [Boundary(_digest(blocks[count - 1]), BLOCK * count) for count in counts]
    chain.append(Boundary(_digest(blocks[-1]), tokens))
    return Request(at, tokens, output, blocks, Prompt(tuple(chain), min(1, len(chain) - 1)))


def _digest(block: int) -> bytes:
    return blake2b(block.to_bytes(8, "big"), digest_size=16).digest()


def arrivals(requests: Sequence[Request], load: float, seed: int) -> list[Request]:
    """The same requests, spread over the moments that were rounded away, `load` times as fast."""
    chance = random.Random(seed)
    moved = (
        one._replace(at=(round(one.at / _QUANTUM) + chance.uniform(0, 1)) * _QUANTUM / load)
        for one in requests
    )
    return sorted(moved, key=lambda one: one.at)


class Node:
    """One engine."""

    def __init__(self, name: str, rate: float, size: int) -> None:
        """`rate`: tokens in a second; `size`: blocks that it keeps."""
        self.name = name
        self.size = size
        self._rate = rate
        self._kept: OrderedDict[int, None] = OrderedDict()
        self._free = 0.0
        """When it has computed what it was given."""
        self.queued = 0
        """Tokens that it has yet to compute, of all prompts without a first token."""
        self.waiting = 0
        """Prompts without a first token."""
        self.running = 0
        """Requests without a last token."""
        self.prompts = 0
        """Tokens of the prompts of those requests."""

    def held(self, blocks: Sequence[int]) -> int:
        """How many blocks of the chain it will still have when it begins with it."""
        count = 0
        for block in blocks:
            if block not in self._kept:
                break
            count += 1
        return count

    def take(self, asked: Request, now: float) -> tuple[int, float]:
        """Tokens that it has kept of this prompt, and when its first token comes."""
        cached = min(asked.tokens, BLOCK * self.held(asked.blocks))
        for block in reversed(asked.blocks):
            self._kept[block] = None
            self._kept.move_to_end(block)
        while len(self._kept) > self.size:
            self._kept.popitem(last=False)
        self._free = max(self._free, now) + _PROMPT + (asked.tokens - cached) / self._rate
        return cached, self._free


class Call:
    """A request at a node."""

    __slots__ = ("arrived", "at", "cached", "first", "lost", "most", "node", "request")

    def __init__(self, asked: Request, now: float, node: Node, most: int) -> None:
        self.request = asked
        self.at = now
        self.node = node
        self.most = most
        """Blocks of the prompt that some node held."""
        self.cached, self.first = node.take(asked, now)
        self.lost = False
        """Its node died before the first token."""

    @property
    def uncached(self) -> int:
        return self.request.tokens - self.cached

    @property
    def ttft(self) -> float:
        return self.first - self.request.at

    @property
    def moved(self) -> bool:
        """Another node held more of it, and more than the block that all of a trace share."""
        return self.most > 1 and self.cached < min(self.request.tokens, BLOCK * self.most)


class Policy:
    """Chooses nodes. What happens to its calls is told to it in the order of time."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        """The place of the node to ask. Nodes are alive; their state is exact."""
        raise NotImplementedError

    def sent(self, call: Call) -> None:
        """The node that was picked has the request."""

    def first(self, call: Call, now: float) -> None:
        """The first token came, or the node died before it."""

    def done(self, call: Call, now: float) -> None:
        """The last token came, or the node died before the first one."""


class Replay:
    """A trace over some nodes."""

    def __init__(self, nodes: Sequence[Node], policy: Policy) -> None:
        self._nodes = list(nodes)
        self._policy = policy
        self._events: list[tuple[float, int, bool, Call]] = []
        """Heap of first (True) and last tokens."""
        self._count = 0
        self.calls: list[Call] = []
        """Those that got an answer."""

    def run(self, requests: Iterable[Request], killed: float | None = None) -> list[Call]:
        """All calls that were answered. `killed`: when the first node dies, for good."""
        for asked in requests:
            if killed is not None and asked.at >= killed:
                self._kill(killed)
                killed = None
            self._until(asked.at)
            self._send(asked, asked.at)
        self._until(float("inf"))
        return self.calls

    def _send(self, asked: Request, now: float) -> None:
        nodes = self._nodes
        node = nodes[self._policy.pick(asked, nodes, now)]
        call = Call(asked, now, node, max(one.held(asked.blocks) for one in nodes))
        node.queued += call.uncached
        node.waiting += 1
        node.running += 1
        node.prompts += asked.tokens
        self._policy.sent(call)
        self._push(call.first, call, first=True)

    def _push(self, at: float, call: Call, *, first: bool) -> None:
        self._count += 1
        heapq.heappush(self._events, (at, self._count, first, call))

    def _until(self, now: float) -> None:
        while self._events and self._events[0][0] <= now:
            at, _, first, call = heapq.heappop(self._events)
            if call.lost:
                continue
            if first:
                self.calls.append(call)
                self._first(call, at)
                self._push(at + _TOKEN * call.request.output, call, first=False)
            else:
                self._done(call, at)

    def _first(self, call: Call, now: float) -> None:
        call.node.queued -= call.uncached
        call.node.waiting -= 1
        self._policy.first(call, now)

    def _done(self, call: Call, now: float) -> None:
        call.node.running -= 1
        call.node.prompts -= call.request.tokens
        self._policy.done(call, now)

    def _kill(self, now: float) -> None:
        """What had no first token is sent anew; what had one is the client's loss, not ours."""
        self._until(now)
        dead = self._nodes.pop(0)
        lost = [call for _, _, first, call in sorted(self._events) if first and call.node is dead]
        for call in lost:
            call.lost = True
            self._first(call, now)
            self._done(call, now)
        for call in lost:
            self._send(call.request, now)
