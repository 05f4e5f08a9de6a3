"""Shadow calls: a node is made to compute a prompt that nobody waits for.

Once at a time for each prompt, zone and life of a node's cache; in steps; given up for any request
that comes; within a budget. What a node answers is read and thrown away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from blake3 import blake3

from proxy.answering import skimmed
from proxy.core import shadow
from proxy.core.events import Warmed, WarmUsed
from proxy.core.rewrite import call
from proxy.core.warming import SLACK, Result, Target, barred, cost
from proxy.ports import UpstreamError
from proxy.tasks import off_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.config import Warming
    from proxy.core.context import Hints
    from proxy.core.prefix import Prompt
    from proxy.core.providers import Providers, Rule
    from proxy.core.purse import Allowance
    from proxy.core.request import Request
    from proxy.core.savings import Awaited
    from proxy.fleet import Fleet
    from proxy.node import Node
    from proxy.ports import Clock, Emit
    from proxy.tenure import Tenure

KEPT_FOR: Final = 2.0
"""Seconds for which a prompt's lease outlives its call: until the others know that it is held."""
_RETRY: Final = 0.5
"""Seconds after which a node that was busy may be idle."""
_OUTCOMES: Final = {"interrupted": "cancelled", "timeout": "timeout", "status": "refused"}
"""By the kind of the error; any other is a failure of the node's."""
_NOT_CACHED: Final = ("x-cache", "off")
"""For an upstream that is a gateway like this one."""


class StoppedError(Exception):
    """It goes no further."""

    def __init__(self, outcome: str, again: float = 0.0) -> None:
        super().__init__(outcome)
        self.outcome, self.again = outcome, again


@dataclass(slots=True)
class _Work:
    """A prompt on its way to being held by a node."""

    node: Node
    target: Target
    rule: Rule
    epoch: int
    digests: frozenset[bytes]
    money: float
    """Of one call, by the rules."""
    calls: int = 0
    spent: int = 0
    interrupt: Callable[[], None] = lambda: None


