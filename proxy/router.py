"""Chooses a node for each call, and keeps in mind what the nodes hold and have yet to compute."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import msgspec

from proxy.config import Routing
from proxy.core.events import PrefixReported, Routed
from proxy.core.prefixes import Prefixes
from proxy.core.route import Candidate, Choice, Reason, Ring, drawn, least, prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.core.prefix import Prompt
    from proxy.node import Node
    from proxy.ports import Clock, Emit

    Why: TypeAlias = Reason | Literal["only", "failover"]
    """only: there was no other; failover: another could not answer."""

_PROMPTED: Final = frozenset(("prefix", "ring"))
"""Policies that go by the prompt."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What a call may be given a place at."""

    nodes: tuple[Node, ...]
    model: str | None
    """None: it is about no model, so no breaker speaks for it."""
    tenant: bytes
    sticky: bool
    """Whether the first node counts more than a free one."""
    prompt: Prompt | None = None
    """None: it has none, or no choice depends on it."""

    def without(self, node: Node) -> Wish:
        return replace(self, nodes=tuple([n for n in self.nodes if n is not node]))


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
    considered: tuple[Considered, ...]
    reported: int | None = None
    """Tokens that the node says it had kept, in the measure of `tokens`; None: it did not say."""


class Pick(NamedTuple):
    """A node, and what speaks for it."""

    node: Node
    reason: Why
    prompt: Prompt | None = None
    depth: int = 0
    """Boundaries of the prompt that it is thought to hold."""
    considered: tuple[Considered, ...] = ()


class Route:
    """A call on its way to a node: what it has to compute counts as its load until its first
    byte."""

    def __init__(self, router: Router, pick: Pick, decision: Decision | None) -> None:
        self.reason = pick.reason
        self._router, self._pick, self._decision = router, pick, decision
        total = 0 if pick.prompt is None else pick.prompt.tokens
        self.cached = _tokens(pick)
        """Tokens of the prompt that the node is thought to hold."""
        self.routed = pick.prompt is not None
        """Whether what the node reports is of use."""
        self._queued = total - self.cached
        pick.node.queued += self._queued

    def computed(self) -> None:
        """The prompt is computed, or the call is over: only the first time counts."""
        self._pick.node.queued -= self._queued
        self._queued = 0

    def report(self, cached: float) -> None:
        """The node says what share of the prompt it had kept, in [0, 1]."""
        self._router.reported(self._pick, cached)
        if self._decision is not None and self._pick.prompt is not None:
            self._decision.reported = round(cached * self._pick.prompt.tokens)

    def lost(self) -> None:
        """The node could not be reached: when it is there again, it begins anew."""
        self._router.lost(self._pick.node)


class Router:
    """Routes calls, by policy."""

    def __init__(
        self,
        nodes: Sequence[Node],
        clock: Clock,
        emit: Emit,
        *,
        settings: Routing | None = None,
        zone: str = "local",
        chance: Callable[[], float] | None = None,
    ) -> None:
        """`zone`: this gateway's. `chance`: uniform in [0, 1)."""
        self._settings = settings = settings or Routing()
        self._clock, self._emit = clock, emit
        self._zone = zone
        self._prefixes = Prefixes([node.name for node in nodes], entries=settings.table_entries)
        self._ring = Ring([(node.name, node.weight) for node in nodes])
        self._chance = chance or Random().random
        self._decisions: deque[Decision] = deque(maxlen=settings.decisions)
        self.prompted = settings.policy in _PROMPTED
        """Whether it goes by the prompt."""

    def pick(self, free: Sequence[Node], wish: Wish) -> Pick:
        """The one to ask of those nodes that have a place `free`."""
        prompt, names = wish.prompt, [node.name for node in wish.nodes]
        held = [0] * len(names) if prompt is None else self._prefixes.depths(names, prompt.chain)
        depths = dict(zip(names, held, strict=True))
        if len(names) == 1:
            return Pick(free[0], "only", prompt, held[0])
        candidates = [self._candidate(node, depths[node.name]) for node in free]
        choice = self._choice(candidates, prompt)
        node, why = free[choice.at], choice.reason
        if why in ("hit", "cold") and depths[node.name] < max(held):
            why = "spill"  # of those that could not be had, one holds more
        considered = _considered(candidates, choice, prompt)
        return Pick(node, why, prompt, depths[node.name], considered)

    def begin(self, pick: Pick, wish: Wish) -> Route:
        """The call is made: from now on the node will hold the prompt."""
        prompt, decision = pick.prompt, None
        if prompt is not None:
            self._prefixes.put(pick.node.name, prompt.chain)
            decision = Decision(
                self._clock.now(),
                wish.model or "",
                prompt.chain[prompt.anchor].digest[:4].hex(),
                prompt.tokens,
                pick.node.name,
                pick.reason,
                pick.considered,
            )
            self._decisions.append(decision)
        if pick.considered:
            self._emit(Routed(pick.node.name, pick.reason))
        return Route(self, pick, decision)

    def reported(self, pick: Pick, cached: float) -> None:
        """A node told what share of a prompt it had kept."""
        if (prompt := pick.prompt) is None:
            return
        self._prefixes.report(pick.node.name, prompt.chain, pick.depth, cached)
        told = round(cached * prompt.tokens)
        self._emit(PrefixReported(pick.node.name, _tokens(pick), told, prompt.tokens))

    def lost(self, node: Node) -> None:
        """A node holds nothing any more."""
        self._prefixes.forget(node.name)

    def decisions(self) -> list[Decision]:
        """The last ones, newest first."""
        return list(reversed(self._decisions))

    def _choice(self, candidates: Sequence[Candidate], prompt: Prompt | None) -> Choice:
        match self._settings.policy:
            case "random":
                return drawn(candidates, self._chance())
            case "ring" if prompt is not None:
                return self._ring(candidates, prompt)
            case "prefix" if prompt is not None:
                return prefix(candidates, prompt, self._settings.miss_weight)
            case _:
                return least(candidates)

    def _candidate(self, node: Node, depth: int) -> Candidate:
        away = node.zone != self._zone
        penalty = self._settings.zone_penalty if away else 0.0
        return Candidate(node.name, depth, node.queued, node.running, node.weight, penalty)

    def __repr__(self) -> str:
        return f"<Router {self._settings.policy} {self._prefixes!r}>"


def _tokens(pick: Pick) -> int:
    """What the node is thought to hold of the prompt."""
    return pick.prompt.chain[pick.depth - 1].tokens if pick.prompt and pick.depth else 0


def _considered(
    candidates: Sequence[Candidate], choice: Choice, prompt: Prompt | None
) -> tuple[Considered, ...]:
    costs = choice.costs or (None,) * len(candidates)
    return tuple(
        Considered(
            one.name,
            cost,
            prompt.chain[one.depth - 1].tokens if prompt is not None and one.depth else 0,
            round(one.queued),
            one.running,
        )
        for one, cost in zip(candidates, costs, strict=True)
    )
