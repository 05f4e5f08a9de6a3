"""The gate before the nodes: a call gets a place at one that can take it, waits, or is shed."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from proxy.core.breaker import Breakers
from proxy.core.events import BreakerMoved, NodeMeasured, Shed
from proxy.core.resting import Resting
from proxy.place import Place
from proxy.ports import UpstreamError
from proxy.router import Router
from proxy.waiting import Waiting
from proxy.wish import Wish

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.config import Breaker, Overload
    from proxy.core.breaker import Pass, Verdict
    from proxy.core.events import BreakerState
    from proxy.node import Node
    from proxy.ports import Clock, Emit
    from proxy.wish import Pick

_LATELY: Final = 5.0
"""Seconds for which the fleet counts as saturated after it shed a request."""


class Gate:
    """The nodes' places, their breakers, and who waits."""

    def __init__(
        self,
        nodes: Sequence[Node],
        clock: Clock,
        emit: Emit,
        *,
        breaker: Breaker,
        overload: Overload,
        router: Router | None = None,
    ) -> None:
        self._nodes = tuple(nodes)
        self._router = router or Router(nodes, clock, emit)
        self._clock = clock
        self._emit = emit
        self._slow = float(breaker.slow_call)
        self._patience = float(overload.queue_timeout)
        self._breakers = Breakers(breaker, self._moved)
        self._resting = Resting()
        self._waiting = Waiting[Wish, Place](
            overload.queue,
            self._patience,
            clock,
            ousted=lambda reason: self._shed(reason, self._patience),
            back=Place.leave,
            again=lambda: self._widened(*self._nodes),
        )
        self._shed_at = float("-inf")
        self._told: dict[str, NodeMeasured] = {}

    @property
    def saturated(self) -> bool:
        """Whether requests wait for a node, or were shed lately."""
        return bool(self._waiting) or self._clock.mono() - self._shed_at < _LATELY

    async def enter(self, wish: Wish) -> Place:
        """A place, once there is one. Raises: UpstreamError, kind `overload`."""
        if (place := self.enter_now(wish)) is not None:
            return place
        if (pause := self._barred(wish)) > 0:
            raise self._shed("breaker", pause)
        return await self._waiting.wait(wish.tenant, wish)

    def enter_now(self, wish: Wish) -> Place | None:
        """A place, if one is free and nobody who waits has a better right to it."""
        pick = self._chosen(wish)
        while pick is not None and self._waiting and self._pass_on(pick.node):
            pick = self._chosen(wish)
        return None if pick is None else self._placed(pick, wish)

    def ready(self, wish: Wish) -> bool:
        """Whether a place is free."""
        return self._chosen(wish) is not None

    def passable(self, wish: Wish) -> bool:
        """Whether a place is free, or will be if it is waited for."""
        if self._barred(wish) > 0:
            return False
        return self.hopeful(wish) or bool(self._well(self._able(wish), wish))

    def hopeful(self, wish: Wish) -> bool:
        """Whether one of the nodes is well, as far as probes and breakers tell."""
        return any(node.health.state != "out" for node in self._able(wish))

    def elsewhere(self, wish: Wish, node: Node) -> bool:
        return self.hopeful(self._pool(wish).without(node))

    def rest(self, node: Node, wish: Wish, seconds: float) -> None:
        """The node asked the sender to leave it alone for so long."""
        until = self._clock.mono() + seconds
        self._resting.rest(*wish.scope(node), until)

    def flows(self, node: Node, call: Pass | None, kind: str, seconds: float) -> None:
        """A good answer began to arrive."""
        mono = self._clock.mono()
        if call is not None:
            call.flows = mono
        node.limiter.sample(kind, seconds, node.running, mono)
        self._widened(node)

    def refused(self, node: Node) -> None:
        node.limiter.refused(node.running, self._clock.mono())

    def judged(self, node: Node, model: str, call: Pass, verdict: Verdict, seconds: float) -> None:
        slow, mono = 0 < self._slow <= seconds, self._clock.mono()
        self._breakers.end(node.name, model, call, verdict, slow=slow, mono=mono)

    def left(self, node: Node) -> None:
        node.running -= 1
        self._widened(node)

    def _widened(self, *nodes: Node) -> None:
        """They may take more than they could: whoever waits for that is let in."""
        for node in nodes:
            while self._waiting and self._pass_on(node):
                pass

    def measure(self) -> None:
        """Tell of the nodes what has changed since it was last told."""
        wishes = list(self._waiting)
        for node in self._nodes:
            waiting = sum(node in wish.nodes for wish in wishes)
            limit, tripped = node.limiter.limit, self._breakers.tripped(node.name)
            measured = NodeMeasured(node.name, limit, node.running, waiting, tripped)
            if self._told.get(node.name) != measured:
                self._told[node.name] = measured
                self._emit(measured)

    def _chosen(self, wish: Wish) -> Pick | None:
        """The node that this call would be given a place at now."""
        able, mono = self._able(wish), self._clock.mono()
        # What a sticky call is about lies there, whatever the probes say.
        able = able[:1] if wish.sticky else self._well(able, wish)
        if len(able) > 1 and self._resting:
            resting = self._resting.rests
            able = [node for node in able if not resting(*wish.scope(node), mono)] or able
        free = [node for node in able if node.free]
        return self._router.pick(free, wish) if free else None

    def _pool(self, wish: Wish) -> Wish:
        """For any node that serves its model, the ones that were tried among them."""
        return wish._replace(nodes=tuple([one for one in self._nodes if one.serves(wish.model)]))

    def _well(self, able: list[Node], wish: Wish) -> list[Node]:
        """Those that take calls, however few of them are left to try. Where most of all are out, it
        is rather the probes that fail."""
        well = [node for node in able if node.health.takes]
        if len(well) == len(able):
            return able
        pool = self._able(self._pool(wish))
        return well if 2 * sum(node.health.takes for node in pool) >= len(pool) else able

    def _able(self, wish: Wish) -> list[Node]:
        """Those that no breaker bars."""
        if not self._breakers:
            return list(wish.nodes)
        mono = self._clock.mono()
        return [node for node in wish.nodes if not self._wait(node, wish.model, mono)]

    def _wait(self, node: Node, model: str | None, mono: float) -> float:
        return 0.0 if model is None else self._breakers.wait(node.name, model, mono)

    def _barred(self, wish: Wish) -> float:
        """Seconds until a breaker lets the first call through; 0: one does now."""
        mono = self._clock.mono()
        return min(self._wait(node, wish.model, mono) for node in wish.nodes)

    def _placed(self, pick: Pick, wish: Wish) -> Place:
        node = pick.node
        node.running += 1
        call = None if wish.model is None else self._breakers.begin(node.name, wish.model)
        return Place(self, node, wish, call, self._router.begin(pick, wish))

    def _pass_on(self, node: Node) -> bool:
        """Give a free place to the one whose turn it is; whether there was such a one."""

        # Mostly it is at this node; but a less busy one may have come back by itself.
        def fits(wish: Wish) -> bool:
            return node in wish.nodes and self._chosen(wish) is not None

        return node.free and self._waiting.give(fits, self._placed_best)

    def _placed_best(self, wish: Wish) -> Place:
        pick = self._chosen(wish)
        assert pick is not None
        return self._placed(pick, wish)

    def _moved(self, node: str, model: str, state: BreakerState) -> None:
        self._emit(BreakerMoved(node, model, state))
        if state == "open":
            self._waiting.turn_away(partial(self._hopeless, model))

    def _hopeless(self, model: str, wish: Wish) -> UpstreamError | None:
        """What who waits for that model is told, if no node is left that it could wait for."""
        pause = self._barred(wish) if wish.model == model else 0.0
        return self._shed("breaker", pause) if pause > 0 else None

    def _shed(self, reason: str, pause: float) -> UpstreamError:
        self._shed_at = self._clock.mono()
        self._emit(Shed(reason))
        return UpstreamError("", "overload", _WHY[reason], retry_after=max(1.0, pause))


_WHY: Final = {
    "breaker": "the upstream failed again and again; it is given time to recover",
    "queue_full": "the upstream has all the requests that it can take",
    "queue_timeout": "the upstream had no room for this request in time",
}
