"""Has prompts computed before they are asked for: on demand, at set times, or where it pays."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from blake3 import blake3

from proxy.core.context import Hints
from proxy.core.controls import ControlError
from proxy.core.endpoint import recognise
from proxy.core.receive import receive
from proxy.core.recorded import RecordError
from proxy.core.tenant import ForbiddenModelError, UnauthorizedError
from proxy.core.warming import Result, Spot, Target, Wanted, plan
from proxy.habits import Habits
from proxy.tasks import off_loop
from proxy.wish import Wish

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from proxy.config import Warming
    from proxy.core.message import Arrival
    from proxy.core.prefix import Prompt
    from proxy.core.request import Request
    from proxy.core.rules import Rules
    from proxy.core.warming import Shadow
    from proxy.habits import Habit
    from proxy.node import Node
    from proxy.ports import Clock
    from proxy.shadows import Shadows

EVERY: Final = 1.0
"""Seconds between two looks."""
_AHEAD: Final = 60.0
"""Seconds by which an hour's usual uses are expected before it begins."""
_PATIENCE: Final = 600.0
"""Seconds that a schedule's prompt waits for an idle node, or for its budget."""
_SHARED: Final = 60.0
"""Seconds for which a schedule's time is one gateway's alone, whatever the others' clocks say."""
_MEANING: Final = frozenset(("anthropic-version", "anthropic-beta"))
"""Headers without which a body cannot be read."""


class Errand(NamedTuple):
    """Prompts that a schedule wants computed now."""

    name: bytes
    """Of the schedule and its time; all gateways of a fleet know it by that."""
    read: Callable[[], Awaitable[Sequence[Arrival]]]