class Shadows:
    """Those of one worker."""

    def __init__(
        self,
        fleet: Fleet,
        providers: Providers,
        tenure: Tenure,
        *,
        settings: Warming,
        prompted: Callable[[bytes, Request, Hints], Prompt | None],
        stripped: frozenset[str],
        zone: str,
        allowance: Allowance,
        savings: Awaited,
        clock: Clock,
        emit: Emit,
    ) -> None:
        """`prompted`, `stripped`: as for `Origin`. `allowance`: what may be spent.
        `savings`: what was, and nobody had anything of yet."""
        self.fleet, self.zone = fleet, zone
        self.providers, self.tenure, self._settings = providers, tenure, settings
        self._prompted, self._stripped = prompted, stripped
        self._clock, self._emit = clock, emit
        self._allowance, self._savings = allowance, savings
        most = int(allowance.tokens.left(clock.mono())) - SLACK
        self._chunk = max(1, min(settings.chunk_tokens, most))
        self._running: dict[tuple[str, int, bytes], _Work] = {}
        self._closed = False
        fleet.router.reports = self._reported

    def barred(self, node: Node, target: Target) -> str:
        """Why the rules of its provider, or ours, forbid it; empty: they do not."""
        rule = self.providers.rule(node.name, target.request.model)
        return barred(rule, target, paid=self._settings.paid)

    def held(self, node: Node, target: Target) -> int:
        """Tokens of it that the node holds, as far as there is no doubt."""
        router, prompt = self.fleet.router, target.prompt
        if router.prefixes.restarts(node.name).doubted:
            return 0
        return prompt.held(router.held([node.name], prompt, target.request.model)[0])

    def idle(self, node: Node, target: Target) -> bool:
        """Whether the node is well and, unless it is paid, has nothing else to do."""
        request, fleet = target.request, self.fleet
        paid = self.providers.rule(node.name, request.model).paid
        free = paid or (node.shadow is None and fleet.router.gossip.quiet(node))
        return free and fleet.well(node, request.model, request.tenant)

    def coming(self, prompt: Prompt) -> None:
        """A request comes: what is warmed of its prompt is left to it."""
        for work in self._running.values():
            if not work.digests.isdisjoint([boundary.digest for boundary in prompt.chain]):
                work.interrupt()

    def close(self) -> None:
        """The gateway ends: give up what runs, and begin nothing more."""
        self._closed = True
        for work in self._running.values():
            work.interrupt()

    async def warm(self, node: Node, target: Target, *, renewed: bool = False) -> Result:
        """Make the node compute it, if nothing speaks against that. `renewed`: a provider keeps it
        still, and shall go on."""
        rule, prompt = self.providers.rule(node.name, target.request.model), target.prompt
        money = cost(rule, prompt.tokens, held=prompt.tokens if renewed else 0)
        epoch, digests = self._epoch(node), frozenset(one.digest for one in prompt.chain)
        work = _Work(node, target, rule, epoch, digests, money)
        outcome, again = "held", 0.0
        try:
            if why := self.barred(node, target):
                raise StoppedError(why)
            await self._alone(work)
            outcome = "warmed" if work.calls else outcome
        except StoppedError as stop:
            outcome, again = stop.outcome, stop.again
        if not work.calls:
            self._emit(Warmed(node.name, outcome))
        return Result(node.name, outcome, prompt.tokens, work.spent, again)

    async def _alone(self, work: _Work) -> None:
        """Single-flight, here and among the gateways of the zone."""
        digest = work.target.prompt.chain[-1].digest
        name = work.node.name, work.epoch, digest
        if name in self._running:
            raise StoppedError("elsewhere", _RETRY)
        self._running[name] = work
        try:
            node, kept = work.node, KEPT_FOR
            lease = blake3(f"warm\0{node.zone}\0{node.name}\0".encode() + digest).digest()
            if not await self.tenure.take(lease):
                raise StoppedError("elsewhere", _RETRY)
            try:
                await self._step_by_step(work)
                # Others that count their own requests only would renew it once more, and pay.
                kept = max(kept, work.rule.ttl / 2)
            finally:
                self.tenure.leave(lease, kept)
        finally:
            del self._running[name]

    async def _step_by_step(self, work: _Work) -> None:
        prompt, own = work.target.prompt, not (work.rule.paid or work.rule.ttl)
        total = prompt.tokens
        done = self.held(work.node, work.target) if own else 0
        while done < total - SLACK or (not own and not work.calls):
            last = not own or total - done <= self._chunk + SLACK
            goal = total if last else done + self._chunk
            await self._step(work, goal, goal - done)
            done = goal
        if work.spent:
            self._savings.await_(work.node.name, prompt.chain[-1].digest, work.spent)

    async def _step(self, work: _Work, goal: int, new: int) -> None:
        """One call, up to `goal` tokens of the prompt, of which so many are new."""
        size, how = len(work.target.arrival.body), (work.target, goal, work.rule, self._prompted)
        if (form := await off_loop(size, shadow.formed, *how)) is None:
            raise StoppedError("refused")
        self._ready(work)
        if pause := await self._allowance.ask(new, work.money, self._clock.mono()):
            raise StoppedError("budget", pause)
        # From here to the call nobody else has a turn.
        self._ready(work)
        if pause := self._allowance.take(new, work.money, self._clock.mono()):
            raise StoppedError("budget", pause)
        work.calls += 1
        try:
            told = await self._asked(work, form.body)
        except StoppedError as stop:
            self._spent(work, stop.outcome, new, work.money)
            raise
        spent = new if told is None else told[1] - told[0]
        money = work.money if told is None else cost(work.rule, told[1], held=told[0])
        await self._allowance.owe(spent - new, money - work.money, self._clock.mono())
        gone = self._epoch(work.node) != work.epoch
        self._spent(work, "void" if gone else "warmed", spent, money)
        if gone:  # it began anew meanwhile, and holds nothing of this
            raise StoppedError("void", _RETRY)
        router, model = self.fleet.router, work.target.request.model
        router.sounded(work.node, form.prompt.chain, model, told)
        work.epoch = self._epoch(work.node)
        router.warmed(work.node, work.target.prompt.chain[: form.depth], model)

    def _ready(self, work: _Work) -> None:
        """Raises: StoppedError, where somebody else has the node, or nobody may any more."""
        if self._closed or not self.idle(work.node, work.target):
            raise StoppedError("busy", _RETRY)

    def _epoch(self, node: Node) -> int:
        return self.fleet.router.prefixes.epoch(node.name)

    def _spent(self, work: _Work, outcome: str, tokens: int, money: float) -> None:
        work.spent += tokens
        self._emit(Warmed(work.node.name, outcome, tokens, money))

    async def _asked(self, work: _Work, form: bytes) -> tuple[int, int] | None:
        """What the node's answer says of usage. Raises: StoppedError."""
        node, (arrival, request, prompt) = work.node, work.target
        sent = call(arrival, request, form, node.credential, self._stripped, ask_usage=False)
        sent = msgspec.structs.replace(sent, headers=(*sent.headers, _NOT_CACHED))
        try:
            limit, own = float(self._settings.timeout), not work.rule.paid
            first = self.fleet.router.missing(node, prompt, request.model)
            async with node.shadowed(limit, gives_way=own, first=first) as work.interrupt:
                return await skimmed(await node.upstream.send(sent))
        except UpstreamError as error:
            outcome = _OUTCOMES.get(error.kind, "failed")
            raise StoppedError(outcome, _RETRY if outcome == "cancelled" else 0.0) from error

    def _reported(self, node: str, prompt: Prompt, told: int) -> None:
        """A node said how many tokens of a request's prompt it had kept."""
        if saved := self._savings.found(node, prompt.chain, told):
            self._emit(WarmUsed(node, saved))

    def __repr__(self) -> str:
        return f"<Shadows {len(self._running)} running, {self._allowance!r}>"
