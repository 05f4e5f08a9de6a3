"""Which node is asked: one pure choice out of candidates, by policy.

The default charges each candidate the work that waits there and the work that this prompt would
add: `queued + (1 + a) * uncached`, both in tokens; `a` is doubled while all have much to do. That
was chosen by replay (tests/bench/route_sim).
"""

from __future__ import annotations

from math import ceil, fsum
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias

import msgspec
from blake3 import blake3

from proxy.core.chain import MOST, Digest
from proxy.core.progress import State

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.core.prefix import Prompt

    Cost: TypeAlias = Callable[["Candidate", Prompt], float]

Reason: TypeAlias = Literal["hit", "spill", "cold", "ring", "least", "random"]
"""hit: the node holds as much of the prompt as any; spill: another holds more, and has more to do;
cold: none holds anything."""

A: Final = 2.0
"""What a miss costs those who wait behind it and those whose prefixes it drives out."""
BUSY: Final = 8192.0
"""Tokens; where more wait at the mean node, a miss is twice as dear: more wait behind it, and with
so many prompts on their way more is driven out."""
_TIE: Final = 256.0
"""Tokens; costs that differ by less are equal: a node computes so many while its load is told."""
_LOAD: Final = 1.25
"""A node of the ring takes up to this times the mean load, rounded up: so one always has room."""
FEW: Final = 4
"""And so many calls in any case: of a few the mean says nothing, and conversations would drive each
other from node to node."""
_POINTS: Final = 128
"""Of each node on the ring, at weight 1."""


COMPUTING: Final = 8
"""Of the prompts that a node computes, so many are told others."""


class Candidate(NamedTuple):
    """A node that could be asked now."""

    name: str
    depth: int = 0
    """Boundaries of the prompt that it holds."""
    queued: float = 0.0
    """Tokens that it has yet to compute for others."""
    running: int = 0
    weight: float = 1.0
    """How fast it is, beside the others."""
    penalty: float = 0.0
    """Tokens that it costs to go there at all, such as to another zone."""
    least: int = 0
    """Tokens; a beginning that is shorter is not kept, whatever it was sent."""

    def kept(self, prompt: Prompt) -> int:
        """Tokens of it that it need not compute."""
        tokens = prompt.chain[self.depth - 1].tokens if self.depth else 0
        return tokens if tokens >= self.least else 0


class Load(NamedTuple):
    """What a gateway has waiting at a node."""

    queued: Annotated[float, msgspec.Meta(ge=0, le=MOST)]
    """Tokens of calls without a first byte that the node had yet to compute when it was asked."""
    running: Annotated[int, msgspec.Meta(ge=0, le=MOST)]
    state: State = State()
    """How long it has been at it."""
    computing: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=COMPUTING)] = ()
    """The boundaries from which on it computes prompts just now, of some of them."""


class Considered(msgspec.Struct, frozen=True):
    """A node that could have been asked."""

    node: str
    cost: float | None
    """In tokens; None: the policy goes by something else."""
    cached: int
    """Tokens of the prompt that it was thought to hold."""
    queued: int
    """Tokens that it had yet to compute."""
    running: int


class Decision(msgspec.Struct):
    """Why a call went where it went."""

    at: float
    """Unix seconds."""
    model: str
    prefix: str
    """8 hex digits of the conversation's fingerprint."""
    tokens: int
    """Of the prompt, estimated."""
    node: str
    reason: str
    considered: tuple[Considered, ...] = ()
    request: str = ""
    """The id of the request that it was made for."""
    answer: str = ""
    """The id that the node gave its answer, which is what the client sees; empty: none."""
    reported: int | None = None
    """Tokens that the node says it had kept, in the measure of `tokens`; None: it did not say."""


class Choice(NamedTuple):
    """The node to ask, and why."""

    at: int
    """Its place among the candidates."""
    reason: Reason
    costs: tuple[float, ...] = ()
    """Of each candidate, in tokens; what other policies than `prefix` go by has no costs."""


