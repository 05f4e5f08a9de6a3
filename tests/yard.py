"""A fleet of nodes a, b, c … that are played by hand, and what happened to it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from proxy.config import Breaker, Overload
from proxy.core.limiter import Limiter
from proxy.core.message import Call
from proxy.fleet import Fleet
from proxy.node import Node
from proxy.ports import UpstreamError
from tests.fakes import Answer, FakeClock, FakeUpstream, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.answering import Answering
    from proxy.core.events import Event
    from tests.fakes import Piece

CALL = Call("POST", "/v1/chat/completions", "", (), b"{}")
OK = Answer((b"ok",))
_BREAKER = Breaker()
_OVERLOAD = Overload()

E = TypeVar("E")


def failing(kind: str, node: str = "gpu") -> UpstreamError:
    return UpstreamError(node, kind, "it failed")


def saying(status: int, **headers: str) -> Answer:
    """A node's refusal. Names of headers with _ for -."""
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Answer((b"no",), status=status, headers=pairs)


def held(*pieces: Piece) -> tuple[Answer, asyncio.Event]:
    """An answer whose body waits to be let go."""
    gate = asyncio.Event()
    return Answer((b"o", gate, *(pieces or (b"k",)))), gate


def limiter(most: int, least: int = 0) -> Limiter:
    return Limiter(most, least=least, adaptive=True) if least else Limiter(most)


async def read(answer: Answering) -> bytes:
    try:
        return b"".join([chunk async for chunk in answer])
    finally:
        await answer.aclose()


class Yard:
    def __init__(
        self,
        *upstreams: FakeUpstream,
        limit: int = 1000,
        least: int = 0,
        breaker: Breaker = _BREAKER,
        overload: Overload = _OVERLOAD,
        credentials: Sequence[str | None] = (),
        models: Sequence[str] = "******",
    ) -> None:
        """`least`: the limit adapts, but never below. `models`: the one that each serves."""
        self.clock = FakeClock()
        self.events: list[Event] = []
        self.upstreams = upstreams
        keys = list(credentials) or [None] * len(upstreams)
        self.nodes = [
            Node(name, upstream, models=(model,), credential=key, limiter=limiter(limit, least))
            for name, upstream, model, key in zip("abcdef", upstreams, models, keys, strict=False)
        ]
        self.fleet = Fleet(
            self.nodes, self.clock, self.events.append, breaker=breaker, overload=overload
        )

    async def send(
        self,
        model: str | None = "m",
        *,
        repeatable: bool = True,
        sticky: bool = False,
        tenant: bytes = b"",
        stream: bool = False,
    ) -> Answering:
        send = partial(self.fleet.send, model, lambda _: CALL, stream=stream)
        return await send(repeatable=repeatable, sticky=sticky, tenant=tenant)

    async def ask(self, model: str | None = "m", *, tenant: bytes = b"") -> int | str:
        """The status of a whole answer, or the kind of the failure."""
        try:
            answer = await self.send(model, tenant=tenant)
            await read(answer)
        except UpstreamError as error:
            return error.kind
        return answer.head.status

    def sending(self, *, tenant: bytes = b"", model: str = "m") -> asyncio.Task[Answering]:
        return asyncio.create_task(self.send(model, tenant=tenant))

    async def pass_time(self, seconds: float) -> None:
        """Step by step, so that who sleeps wakes in between."""
        for _ in range(10):
            self.clock.advance(seconds / 10)
            await settle()

    def calls(self) -> list[int]:
        return [len(upstream.calls) for upstream in self.upstreams]

    def running(self) -> list[int]:
        return [node.running for node in self.nodes]

    def told(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]
