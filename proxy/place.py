"""The right to make one call to a node."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.core.breaker import Pass, Verdict
    from proxy.gate import Gate
    from proxy.journey import Route
    from proxy.node import Node
    from proxy.wish import Wish


class Place:
    """The right to make one call to a node; given back once."""

    def __init__(self, gate: Gate, node: Node, wish: Wish, call: Pass | None, route: Route) -> None:
        self.node = node
        self.route = route
        self.elsewhere = partial(gate.elsewhere, wish, node)
        """Whether another node that is well could answer such a call."""
        self._gate, self._wish = gate, wish
        self._call = call
        self._trial = node.health.begin()
        self._open = True

    def judge(self, verdict: Verdict, seconds: float) -> None:
        """What the call says of the node; only the first time counts. `seconds`: to its first byte,
        or waited for it."""
        self.node.health.end(self._trial, verdict)
        if self._call is not None and self._wish.model is not None:
            self._gate.judged(self.node, self._wish.model, self._call, verdict, seconds)

    def flows(self, media: str, seconds: float) -> None:
        """A good answer began to arrive, after so many seconds: that is enough for a trial."""
        self.node.health.end(self._trial, "success")
        self._gate.flows(self.node, self._call, f"{self._wish.model} {media}", seconds)

    def refused(self) -> None:
        """The node has more calls than it can take."""
        self._gate.refused(self.node)

    def rest(self, seconds: float) -> None:
        """The node asked this call's sender to leave it alone for so long."""
        self._gate.rest(self.node, self._wish, seconds)

    def leave(self) -> None:
        """The call is over. What was not judged says nothing of the node."""
        if self._open:
            self._open = False
            self.route.computed()
            self.judge("neither", 0.0)
            self._gate.left(self.node)
