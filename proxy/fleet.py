"""The upstream nodes, and which are asked for a request, one after the other if need be."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.answering import Answering, first
from proxy.config import Breaker, Overload
from proxy.core.budget import Budget
from proxy.core.errors import UNWELL
from proxy.core.events import Retried, UpstreamFailed
from proxy.core.resting import pause
from proxy.gate import Gate
from proxy.ports import UpstreamError
from proxy.router import Router
from proxy.wish import Wish

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.core.message import Call
    from proxy.core.prefix import Prompt
    from proxy.node import Node
    from proxy.place import Place
    from proxy.ports import Clock, Emit, UpstreamResponse

_UNSEEN: Final = frozenset(("connect",))
_UNANSWERED: Final = frozenset(("connect", "ejected", "reused", "cut", "protocol"))
"""A node that was silent for too long is not among them: the next would be as slow to wait for."""

_FREE: Final = frozenset(("connect", "ejected"))
"""What no node has seen has cost none anything, and of what one will never answer there can be no
storm: it is no second attempt."""

_RESTING: Final = frozenset((429, 503, 529))
"""Answers by which a node may say for how long it wants to be left alone."""

_LONGEST: Final = 256
"""Characters by which models are told apart: what is remembered of them may not be as long as a
client likes."""


class _Errand(NamedTuple):
    """What nodes are asked."""

    build: Callable[[Node], Call]
    repeatable: bool
    stream: bool
    """Whether the answer comes token by token, so that its first byte tells of the prompt only."""


_BREAKER: Final = Breaker()
_OVERLOAD: Final = Overload()


class NoNodeError(Exception):
    """No node serves the model."""

    def __init__(self, model: str) -> None:
        super().__init__(f"no upstream serves the model {model!r}")
        self.model = model


class Fleet:
    """All nodes."""

    def __init__(
        self,
        nodes: Sequence[Node],
        clock: Clock,
        emit: Emit,
        *,
        breaker: Breaker = _BREAKER,
        overload: Overload = _OVERLOAD,
        router: Router | None = None,
    ) -> None:
        """`router`: None: one with the default settings."""
        self.nodes = tuple(nodes)
        self.router = router = router or Router(nodes, clock, emit)
        self._clock = clock
        self._emit = emit
        self._attempts = overload.max_attempts
        self._budget = Budget(overload.retry_ratio)
        self._gate = Gate(
            self.nodes, clock, emit, breaker=breaker, overload=overload, router=router
        )

    @property
    def saturated(self) -> bool:
        """Whether more is asked than the nodes can answer, now or a moment ago."""
        return self._gate.saturated

    def measure(self) -> None:
        """Tell of the nodes what has changed since it was last told."""
        self._gate.measure()

    def routes(self, model: str) -> bool:
        """Whether it depends on the prompt which node is asked."""
        if len(self.nodes) == 1 or not self.router.prompted:
            return False
        return sum(node.serves(model) for node in self.nodes) > 1

    def well(self, node: Node, model: str, tenant: bytes) -> bool:
        """Whether it would be given a call now."""
        wish = Wish((node,), model[:_LONGEST], tenant, sticky=False)
        return node.health.takes and self._gate.ready(wish)

    async def send(
        self,
        model: str | None,
        build: Callable[[Node], Call],
        *,
        repeatable: bool = True,
        sticky: bool = False,
        tenant: bytes = b"",
        prompt: Prompt | None = None,
        stream: bool = False,
    ) -> Answering:
        """The answer of the node that serves `model` and is chosen by the routing policy, by this
        `prompt`; `sticky`: of the first one, since files, batches and other state lie where they
        were made. Model None: any node serves it.

        Where a node cannot be reached, breaks off before its first byte, or answers that it is
        unwell, others are asked, each once. What is not `repeatable`, an upload that was begun or
        an operation that may not be done twice, goes to another node only where the first never saw
        it; what is `sticky` only where the first gave no answer at all. The first byte is the first
        of the body: engines send a head before they have computed anything, and where another node
        could be asked it waits here for what follows. `stream`: it comes token by token.

        Raises: NoNodeError, UpstreamError (the last node's, or kind `overload`).
        """
        able = tuple([node for node in self.nodes if node.serves(model)])
        if not able:
            raise NoNodeError(model or "")
        self._budget.asked(self._clock.mono())
        named = None if model is None else model[:_LONGEST]
        wish, attempts = Wish(able, named, tenant, sticky, prompt), self._attempts
        place, errand = await self._gate.enter(wish), _Errand(build, repeatable, stream)
        while True:
            attempts -= 1
            wish = wish.without(*([place.node] if attempts else wish.nodes))
            outcome = await self._asked(place, errand, wish)
            further = await self._further(outcome, wish, repeatable) if wish.nodes else None
            if further is None:
                break
            place = further
            place.route.reason = "failover"
        if isinstance(outcome, UpstreamError):
            raise outcome
        return outcome

    async def _sent(
        self, place: Place, errand: _Errand, rest: Wish
    ) -> tuple[UpstreamResponse, bytes | None]:
        """Its answer; of one that another node could still give, its first bytes too. Where
        the `rest` has no node that is well, it is waited for whatever its probes say."""
        calls, movable = place.node.outstanding, errand.repeatable and not rest.sticky
        if not rest.nodes and calls.late is None:  # no other could be asked, and nobody be told
            return await self._answered(place.node, errand), None
        allowed = calls.pace.allowed(place.route.ahead) if errand.stream else inf
        async with calls.waited_for(partial(self._gate.hopeful, rest), allowed):
            response = await self._answered(place.node, errand)
            calls.heard += 1
            held = movable and rest.nodes and response.head.status < 300
            return response, await first(response) if held else None

    async def _answered(self, node: Node, errand: _Errand) -> UpstreamResponse:
        """Asked twice where it had closed an idle connection just as it was used."""
        if errand.repeatable:
            try:
                return await node.upstream.send(errand.build(node))
            except UpstreamError as error:
                if error.kind != "reused":
                    raise
            self._emit(Retried(allowed=True))
        return await node.upstream.send(errand.build(node))

    async def _asked(self, place: Place, errand: _Errand, rest: Wish) -> Answering | UpstreamError:
        node, asked = place.node, self._clock.mono()
        try:
            await place.route.turn()
            asked = self._clock.mono()
            response, begun = await self._sent(place, errand, rest)
        except UpstreamError as error:
            self._emit(UpstreamFailed(node.name, error.kind, error.why))
            place.judge("failure", self._clock.mono() - asked)
            if error.kind == "timeout":
                place.refused()
            if error.kind == "connect":
                place.route.lost()
                node.health.refused()
            place.leave()
            return error
        except BaseException:  # a cancelled call must not count for ever
            place.judge("neither", self._clock.mono() - asked)
            place.leave()
            raise
        head = response.head
        if head.status == 429 or (head.status in _RESTING and head.get("retry-after")):
            place.rest(pause(head, self._clock.now()))
        answer = Answering(response, place, asked, self._clock, self._emit)
        answer.begins(begun, stream=errand.stream)
        return answer

    async def _further(
        self, outcome: Answering | UpstreamError, wish: Wish, repeatable: bool
    ) -> Place | None:
        """A place at another node, where that may give a better answer; this one is closed then."""
        if isinstance(outcome, UpstreamError):
            if outcome.kind not in (_UNANSWERED if repeatable else _UNSEEN):
                return None
            return await self._after(outcome, wish)
        if outcome.head.status not in UNWELL or wish.sticky or not repeatable:
            return None
        # An answer is at hand: only what is better at once is worth giving it up.
        if not self._gate.ready(wish) or not self._allowed():
            return None
        if (place := self._gate.enter_now(wish)) is None:
            return None
        try:
            await outcome.aclose()
        except BaseException:
            place.leave()
            raise
        return place

    async def _after(self, error: UpstreamError, wish: Wish) -> Place | None:
        """A place at another node after one that gave no answer, waited for if need be."""
        if not self._gate.passable(wish):
            return None
        if not self._allowed(free=error.kind in _FREE):
            return None
        try:
            return await self._gate.enter(wish)
        except UpstreamError:
            return None

    def _allowed(self, *, free: bool = False) -> bool:
        """Whether a further node may be asked; told either way."""
        allowed = free or self._budget.spend(self._clock.mono())
        self._emit(Retried(allowed))
        return allowed

    def __repr__(self) -> str:
        return f"<Fleet {' '.join(map(repr, self.nodes))}>"
