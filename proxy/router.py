"""Chooses a node for each call, and keeps in mind what the nodes hold and have yet to compute."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final, cast

from proxy.config import Routing
from proxy.core.events import NodeVoid, PrefixReported, Routed
from proxy.core.prefixes import Prefixes
from proxy.core.route import (
    Candidate,
    Choice,
    Decision,
    Ring,
    drawn,
    least,
    prefix,
)
from proxy.core.workload import NOBODY
from proxy.diary import Diary
from proxy.gossip import Gossip
from proxy.journey import Route
from proxy.prefill import Prefills
from proxy.wish import Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proxy.core.chain import Boundary
    from proxy.core.prefix import Prompt
    from proxy.node import Node
    from proxy.ports import Clock, Emit
    from proxy.wish import Why, Wish

_PROMPTED: Final = frozenset(("prefix", "ring"))
"""Policies that go by the prompt."""


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
        least: Callable[[str, str], int] = lambda _node, _model: 0,
    ) -> None:
        """`zone`: this gateway's. `chance`: uniform in [0, 1). `least`: tokens below which a node,
        by its name, keeps no prompt for a model."""
        self._settings = settings = settings or Routing()
        self._clock, self._emit = clock, emit
        self._zone = zone
        self._nodes = tuple(nodes)
        self.prefixes = Prefixes([node.name for node in nodes], entries=settings.table_entries)
        self.mono = clock.mono
        self.gossip = Gossip(self._nodes, self.prefixes, clock.mono)
        self.prefills = Prefills(settings.prefill_tokens, float(settings.prefill_wait))
        self._ring = Ring([(node.name, node.weight) for node in nodes])
        self._chance, self.least = chance or Random().random, least
        self.diary = Diary(settings.decisions)
        self.reports: Callable[[str, Prompt, int], None] | None = None
        """Takes what nodes say that they had kept: which node, of what, and how many tokens."""
        self.prompted = settings.policy in _PROMPTED
        """Whether it goes by the prompt."""

    def pick(self, free: Sequence[Node], wish: Wish) -> Pick:
        """The one to ask of those nodes that have a place `free`."""
        prompt, names = wish.prompt, [node.name for node in wish.nodes]
        held = [0] * len(names) if prompt is None else self.prefixes.depths(names, prompt.chain)
        depths = dict(zip(names, held, strict=True))
        if len(names) == 1:
            return Pick(free[0], "only", prompt, held[0])
        candidates = self._candidates(free, depths)
        choice = self._choice(candidates, prompt)
        node, why = free[choice.at], cast("Why", choice.reason)
        if why in ("hit", "cold") and depths[node.name] < max(held):
            why = "spill"  # of those that could not be had, one holds more
        if self.gossip.island:
            why = "island"
        return Pick(node, why, prompt, depths[node.name], candidates, choice.costs)

    def begin(self, pick: Pick, wish: Wish) -> Route:
        """The call is made: from now on the node will hold the prompt."""
        prompt, decision = pick.prompt, None
        if pick.node.shadow is not None:
            pick.node.shadow()  # what somebody waits for comes first
        if prompt is not None:
            self.prefixes.put(pick.node.name, prompt.chain)
            self.gossip.tell(pick.node.name, prompt.chain)
            decision = Decision(
                self._clock.now(),
                wish.model or "",
                prompt.chain[prompt.anchor].digest[:4].hex(),
                prompt.tokens,
                pick.node.name,
                pick.reason,
                request=prompt.hints.request,
            )
            self.diary.note(decision, pick, prompt)
        if pick.candidates:
            self._emit(Routed(pick.node.name, pick.reason))
        return Route(self, pick, decision)

    def reported(self, pick: Pick, prompt: Prompt, kept: int, total: int, epoch: int) -> None:
        """A node told how many tokens of a prompt it had kept, and how many that has by its own
        count; `epoch`: the life of its cache in which it was asked."""
        node, told = pick.node, round(kept / total * prompt.tokens)
        if self.prefixes.epoch(node.name) != epoch:  # of the old life there is nothing to learn
            self.warmed(node, prompt.chain)
        elif not prompt.beside:  # of several, nobody knows which it kept
            share = kept / total
            if self.prefixes.report(node.name, prompt.chain, pick.depth, share, total):
                self._began(node, prompt.chain)
        self._emit(PrefixReported(node.name, pick.cached, told, prompt.tokens))
        if self.reports is not None:
            self.reports(node.name, prompt, told)

    def warmed(self, node: Node, chain: tuple[Boundary, ...]) -> None:
        """A node was made to compute this, with no request behind it."""
        self.prefixes.put(node.name, chain)
        self.gossip.tell(node.name, chain)

    def known(self, node: Node) -> int:
        """Calls that it has of the gateways, as far as is known here."""
        return self.gossip.running(node) + (node.shadow is not None)

    def lost(self, node: Node) -> None:
        """A node could not be reached: nothing to tell others, since the way may be broken here."""
        self.prefixes.doubt(node.name)

    def sounded(self, node: Node, chain: Sequence[Boundary], told: tuple[int, int] | None) -> None:
        """What a node told (tokens kept, of how many) of what no request was behind: where there
        is doubt whether it began anew, that settles it."""
        if not self.prefixes.restarts(node.name).doubted:
            return
        if told is None:  # it will not tell
            self.void(node, tell=False)
            return
        (thought,) = self.prefixes.depths([node.name], chain)
        if self.prefixes.report(node.name, chain, thought, told[0] / told[1], told[1]):
            self._began(node, chain)

    def _began(self, node: Node, chain: Sequence[Boundary]) -> None:
        """By its own words a node began anew, with this prompt."""
        self.gossip.tell(node.name, None)
        self.gossip.tell(node.name, tuple(chain))
        self._emit(NodeVoid(node.name, "usage"))

    def void(self, node: Node, *, tell: bool) -> None:
        """What is known of a node holds no longer. `tell`: nor does what others know."""
        self.prefixes.forget(node.name)
        if tell:
            self.gossip.tell(node.name, None)

    def held(self, prompt: Prompt) -> dict[str, int]:
        """Tokens of it that each node is thought to hold."""
        names = [node.name for node in self._nodes]
        depths = self.prefixes.depths(names, prompt.chain)
        return dict(zip(names, map(prompt.held, depths), strict=True))

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

    def _candidates(self, free: Sequence[Node], depths: Mapping[str, int]) -> list[Candidate]:
        now, whole, away = self.mono(), self.gossip.whole, self._settings.zone_penalty
        found = []
        for node in free:
            elsewhere = self.gossip.load(node)
            queued, running = node.queued + elsewhere.queued, node.running + elsewhere.running
            if node.strangers is not NOBODY:
                strange = node.strangers.now(now)
                queued, running = queued + strange.queued, running + strange.running
            if whole and queued > 0:
                queued = max(0.0, queued - node.progress.computed(now))
            penalty = 0.0 if node.zone == self._zone else away
            depth = depths[node.name]
            found.append(Candidate(node.name, depth, queued, running, node.weight, penalty))
        return found

    def __repr__(self) -> str:
        return f"<Router {self._settings.policy} {self.prefixes!r}>"