class Warmer:
    """Decides when, and at which node."""

    def __init__(
        self,
        shadows: Shadows,
        rules: Rules,
        *,
        settings: Warming,
        prompted: Callable[[bytes, Request, Hints], Prompt | None],
        due: Callable[[], Sequence[Errand]] = tuple,
        epoch: Callable[[], int] = int,
        lasts: float = 0.0,
        clock: Clock,
    ) -> None:
        """`due`: what schedules want since it was last asked. `epoch`: another one means that all
        stored answers are void, which had `lasts` seconds to live."""
        self._shadows, self._rules, self._settings = shadows, rules, settings
        self._prompted, self._due, self._clock = prompted, due, clock
        self._epoch, self._lasts, self._voided = epoch, lasts, epoch()
        self.learns = settings.mode == "on"
        """Whether it goes by what is asked."""
        kept = rules.read_headers - rules.control_names | _MEANING
        self._kept = kept - {"accept-encoding", "content-encoding"}
        self.habits = Habits(settings, prompted, self._plain, clock)

    def coming(self, prompt: Prompt) -> None:
        """A request is about to be sent."""
        self._shadows.coming(prompt)

    def seen(self, arrival: Arrival, request: Request, prompt: Prompt, node: str) -> None:
        """A node began to answer a request."""
        if self.learns:
            self.habits.note(arrival, request, prompt, node)

    async def demand(
        self, arrival: Arrival, *, node: str = "", everywhere: bool = False
    ) -> list[Result]:
        """Have this request's prompt computed now, by the node that it would be sent to, by the one
        that is named, or by each that serves it. Raises: RecordError."""
        target = await self._target(arrival)
        nodes = self._serving(target.request)
        if node:
            nodes = [one for one in nodes if one.name == node]
        if not nodes:
            raise RecordError("no such node serves its model" if node else "no node serves it")
        if not everywhere:
            nodes = [self._best(nodes, target)]
        return [await self._shadows.warm(one, target) for one in nodes]

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                while True:
                    await self._clock.sleep(EVERY)
                    await self._look(group)
        except asyncio.CancelledError:
            self._shadows.close()  # those on demand too: nobody shall wait for them
            raise

    async def _look(self, group: asyncio.TaskGroup) -> None:
        await self._shadows.tenure.settle()
        for errand in self._due():
            group.create_task(self._done(errand))
        if self.learns:
            await self.habits.learn()
            if (epoch := self._epoch()) != self._voided:
                self._voided = epoch
                self.habits.again(self._lasts)
            for one in self.planned():
                group.create_task(self._made(one))

    def planned(self) -> list[Shadow]:
        """What is worth a call now."""
        now, wanted = self._clock.now(), []
        for habit in self.habits.frequent():
            if habit.target is not None:
                rate = habit.uses.rate(now, ahead=_AHEAD)
                for zone, nodes in self._zones(habit.target).items():
                    near = zone == self._shadows.zone
                    copies = self._settings.copies if near else self._settings.standby
                    spots = list(self._spots(habit, habit.target, nodes)) if copies else []
                    wanted.append(Wanted(habit.digest, habit.tokens, rate, spots, copies))
        return plan(wanted)

    def _zones(self, target: Target) -> dict[str, list[Node]]:
        """The nodes that it may be computed at. What one that is out still holds is of no use."""
        zones: dict[str, list[Node]] = {}
        for node in self._serving(target.request):
            if node.health.takes and self._ours(node, target):
                zones.setdefault(node.zone, []).append(node)
        return zones

    def _spots(self, habit: Habit, target: Target, nodes: Sequence[Node]) -> Iterator[Spot]:
        """These nodes, the one first that the prompt would be sent to."""
        best, mono = self._best(nodes, target), self._clock.mono()
        for node in sorted(nodes, key=lambda one: one is not best):
            yield Spot(
                node.name,
                self._shadows.providers.rule(node.name, target.request.model),
                self._shadows.held(node, target),
                mono - habit.at.get(node.name, float("-inf")),
                self._shadows.idle(node, target),
            )

    def _ours(self, node: Node, target: Target) -> bool:
        """Whether it is allowed, and at nobody's expense but the operator's."""
        rule = self._shadows.providers.rule(node.name, target.request.model)
        billed = rule.paid and (target.request.credential is not None or node.credential is None)
        return not billed and not self._shadows.barred(node, target)

    def _serving(self, request: Request) -> list[Node]:
        return [node for node in self._shadows.fleet.nodes if node.serves(request.model)]

    def _best(self, nodes: Sequence[Node], target: Target) -> Node:
        """The one that the request would be sent to, of those that may be warmed and are idle."""
        may = [node for node in nodes if not self._shadows.barred(node, target)] or nodes
        idle = [node for node in may if self._shadows.idle(node, target)] or may
        request = target.request
        wish = Wish(tuple(may), request.model, request.tenant, sticky=False, prompt=target.prompt)
        return self._shadows.fleet.router.pick(idle, wish).node

    async def _target(self, arrival: Arrival) -> Target:
        """What a recorded request stands for. Raises: RecordError."""
        endpoint = recognise(arrival.method, arrival.path)
        if endpoint is None:
            raise RecordError("no operation that has a prompt")
        try:
            request = receive(arrival, endpoint, self._rules).request
        except (UnauthorizedError, ForbiddenModelError, ControlError) as error:
            raise RecordError(str(error) or "no credential of a configured tenant") from error
        made = await off_loop(len(arrival.body), self._prompted, arrival.body, request, Hints())
        if made is None:
            raise RecordError("it has no prompt")
        if made.beside:
            raise RecordError("it has several prompts: each must be a request of its own")
        return Target(self._plain(arrival, arrival.body), request, made)

    def _plain(self, arrival: Arrival, body: bytes) -> Arrival:
        """With those headers only that say whose it is, and what it means."""
        headers = tuple([pair for pair in arrival.headers if pair[0].lower() in self._kept])
        return msgspec.structs.replace(arrival, headers=headers, body=body, id="")

    async def _made(self, one: Shadow) -> None:
        habit = self.habits.get(one.digest)
        node = next(node for node in self._shadows.fleet.nodes if node.name == one.node)
        if habit is None or habit.target is None:
            return
        rule = self._shadows.providers.rule(node.name, habit.target.request.model)
        since = self._clock.mono() - habit.at.get(node.name, float("-inf"))
        result = await self._shadows.warm(node, habit.target, renewed=since < rule.ttl)
        if result.outcome == "warmed":
            habit.at[one.node] = self._clock.mono()
        elif result.outcome == "refused":
            self.habits.refuse(habit)

    async def _done(self, errand: Errand) -> None:
        """All prompts of an errand, one after the other, unless another gateway does it."""
        if not await self._shadows.tenure.take(blake3(errand.name).digest(), _SHARED):
            return
        for arrival in await errand.read():
            until = self._clock.mono() + _PATIENCE
            with suppress(RecordError):
                while (again := await self._later(arrival)) and self._clock.mono() < until:
                    await self._clock.sleep(again)

    async def _later(self, arrival: Arrival) -> float:
        """Seconds after which to try again; 0: it is done, or never will be."""
        return max(result.again for result in await self.demand(arrival))

    def __repr__(self) -> str:
        return f"<Warmer {self.habits!r}, {self._shadows!r}>"
