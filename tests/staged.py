"""The path on a stage: a pipeline with fakes all around it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson

from proxy.adapters.leases import NoLeases
from proxy.adapters.memory import Memory
from proxy.adapters.peers.follow import NoPeers
from proxy.backlog import Backlog
from proxy.core.endpoint import recognise
from proxy.core.events import Served, StoreSkipped
from proxy.core.keeping import Keeping
from proxy.core.message import Head
from proxy.core.prefix import prompt
from proxy.core.quota import Quota
from proxy.fleet import Fleet
from proxy.flights import Flights
from proxy.keeper import Keeper
from proxy.marks import Marks
from proxy.meaning import Meaning
from proxy.meanings import NoMeaning
from proxy.memo import Memo
from proxy.node import Node
from proxy.origin import Origin
from proxy.pipeline import Pipeline
from proxy.ports import UpstreamError
from proxy.quotas import Quotas
from proxy.recall import Recall
from proxy.renders import Renders
from proxy.rescue import Rescue
from proxy.response import Report, Response
from proxy.sharing import Sharing
from proxy.strain import Strain
from proxy.tier import Tier
from proxy.tiers import Tiers
from tests import answers
from tests.asking import RULES, arrival, chat
from tests.fakes import EVENTS, JSON, Answer, FakeClock, FakeSemantic, FakeStore, FakeUpstream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from proxy.config import Static
    from proxy.core.entry import Key
    from proxy.core.events import Event
    from proxy.core.message import Headers
    from proxy.core.rules import Rules
    from proxy.meanings import Meanings
    from proxy.ports import Leases, Peers, Store
    from proxy.warmer import Warmer
    from tests.fakes import Piece

# No jitter: a test says when something is no longer fresh.
KEEPING = Keeping(jitter=0.0, stale_while_revalidate=60.0, stale_if_error=600.0, negative_ttl=10.0)
TTL = 3600.0
UNLIMITED = Quota()
STREAM = chat(stream=True)
METERED = chat(stream=True, stream_options={"include_usage": True})


def said(text: str = "hi", *more: tuple[str, str], **how: Any) -> Answer:
    """A chat completion."""
    return Answer((answers.dumps(answers.chat(text)),), headers=(*JSON, *more), **how)


def streamed(*texts: str) -> list[bytes]:
    """The events of a chat completion, usage included."""
    return answers.chat_events(texts or ("h", "i"), usage=answers.USAGE)


def streaming(pieces: Iterable[Piece] | None = None, *more: tuple[str, str], **how: Any) -> Answer:
    """An event stream."""
    given = streamed() if pieces is None else pieces
    return Answer(tuple(given), headers=(*EVENTS, *more), **how)


def failed(status: int, *more: tuple[str, str]) -> Answer:
    return Answer((answers.error("no"),), status=status, headers=(*JSON, *more))


def broken(kind: str = "cut") -> UpstreamError:
    return UpstreamError("gpu", kind, "it broke off")


class Got:
    """A response as a client has it."""

    def __init__(self, response: Response) -> None:
        self.response = response
        own = (line.split(": ", 1) for line in response.lines.splitlines())
        self.head = Head(response.head.status, (*response.head.headers, *((n, v) for n, v in own)))
        self.status = response.head.status
        self.outcome = self.head.get("x-cache")

    async def chunk(self) -> bytes:
        """The next that has arrived of a body that is still arriving; empty: it is over."""
        assert not isinstance(self.response.body, bytes)
        return await anext(aiter(self.response.body), b"")

    async def body(self) -> bytes:
        """The rest of the body, and the response is closed. Raises: UpstreamError."""
        if isinstance(self.response.body, bytes):
            return self.response.body
        try:
            return b"".join([chunk async for chunk in self.response.body])
        finally:
            await self.close()

    async def json(self) -> Any:
        return orjson.loads(await self.body())

    async def text(self) -> str:
        """What a chat completion says."""
        return str((await self.json())["choices"][0]["message"]["content"])

    async def close(self) -> None:
        if not isinstance(self.response.body, bytes):
            await self.response.body.aclose()


class Stage:
    """A gateway with one node, one tier and a clock that stands still."""

    def __init__(
        self,
        *script: Answer | UpstreamError,
        rules: Rules = RULES,
        stores: Sequence[Store] | None = None,
        leases: Leases | None = None,
        peers: Peers | None = None,
        limit: int = 1 << 20,
        statics: Sequence[Static] = (),
        quota: Quota = UNLIMITED,
        below: float = 0.0,
        keeping: Keeping = KEEPING,
        clock: FakeClock | None = None,
        semantic: FakeSemantic | None = None,
        scattered: bool = False,
        warmer: Callable[[Fleet], Warmer] | None = None,
    ) -> None:
        """`below`: the share of hits that is too low. `clock`: one that several stages go by.
        `scattered`: other workers have answers that this one cannot see. `warmer`: makes one for
        the fleet."""
        self.clock = clock or FakeClock()
        self.keeping = keeping
        self.events: list[Event] = []
        self.renewed: list[Key] = []
        self.upstream = FakeUpstream(*script)
        self.store = FakeStore()
        self.epoch = 0
        self.tiers = tiers = [
            _tier(f"tier{depth}", store)
            for depth, store in enumerate([self.store] if stores is None else stores)
        ]
        self.backlog = Backlog(self.events.append)
        held = Tiers(tiers, self.clock, self.events.append, self.backlog)
        self.flights = Flights(self.events.append, limit=limit)
        self.node = Node("gpu", self.upstream)
        self.fleet = Fleet([self.node], self.clock, self.events.append)
        self.warmer = None if warmer is None else warmer(self.fleet)
        self.unkept, self.paused = Marks(100, self.clock, 120.0), Marks(100, self.clock)
        self.strain = Strain(below, lambda: self.saturated, self.clock)
        self.saturated = False
        self.semantic = semantic or FakeSemantic()
        self.meaning: Meanings = NoMeaning()
        if semantic is not None:
            self.meaning = self._compared(semantic, held, scattered=scattered)
        self.chance = 1.0
        """The higher, the less is refreshed before it expires."""
        self.quotas = Quotas(quota, {}, clock=self.clock, emit=self.events.append)
        self.pipeline = self._pipeline(rules, held, leases, peers, statics, limit)

    def _pipeline(
        self,
        rules: Rules,
        held: Tiers,
        leases: Leases | None,
        peers: Peers | None,
        statics: Sequence[Static],
        limit: int,
    ) -> Pipeline:
        clock, emit = self.clock, self.events.append
        keeping, names = self.keeping, rules.control_names
        keeper = Keeper(
            held,
            keeping,
            self.unkept,
            clock=clock,
            emit=emit,
            max_entry_bytes=limit,
            meaning=self.meaning,
            renewed=self._renewed,
        )
        origin = Origin(
            self.fleet,
            keeper,
            self.quotas,
            prompted=lambda body, request, hints: prompt(body, request, rules, hints),
            stripped=names,
            warmer=self.warmer,
            clock=clock,
            emit=emit,
        )
        recall = Recall(
            held,
            Renders(1 << 20, zero_usage=False),
            lambda: self.epoch,
            clock,
            self.strain,
            self.quotas,
            Marks(100, clock),
            lambda: self.chance,
        )
        return Pipeline(
            memo=Memo(rules, 16),
            flights=self.flights,
            sharing=Sharing(leases or NoLeases(), peers or NoPeers(), clock),
            origin=origin,
            recall=recall,
            meaning=self.meaning,
            rescue=Rescue(recall, statics, self.paused, self.strain.tripped, clock, emit),
            quotas=self.quotas,
            unkept=self.unkept,
            epoch=lambda: self.epoch,
        )

    def _compared(self, semantic: FakeSemantic, held: Tiers, *, scattered: bool) -> Meaning:
        return Meaning(
            semantic,
            held,
            announce=None,
            epoch=lambda: self.epoch,
            flying=lambda key: self.flights.has((key, self.epoch)),
            scattered=scattered,
            timeout=1.0,
            patience=1.0,
            backlog=self.backlog,
            clock=self.clock,
            emit=self.events.append,
        )

    async def _renewed(self, key: Key, asked: float) -> None:
        self.renewed.append(key)

    async def ask(
        self,
        body: bytes | dict[str, Any] | None = None,
        *headers: tuple[str, str],
        path: str = "/v1/chat/completions",
    ) -> Got:
        """A request's response once its head is there. Raises: RefusedError."""
        asked = arrival(chat() if body is None else body, *headers, path=path)
        endpoint = recognise("POST", path)
        assert endpoint is not None
        report = Report("POST", endpoint.value, "req_1", self.clock, self.events.append)
        return Got(await self.pipeline.serve(asked, endpoint, report))

    def asking(
        self, body: bytes | dict[str, Any] | None = None, *headers: tuple[str, str]
    ) -> asyncio.Task[Got]:
        return asyncio.create_task(self.ask(body, *headers))

    @property
    def calls(self) -> int:
        return len(self.upstream.calls)

    def skipped(self) -> list[str]:
        """Why answers were not stored."""
        return [event.reason for event in self.events if isinstance(event, StoreSkipped)]

    def served(self) -> list[Served]:
        return [event for event in self.events if isinstance(event, Served)]


def _tier(name: str, store: Store) -> Tier:
    """A memory is looked into at once, as it is in a gateway."""
    if isinstance(store, Memory):
        return Tier(name, store, peek=store.peek, keep=store.keep)
    return Tier(name, store)


def header(headers: Headers, name: str) -> list[str]:
    """Every value of a header."""
    return [value for spelled, value in headers if spelled.lower() == name]
