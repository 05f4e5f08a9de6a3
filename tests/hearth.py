"""A fleet of nodes a, b, c … that are played by hand, and a warmer in front of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

import orjson

from proxy.adapters.leases import NoLeases
from proxy.config import parse
from proxy.core.context import Hints
from proxy.core.events import Warmed
from proxy.core.message import Call
from proxy.core.prefix import Prompt, prompt
from proxy.core.providers import Providers
from proxy.core.purse import DAY, MINUTE, Allowance, Purse
from proxy.core.savings import Savings
from proxy.fleet import Fleet
from proxy.node import Node
from proxy.router import Router
from proxy.shadows import Shadows
from proxy.tenure import Tenure
from proxy.warmer import EVERY, Warmer
from tests.asking import RULES, arrival, lookup
from tests.fakes import Answer, FakeClock, FakeUpstream, settle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.answering import Answering
    from proxy.config import Warming
    from proxy.core.events import Event
    from proxy.core.message import Arrival
    from proxy.core.purse import Common
    from proxy.core.request import Request
    from proxy.core.rules import Rules
    from proxy.core.savings import Awaited
    from proxy.core.warming import Result
    from proxy.ports import Leases
    from proxy.warmer import Errand
    from tests.fakes import Piece

E = TypeVar("E")


def telling(cached: int, of: int, *pieces: Piece) -> Answer:
    """An answer of a node that had kept so much."""
    details = {"cached_tokens": cached}
    usage = {"prompt_tokens": of, "prompt_tokens_details": details}
    return Answer((*pieces, orjson.dumps({"choices": [], "usage": usage})))


def conversation(question: str = "hi", system: str = "Be careful. " * 1000, **more: Any) -> Any:
    """Its system prompt alone is about 3000 tokens."""
    told = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": "m", "messages": told, **more}


def allowance(settings: Warming, common: Common | None = None) -> Allowance:
    """All of it for the one worker."""
    tokens, money = settings.tokens_per_minute, settings.money_per_day
    return Allowance(Purse(tokens, MINUTE), Purse(money, DAY), common)


class Hearth:
    """`settings`: TOML, with an [[upstream]] for each node."""

    def __init__(
        self,
        *upstreams: FakeUpstream,
        settings: str = "",
        urls: str = "http://gpu:8000/v1",
        leases: Leases | None = None,
        credentials: str | None = None,
        due: Callable[[], Sequence[Errand]] = tuple,
        rules: Rules = RULES,
        clock: FakeClock | None = None,
        savings: Awaited | None = None,
        common: Common | None = None,
    ) -> None:
        self.upstreams = upstreams or (FakeUpstream(Answer((b"{}",))),)
        names = "abcdef"[: len(self.upstreams)]
        nodes = "".join(f'[[upstream]]\nname = "{name}"\nurl = "{urls}"\n' for name in names)
        config = parse(f"{nodes}\n{settings}")
        self.rules, self.clock = rules, clock or FakeClock()
        self.events: list[Event] = []
        self.epoch = 7
        """Of stored answers, which last an hour."""
        self.nodes = [
            Node(name, upstream, credential=credentials)
            for name, upstream in zip(names, self.upstreams, strict=True)
        ]
        self.router = Router(self.nodes, self.clock, self.events.append)
        self.fleet = Fleet(self.nodes, self.clock, self.events.append, router=self.router)
        self.shadows = Shadows(
            self.fleet,
            Providers(config),
            Tenure(leases or NoLeases(), self.clock),
            settings=config.warming,
            prompted=self.prompted,
            stripped=rules.control_names,
            zone="local",
            allowance=allowance(config.warming, common),
            savings=Savings() if savings is None else savings,
            clock=self.clock,
            emit=self.events.append,
        )
        self.warmer = Warmer(
            self.shadows,
            rules,
            settings=config.warming,
            prompted=self.prompted,
            due=due,
            epoch=lambda: self.epoch,
            lasts=3600.0,
            clock=self.clock,
        )

    def prompted(self, body: bytes, request: Request, hints: Hints) -> Prompt | None:
        return prompt(body, request, self.rules, hints)

    async def warm(self, body: Any, **how: Any) -> list[Result]:
        return await self.warmer.demand(arrival(body), **how)

    async def warmed(self, body: Any, **how: Any) -> str:
        """What came of it, at the one node."""
        (result,) = await self.warm(body, **how)
        return result.outcome

    async def ask(self, body: Any, *headers: tuple[str, str]) -> Answering:
        """As a client's request goes its way, up to its answer's head."""
        asked = arrival(body, *headers)
        request = lookup(asked, self.rules).request
        made = self.prompted(asked.body, request, Hints())
        assert made is not None
        self.warmer.coming(made)
        build = self._call(asked)
        answer = await self.fleet.send(request.model, build, prompt=made, tenant=request.tenant)
        self.warmer.seen(asked, request, made, answer.node)
        return answer

    async def asked(self, body: Any, *headers: tuple[str, str]) -> tuple[str, str, int]:
        """Where it went, why, and how many tokens were thought to be there; once it is over."""
        answer = await self.ask(body, *headers)
        try:
            async for _ in answer:
                pass
        finally:
            await answer.aclose()
        return answer.node, answer.why.reason, answer.why.cached

    def _call(self, asked: Arrival) -> Callable[[Node], Any]:
        return lambda node: Call("POST", asked.path, "", asked.headers, asked.body)

    def sent(self, at: int = 0) -> list[Any]:
        """The bodies that a node was sent."""
        bodies = [call.body for call in self.upstreams[at].calls]
        return [orjson.loads(body) for body in bodies if isinstance(body, bytes)]

    def told(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    def outcomes(self) -> list[str]:
        return [event.outcome for event in self.told(Warmed)]

    async def look(self, times: int = 1) -> None:
        """Let the warmer, which must run, look so often."""
        for _ in range(times):
            self.clock.advance(EVERY)
            await settle()

    def running(self) -> asyncio.Task[None]:
        return asyncio.create_task(self.warmer.run())
