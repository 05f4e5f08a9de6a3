"""Chooses a node for each call, and keeps in mind what the nodes hold and have yet to compute."""

from __future__ import annotations

from math import inf
from random import Random
from typing import TYPE_CHECKING, Final, cast

from proxy.config import Routing
from proxy.core.events import NodeVoid, PrefixReported, Routed
from proxy.core.prefixes import Prefixes
from proxy.core.providers import Rule
from proxy.core.route import (
    Candidate,
    Choice,
    Decision,
    Ring,
    drawn,
    least,
    near,
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

_UNRULED: Final = Rule(provider="", as_of="", min_tokens=0, ttl=0.0)
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
        rule: Callable[[str, str], Rule] = lambda _node, _model: _UNRULED,
    ) -> None:
        """`zone`: this gateway's. `chance`: uniform in [0, 1). `rule`: how a node, by its name,
        treats prompts for a model."""
        self._settings = settings = settings or Routing()
        self._clock, self._emit, self._zone = clock, emit, zone
        self.nodes = tuple(nodes)
        self.prefixes = Prefixes([node.name for node in nodes], entries=settings.table_entries)
        self.mono = clock.mono
        self.gossip = Gossip(self.nodes, self.prefixes, clock.mono)
        self.prefills = Prefills(settings.prefill_tokens, float(settings.prefill_wait))
        self._ring = Ring([(node.name, node.weight) for node in nodes])
        self._chance, self.rule = chance or Random().random, rule
        self.diary = Diary(settings.decisions)
        self.reports: Callable[[str, Prompt, int], None] | None = None
        """Takes what nodes say that they had kept: which node, of what, and how many tokens."""
        self.prompted = settings.policy in _PROMPTED
        """Whether it goes by the prompt."""

    def pick(self, free: Sequence[Node], wish: Wish) -> Pick:
        """The one to ask of those nodes that have a place `free`."""
        prompt, model = wish.prompt, wish.model or ""
        names = [node.name for node in wish.nodes]
        sent = [0] * len(names) if prompt is None else self._sent(names, prompt)
        if len(names) == 1:
            return Pick(free[0], "only", prompt, self._kept(names, sent, prompt, model)[0])
        candidates = self._candidates(free, wish, dict(zip(names, sent, strict=True)))
        choice = self._choice(candidates, prompt)
        node, why, depth = free[choice.at], cast("Why", choice.reason), candidates[choice.at].depth
        (depth,) = self._kept([node.name], [depth], prompt, model)
        others = len(free) < len(names) and why in ("hit", "cold")
        if others and depth < max(self._kept(names, sent, prompt, model)):
            why = "spill"  # of those that could not be had, one holds more
        if self.gossip.island:
            why = "island"
        return Pick(node, why, prompt, depth, candidates, choice.costs)

    def begin(self, pick: Pick, wish: Wish) -> Route:
        """The call is made: from now on the node will hold the prompt."""
        prompt, decision = pick.prompt, None
        if pick.node.shadow is not None:
            pick.node.shadow()  # what somebody waits for comes first
        if prompt is not None:
            self.warmed(pick.node, prompt.chain, wish.model or "")
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

    def held(self, names: Sequence[str], prompt: Prompt, model: str) -> list[int]:
        """Of each node, how many boundaries of a prompt it is thought to hold. What is too short to
        be kept there is not."""
        return self._kept(names, self._sent(names, prompt), prompt, model)

    def missing(self, node: Node, prompt: Prompt, model: str) -> bytes | None:
        """The boundary from which on a node has to compute a prompt; None: it has it all."""
        return prompt.beyond(self.held([node.name], prompt, model)[0])

    def _sent(self, names: Sequence[str], prompt: Prompt) -> list[int]:
        return self.prefixes.depths(names, prompt.chain, self.mono())

    def _kept(
        self, names: Sequence[str], sent: Sequence[int], prompt: Prompt | None, model: str
    ) -> list[int]:
        rule = self.rule
        return [
            depth if depth and prompt and prompt.held(depth) >= rule(name, model).min_tokens else 0
            for name, depth in zip(names, sent, strict=True)
        ]

    def reported(
        self, pick: Pick, prompt: Prompt, model: str, kept: int, total: int, epoch: int
    ) -> None:
        """A node told how many tokens of a prompt it had kept, and how many that has by its own
        count; `epoch`: the life of its cache in which it was asked."""
        node, told = pick.node, round(kept / total * prompt.tokens)
        if self.prefixes.epoch(node.name) != epoch:  # of the old life there is nothing to learn
            self.warmed(node, prompt.chain, model)
        elif not prompt.beside:  # of several, nobody knows which it kept
            self._learned(node, prompt.chain, model, pick.depth, (kept, total))
        self._emit(PrefixReported(node.name, pick.cached, told, prompt.tokens))
        if self.reports is not None:
            self.reports(node.name, prompt, told)

    def warmed(self, node: Node, chain: tuple[Boundary, ...], model: str) -> None:
        """A node is made to compute this."""
        lives = self.rule(node.name, model).ttl
        self.prefixes.put(node.name, chain, self.mono() + lives if lives else inf)
        self.gossip.tell(node.name, chain, lives)

    def known(self, node: Node) -> int:
        """Calls that it has of the gateways, as far as is known here."""
        return self.gossip.running(node) + (node.shadow is not None)

    def described(self, node: Node) -> tuple[str, str]:
        """Its provider, and its zone."""
        return self.rule(node.name, "").provider, node.zone

    def lost(self, node: Node) -> None:
        """A node could not be reached: nothing to tell others, since the way may be broken here."""
        self.prefixes.doubt(node.name)

    def sounded(
        self, node: Node, chain: Sequence[Boundary], model: str, told: tuple[int, int] | None
    ) -> None:
        """What a node told (tokens kept, of how many) of what no request was behind: where there
        is doubt whether it began anew, that settles it."""
        if not self.prefixes.restarts(node.name).doubted:
            return
        if told is None:  # it will not tell
            self.void(node, tell=False)
            return
        (thought,) = self.prefixes.depths([node.name], chain, self.mono())
        self._learned(node, chain, model, thought, told)

    def _learned(
        self,
        node: Node,
        chain: Sequence[Boundary],
        model: str,
        thought: int,
        told: tuple[int, int],
    ) -> None:
        """A node told how many tokens of how many it had kept, of which it was thought to hold so
        many boundaries."""
        kept, total = told
        if self.prefixes.report(node.name, chain, thought, kept / total, total):
            # By its own words it began anew, with this prompt.
            self.gossip.tell(node.name, None)
            self.warmed(node, tuple(chain), model)
            self._emit(NodeVoid(node.name, "usage"))

    def void(self, node: Node, *, tell: bool) -> None:
        """What is known of a node holds no longer. `tell`: nor does what others know."""
        self.prefixes.forget(node.name)
        if tell:
            self.gossip.tell(node.name, None)

    def _choice(self, candidates: Sequence[Candidate], prompt: Prompt | None) -> Choice:
        policy = self._settings.policy
        if policy == "prefix" and prompt is not None:
            return prefix(candidates, prompt, self._settings.miss_weight)
        places = near(candidates)  # a zone's price is in tokens, which none of these compares
        ours = [candidates[at] for at in places]
        if policy == "random":
            choice = drawn(ours, self._chance())
        elif policy == "ring" and prompt is not None:
            choice = self._ring(ours, prompt)
        else:
            choice = least(ours)
        return choice._replace(at=places[choice.at])

    def _candidates(
        self, free: Sequence[Node], wish: Wish, sent: Mapping[str, int]
    ) -> list[Candidate]:
        now, whole, away = self.mono(), self.gossip.whole, self._settings.zone_penalty
        model, rule, load = wish.model or "", self.rule, self.gossip.load
        found = []
        for node in free:
            elsewhere = load(node)
            queued, running = node.queued + elsewhere.queued, node.running + elsewhere.running
            if node.strangers is not NOBODY:
                strange = node.strangers.now(now)
                queued, running = queued + strange.queued, running + strange.running
            if whole and queued > 0:
                queued = max(0.0, queued - node.progress.computed(now))
            penalty = 0.0 if node.zone == self._zone else away
            depth = sent[node.name]
            least = rule(node.name, model).min_tokens if depth else 0
            found.append(Candidate(node.name, depth, queued, running, node.weight, penalty, least))
        return found

    def __repr__(self) -> str:
        return f"<Router {self._settings.policy} {self.prefixes!r}>"
