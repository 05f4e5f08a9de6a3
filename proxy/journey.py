"""A call on its way to a node, and what comes of it there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from proxy.core.route import Decision
    from proxy.router import Router
    from proxy.wish import Pick

_LONGEST: Final = 256
"""Characters of an answer's id that are remembered."""


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
        self.ahead = pick.node.queued + router.gossip.load(pick.node).queued
        """Tokens that the node has to compute before it can answer, these among them."""
        self._call = pick.node.progress.sent(self._queued, router.mono())
        self._seconds: float | None = None
        """How long the node computed the prompt; None: it has not yet."""
        self._lead = router.prefills.begin(pick)
        self._first = None if pick.prompt is None else pick.prompt.beyond(pick.depth)
        pick.node.computes(self._first, 1)
        self._epoch = router.prefixes.epoch(pick.node.name)

    def answered(self, name: str) -> None:
        """By which id the node's answer goes, if any."""
        if self._decision is not None:
            self._decision.answer = name[:_LONGEST]

    async def turn(self) -> None:
        """Wait, briefly, for what the node computes for another call just now."""
        if self._lead is not None:
            await self._router.prefills.turn(self._lead)

    def computed(self, *, well: bool = False) -> None:
        """The prompt is computed, or the call is over: only the first time counts. `well`: with an
        answer."""
        self._pick.node.queued -= self._queued
        self._queued = 0
        self._pick.node.computes(self._first, -1)
        self._first = None
        if self._seconds is None:
            self._seconds = self._pick.node.progress.over(self._call, self._router.mono())
        if self._lead is not None:
            self._router.prefills.end(self._lead, computed=well)

    def measured(self, kept: int, total: int) -> int:
        """What a node says that it had kept, in the measure of what was thought."""
        return 0 if self._pick.prompt is None else round(kept / total * self._pick.prompt.tokens)

    def report(self, kept: int, total: int, *, timed: bool = True) -> None:
        """How many tokens of how many the node had kept. `timed`: its answer was streamed."""
        if self._decision is None or self._pick.prompt is None:
            return
        node, model = self._pick.node, self._decision.model
        if not kept and total < self._router.rule(node.name, model).min_tokens:
            return  # too short to be kept anywhere
        tokens = self._pick.prompt.tokens
        self._decision.reported = self.measured(kept, total)
        node.progress.took((1 - kept / total) * tokens, (self._seconds or 0.0) * timed)
        self._router.reported(self._pick, self._pick.prompt, model, kept, total, self._epoch)

    def lost(self) -> None:
        """The node could not be reached: when it is there again, it may begin anew."""
        self._router.lost(self._pick.node)