def prefix(candidates: Sequence[Candidate], prompt: Prompt, a: float = A) -> Choice:
    """The least cost; equal ones by what they hold, then by rendezvous hashing."""
    if fsum([one.queued / one.weight for one in candidates]) > BUSY * len(candidates):
        a *= 2
    held, total = [one.kept(prompt) if one.depth else 0 for one in candidates], prompt.tokens
    costs = [
        (one.queued + (1 + a) * (total - kept)) / one.weight + one.penalty
        for one, kept in zip(candidates, held, strict=True)
    ]
    limit = min(costs) + _TIE
    equal = [at for at, cost in enumerate(costs) if cost <= limit]
    deepest = max(held[at] for at in equal)
    equal = [at for at in equal if held[at] >= deepest - _TIE]
    chosen = equal[0] if len(equal) == 1 else _meeting(equal, candidates, prompt)
    most = max(held)
    reason: Reason = "cold" if not most else "hit" if held[chosen] == most else "spill"
    return Choice(chosen, reason, tuple(costs))


def _meeting(equal: Sequence[int], candidates: Sequence[Candidate], prompt: Prompt) -> int:
    """By rendezvous hashing on the first boundary that none of them holds: what many prompts have
    in common, such as a system prompt, does not bring them all to one node. A session that the
    client names stays together."""
    deepest = max(candidates[at].depth for at in equal)
    key = prompt.chain[min(deepest, len(prompt.chain) - 1)][0]
    if session := prompt.hints.session:
        key = blake3(session.encode("utf-8", "surrogatepass")).digest(length=16)
    return max(equal, key=lambda at: _score(key, candidates[at]))


def near(candidates: Sequence[Candidate]) -> list[int]:
    """The places of those that it costs least to go to at all: of this zone, if any is."""
    lowest = min(one.penalty for one in candidates)
    return [at for at, one in enumerate(candidates) if one.penalty == lowest]


def least(candidates: Sequence[Candidate]) -> Choice:
    """The one with the fewest calls for its weight, this one counted in; of several, the first."""

    def share(at: int) -> float:
        return (candidates[at].running + 1) / candidates[at].weight

    return Choice(min(range(len(candidates)), key=share), "least")


def drawn(candidates: Sequence[Candidate], chance: float) -> Choice:
    """Any one, by weight. `chance`: uniform in [0, 1)."""
    left = chance * sum(one.weight for one in candidates)
    for at, one in enumerate(candidates):
        left -= one.weight
        if left < 0:
            return Choice(at, "random")
    return Choice(len(candidates) - 1, "random")


class Ring:
    """Consistent hashing with bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2018)."""

    def __init__(self, nodes: Sequence[tuple[str, float]]) -> None:
        """`nodes`: names and weights."""
        points = [
            (int.from_bytes(blake3(f"{name}\0{i}".encode()).digest(length=8), "big"), name)
            for name, weight in nodes
            for i in range(max(1, round(_POINTS * weight)))
        ]
        self._points = sorted(points)

    def __call__(self, candidates: Sequence[Candidate], prompt: Prompt) -> Choice:
        """The first node from the conversation's place on that has no more than its share of the
        load, this call counted in."""
        key = int.from_bytes(prompt.chain[prompt.anchor][0][:8], "big")
        places = {one.name: at for at, one in enumerate(candidates)}
        weights = sum(one.weight for one in candidates)
        mean = (sum(one.running for one in candidates) + 1) / weights
        start = self._after(key)
        for i in range(len(self._points)):
            name = self._points[(start + i) % len(self._points)][1]
            at = places.get(name)
            if at is not None:
                one = candidates[at]
                if one.running < max(FEW, ceil(_LOAD * mean * one.weight)):
                    return Choice(at, "ring")
        return Choice(least(candidates).at, "ring")

    def _after(self, key: int) -> int:
        low, high = 0, len(self._points)
        while low < high:
            middle = (low + high) // 2
            if self._points[middle][0] < key:
                low = middle + 1
            else:
                high = middle
        return low


def _score(key: bytes, one: Candidate) -> bytes:
    return blake3(key + one.name.encode()).digest(length=8)


def considered(
    candidates: Sequence[Candidate], costs: Sequence[float], prompt: Prompt | None
) -> tuple[Considered, ...]:
    """The candidates as an operator sees them. `costs`: empty where the policy has none."""
    return tuple(
        Considered(
            one.name,
            cost,
            0 if prompt is None else one.kept(prompt),
            round(one.queued),
            one.running,
        )
        for one, cost in zip(candidates, costs or (None,) * len(candidates), strict=True)
    )
