"""Chooses a node for each call, and keeps in mind what the nodes hold and have yet to compute."""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING, Final

from proxy.config import Routing
from proxy.core.events import PrefixReported, Routed
from proxy.core.prefixes import Prefixes
from proxy.core.route import (
    Candidate,
    Choice,
    Decision,
    Load,
    News,
    Ring,
    considered,
    drawn,
    least,
    prefix,
)
from proxy.prefill import Prefills
from proxy.wish import Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proxy.core.prefix import Boundary, Prompt
    from proxy.node import Node
    from proxy.ports import Clock, Emit
    from proxy.wish import Wish

_PROMPTED: Final = frozenset(("prefix", "ring"))
"""Policies that go by the prompt."""
_NEWS: Final = 128
"""Calls that other gateways are told of in one go; of more, the last ones."""
_IDLE: Final = Load(0.0, 0)


class Route:
    """A call on its way to a node: what it has to compute counts as its load until its first
    byte."""

    def __init__(self, router: Router, pick: Pick, decision: Decision | None) -> None:
        self.reason = pick.reason
        self._router, self._pick, self._decision = router, pick, decision
        total = 0 if pick.prompt is None else pick.prompt.tokens
        self.cached = pick.cached
        """Tokens of the prompt that the node is thought to hold."""
        self.routed = pick.prompt is not None
        """Whether what the node reports is of use."""
        self._queued = total - self.cached
        pick.node.queued += self._queued
        self._lead = router.prefills.begin(pick)

    async def turn(self) -> None:
        """Wait, briefly, for what the node computes for another call just now."""
        if self._lead is not None:
            await self._router.prefills.turn(self._lead)

    def computed(self, *, well: bool = False) -> None:
        """The prompt is computed, or the call is over: only the first time counts. `well`: with an
        answer."""
        self._pick.node.queued -= self._queued
        self._queued = 0
        if self._lead is not None:
            self._router.prefills.end(self._lead, computed=well)

    def report(self, cached: float) -> None:
        """The node says what share of the prompt it had kept, in [0, 1]."""
        if self._decision is not None and self._pick.prompt is not None:
            told = self._decision.reported = round(cached * self._pick.prompt.tokens)
            self._router.reported(self._pick, self._pick.prompt, cached, told)

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
        self._nodes, self._names = tuple(nodes), frozenset(node.name for node in nodes)
        self.prefixes = Prefixes([node.name for node in nodes], entries=settings.table_entries)
        self.prefills = Prefills(settings.prefill_tokens, float(settings.prefill_wait))
        self._ring = Ring([(node.name, node.weight) for node in nodes])
        self._chance = chance or Random().random
        self._decisions: deque[tuple[Decision, Prompt]] = deque(maxlen=settings.decisions)
        self._elsewhere: dict[str, Load] = {}
        """What the other gateways have waiting at each node."""
        self._news: deque[News] | None = None
        """What they have not been told; None: nobody listens."""
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
        candidates = [self._candidate(node, depths[node.name]) for node in free]
        choice = self._choice(candidates, prompt)
        node, why = free[choice.at], choice.reason
        if why in ("hit", "cold") and depths[node.name] < max(held):
            why = "spill"  # of those that could not be had, one holds more
        shown = considered(candidates, choice, prompt)
        return Pick(node, why, prompt, depths[node.name], shown)

    def begin(self, pick: Pick, wish: Wish) -> Route:
        """The call is made: from now on the node will hold the prompt."""
        prompt, decision = pick.prompt, None
        if pick.node.shadow is not None:
            pick.node.shadow()  # what somebody waits for comes first
        if prompt is not None:
            self.prefixes.put(pick.node.name, prompt.chain)
            self._tell(News(pick.node.name, prompt.chain))
            decision = Decision(
                self._clock.now(),
                wish.model or "",
                prompt.chain[prompt.anchor].digest[:4].hex(),
                prompt.tokens,
                pick.node.name,
                pick.reason,
                pick.considered,
                prompt.hints.request,
            )
            self._decisions.append((decision, prompt))
        if pick.considered:
            self._emit(Routed(pick.node.name, pick.reason))
        return Route(self, pick, decision)

    def reported(self, pick: Pick, prompt: Prompt, cached: float, told: int) -> None:
        """A node told what share of a prompt it had kept: so many tokens."""
        self.prefixes.report(pick.node.name, prompt.chain, pick.depth, cached)
        self._emit(PrefixReported(pick.node.name, pick.cached, told, prompt.tokens))
        if self.reports is not None:
            self.reports(pick.node.name, prompt, told)

    def warmed(self, node: Node, chain: tuple[Boundary, ...]) -> None:
        """A node was made to compute this, with no request behind it."""
        self.prefixes.put(node.name, chain)
        self._tell(News(node.name, chain))

    def quiet(self, node: Node) -> bool:
        """Whether it has no call of this gateway's or, as far as they told, of another's."""
        return not node.running and not self._elsewhere.get(node.name, _IDLE).running

    def lost(self, node: Node) -> None:
        """A node holds nothing any more, as far as can be seen from here: of one that stands far
        away it may be the way there that is broken, which is nothing to tell others."""
        self.prefixes.forget(node.name)
        if node.probe is not None:
            self._tell(News(node.name, None))

    def prompt(self, request: str) -> tuple[Prompt, dict[str, int]] | None:
        """Of a request whose decision is shown, and how many tokens of it each node is thought to
        hold."""
        for decision, prompt in reversed(self._decisions):
            if decision.request == request:
                names = [node.name for node in self._nodes]
                depths = self.prefixes.depths(names, prompt.chain)
                return prompt, dict(zip(names, map(prompt.held, depths), strict=True))
        return None

    def share(self) -> None:
        """From now on somebody takes what is `told`."""
        self._news = deque(maxlen=_NEWS)

    def told(self) -> list[News]:
        """What was learned here since last time."""
        news = list(self._news or ())
        if self._news:
            self._news.clear()
        return news

    def loads(self) -> dict[str, Load]:
        """What this gateway has waiting at each node, if anything."""
        return {node.name: Load(node.queued, node.running) for node in self._nodes if node.running}

    def hear(self, news: Sequence[News]) -> None:
        """Another gateway learned this."""
        for node, chain in news:
            if node not in self._names:
                continue
            if chain is None:
                self.prefixes.forget(node)
            elif chain:
                self.prefixes.put(node, chain)

    def hear_loads(self, loads: Sequence[Mapping[str, Load]]) -> None:
        """What each of the other gateways has waiting."""
        elsewhere: dict[str, Load] = {}
        for told in loads:
            for node, load in told.items():
                queued, running = elsewhere.get(node, _IDLE)
                elsewhere[node] = Load(queued + max(0.0, load.queued), running + load.running)
        self._elsewhere = elsewhere
        for one in self._nodes:
            if one.shadow is not None and not self.quiet(one):
                one.shadow()

    def _tell(self, news: News) -> None:
        if self._news is not None:
            self._news.append(news)

    def decisions(self) -> list[Decision]:
        """The last ones, newest first."""
        return [decision for decision, _ in reversed(self._decisions)]

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
        queued, running = self._elsewhere.get(node.name, _IDLE)
        queued, running = node.queued + queued, node.running + running
        return Candidate(node.name, depth, queued, running, node.weight, penalty)

    def __repr__(self) -> str:
        return f"<Router {self._settings.policy} {self.prefixes!r}>"
