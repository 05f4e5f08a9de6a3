"""Whatever is believed of the nodes, who asks gets its own answer, and nothing is left behind."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.config import Breaker, Overload, Routing
from proxy.core.chain import Boundary
from proxy.core.health import Health
from proxy.core.limiter import Limiter
from proxy.core.message import Call
from proxy.core.prefix import Prompt, chained
from proxy.core.route import Load
from proxy.core.table import News
from proxy.fleet import Fleet
from proxy.node import Node
from proxy.ports import UpstreamError
from proxy.quantity import Timeout
from proxy.router import Router
from proxy.watch import Watch
from tests.fakes import Answer, FakeClock, FakeResponse, settle

if TYPE_CHECKING:
    from proxy.core.events import Event
    from proxy.core.health import Sign

NAMES = "abcd"
SILENT = frozenset(("connect", "reused", "cut", "protocol"))
UNWELL = frozenset(("500", "429", "503"))
FINAL = frozenset(("200", "404", "broken", "timeout"))
"""After these no other node is asked: as good as it gets."""
FATES = [*FINAL, "200", "200", "slow", "slow", "hangs", *SILENT, *UNWELL]
ROUTING = Routing(prefill_tokens=500, prefill_wait=Timeout(0.01), table_entries=40, decisions=8)


@dataclass(frozen=True)
class Asked:
    """A request, and what each node does with it."""

    name: str
    fates: dict[str, str]
    prompt: Prompt | None
    repeatable: bool
    sticky: bool
    out: set[str] = field(default_factory=set)
    """Nodes that were not simply well at some time since it was asked."""


class Noted(Health):
    """Of a node whose clients are told when it is out."""

    def __init__(self, name: str, asked: dict[str, Asked]) -> None:
        super().__init__(probed=True)
        self._name, self._asked = name, asked

    def _leave(self) -> None:
        super()._leave()
        for one in self._asked.values():
            one.out.add(self._name)


class Teller:
    """A node whose answers say to whom they belong."""

    def __init__(self, name: str, fuzz: Fuzz) -> None:
        self.name, self.fuzz = name, fuzz
        self.answering = 0

    async def send(self, call: Call) -> FakeResponse:
        assert isinstance(call.body, bytes)
        asked = self.fuzz.asked[call.body.decode()]
        fate = asked.fates[self.name]
        self.answering += 1
        try:
            for _ in range(self.fuzz.random.randrange(20) if fate == "slow" else 0):
                await asyncio.sleep(0)
            if fate == "hangs":
                await self.fuzz.over.wait()
            if fate in SILENT or fate == "timeout":
                raise UpstreamError(self.name, fate, asked.name)
        except BaseException:
            self._closed()
            raise
        return FakeResponse(self._answer(asked.name, fate), self.name, self._closed)

    def _answer(self, name: str, fate: str) -> Answer:
        if fate.isdecimal() and fate != "200":
            headers = (("retry-after", "1"),) if fate == "429" else ()
            return Answer((self.said(name),), status=int(fate), headers=headers)
        middle: list[bytes | Exception] = [self.told(), self.said(name)]
        if fate == "broken":
            middle.insert(0, UpstreamError(self.name, "cut", name))
        return Answer((self.said(name), *middle))

    def said(self, name: str) -> bytes:
        return f"<{self.name} to {name}>".encode()

    def told(self) -> bytes:
        """Some usage, true or not."""
        cached = self.fuzz.random.choice([0, 0, 10, 10**400])
        return b'{"usage":{"prompt_tokens":10,"prompt_cache_hit_tokens":%d}}' % cached

    def _closed(self) -> None:
        self.answering -= 1


class Fuzz:
    """A fleet, its clients, and somebody who spoils all that is believed."""

    def __init__(self, seed: int, *, crowded: bool, policy: str) -> None:
        self.random = random.Random(seed)
        self.crowded = crowded
        self.clock = FakeClock()
        self.events: list[Event] = []
        self.over = asyncio.Event()
        self.asked: dict[str, Asked] = {}
        self.going: dict[str, Asked] = {}
        """Those that are not answered yet."""
        self.clients: list[asyncio.Task[None]] = []
        self.answered = 0
        limit = 3 if crowded else 10_000
        self.tellers = [Teller(name, self) for name in NAMES]
        self.nodes = [
            Node(one.name, one, limiter=Limiter(limit), probe=self.probed) for one in self.tellers
        ]
        for node in self.nodes:
            node.health = Noted(node.name, self.going)
        settings = msgspec.structs.replace(ROUTING, policy=policy)
        emit = self.events.append
        self.router = Router(self.nodes, self.clock, emit, settings=settings)
        self.router.gossip.share()
        self.fleet = Fleet(
            self.nodes,
            self.clock,
            emit,
            breaker=Breaker(min_calls=15 if crowded else 1_000_000, open_for=Timeout(1)),
            overload=Overload(queue=30, retry_ratio=100.0, max_attempts=len(NAMES)),
            router=self.router,
        )
        self.watch = Watch(self.nodes, self.router.lost, self.clock, emit)
        self.mending = False

    async def probed(self) -> Sign:
        await asyncio.sleep(0)
        signs: tuple[Sign, ...] = ("alive", "alive", "silent", "unwell")
        return "alive" if self.mending else self.random.choice(signs)

    def chain(self) -> tuple[Boundary, ...]:
        sizes = [self.random.choice([0, 9, 5000, 1 << 40]) for _ in range(self.random.randrange(9))]
        mine = self.prompt().chain
        return tuple([Boundary(self.random.randbytes(16), size) for size in sizes]) + mine

    def prompt(self) -> Prompt:
        """One of a few conversations, that begin alike."""
        texts = ["s" * 4000, *(f"{self.random.randrange(3)}" * 3000 for _ in range(2))]
        made = chained((), [(b"user", text.encode()) for text in texts])
        assert made is not None
        return made

    def ask(self) -> Asked:
        made = Asked(
            name=f"request {len(self.asked)}",
            fates={name: self.random.choice(FATES) for name in NAMES},
            prompt=self.prompt() if self.random.random() < 0.8 else None,
            repeatable=self.random.random() < 0.9,
            sticky=self.random.random() < 0.1,
        )
        self.asked[made.name] = made
        return made

    async def client(self, asked: Asked) -> None:
        call = Call("POST", "/v1/chat/completions", "", (), asked.name.encode())
        answer, self.going[asked.name] = None, asked
        asked.out.update(node.name for node in self.nodes if node.health.state != "in")
        try:
            answer = await self.fleet.send(
                "m",
                lambda _: call,
                repeatable=asked.repeatable,
                sticky=asked.sticky,
                tenant=self.random.choice([b"a", b"b"]),
                prompt=asked.prompt,
            )
            body = b"".join([chunk async for chunk in answer])
            self.judge_answer(asked, answer.node, answer.head.status, body)
        except UpstreamError as error:
            self.judge_error(asked, error)
        finally:
            del self.going[asked.name]
            if answer is not None:
                await answer.aclose()
        self.answered += 1

    def judge_answer(self, asked: Asked, node: str, status: int, body: bytes) -> None:
        fate, said = asked.fates[node], f"<{node} to {asked.name}>".encode()
        assert body.startswith(said)
        assert body.endswith(said)
        assert str(status) == (fate if fate.isdecimal() else "200")
        assert fate in FINAL or fate in UNWELL or fate in ("slow", "hangs")
        if asked.sticky and asked.fates["a"] not in SILENT | {"slow", "hangs"}:
            assert node == "a" or self.crowded
        if fate in UNWELL and asked.repeatable and not asked.sticky:
            self.judge_last(asked)

    def judge_error(self, asked: Asked, error: UpstreamError) -> None:
        if error.kind == "overload":
            assert self.crowded
            return
        fate = asked.fates[error.node]
        if error.kind == "ejected":
            assert fate in ("slow", "hangs")
            assert self.crowded or not asked.repeatable
            return
        assert str(error) == asked.name
        assert error.kind == ("cut" if fate == "broken" else fate)
        if fate in SILENT and (asked.repeatable or fate == "connect"):
            self.judge_last(asked)

    def judge_last(self, asked: Asked) -> None:
        """There was no better answer to be had, of nodes that were well all the time."""
        if not self.crowded:
            assert not FINAL & {asked.fates[name] for name in asked.fates.keys() - asked.out}

    async def spoil(self) -> None:
        """Believe something else."""
        node = self.random.choice(self.nodes)
        match self.random.randrange(8):
            case 0:
                self.router.gossip.hear([News(node.name, self.chain()), News("x", self.chain())])
            case 1:
                life = (self.router.gossip.table.epoch(node.name) or 0) + self.random.randrange(2)
                self.router.gossip.hear([News(node.name, None, epoch=life), News(node.name, ())])
            case 2:
                loads = [0.0, 7.0, 1e6, float(1 << 40)]
                loads = self.random.sample(loads, 2)
                self.router.gossip.hear_loads(
                    [{node.name: Load(load, 3), "x": Load(1, 1)} for load in loads]
                )
            case 3:
                self.router.lost(node)
            case 4:
                node.health.refused()
            case 5:
                self.router.gossip.told()
                self.router.gossip.loads()
                self.fleet.measure()
            case _:
                await self.watch.look(node)

    async def step(self) -> None:
        self.clients += [
            asyncio.create_task(self.client(self.ask())) for _ in range(self.random.randrange(6))
        ]
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        await self.spoil()
        # In the same turn of the loop as what a probe has ended.
        for client in self.clients:
            if self.random.random() < 0.03:
                client.cancel()
        self.clock.advance(self.random.choice([0.0, 0.1, 1.0]))
        for client in [client for client in self.clients if client.done()]:
            self.clients.remove(client)
            with suppress(asyncio.CancelledError):
                client.result()

    async def end(self) -> None:
        """All that waits is let go."""
        self.over.set()
        while waiting := [client for client in self.clients if not client.done()]:
            await asyncio.wait(waiting, timeout=0.02)
            self.clock.advance(1.0)
        for client in self.clients:
            with suppress(asyncio.CancelledError):
                client.result()
        await settle()

    async def mend(self) -> None:
        self.mending = True
        for node in self.nodes:
            await self.watch.look(node)
        self.clock.advance(60)


CASES = [
    (seed, False, policy) for seed, policy in enumerate(["prefix", "prefix", "ring", "random"])
]


@pytest.mark.parametrize(
    ("seed", "crowded", "policy"), [*CASES, (8, True, "prefix"), (9, True, "ring")]
)
async def test_wrong_beliefs_cost_no_answer_and_leave_nothing_behind(
    seed: int, crowded: bool, policy: str
) -> None:
    fuzz = Fuzz(seed, crowded=crowded, policy=policy)
    for _ in range(1000):
        await fuzz.step()
    await fuzz.end()

    assert fuzz.answered > 800
    assert [(node.running, node.queued) for node in fuzz.nodes] == [(0, 0)] * len(NAMES)
    assert [one.answering for one in fuzz.tellers] == [0] * len(NAMES)
    left = [(node.outstanding._silent, node.outstanding._answers) for node in fuzz.nodes]
    assert left == [({}, {})] * len(NAMES)
    assert len(fuzz.router.prefills) == 0
    assert len(fuzz.fleet._gate._waiting) == 0
    assert len(asyncio.all_tasks()) == 1
    await fuzz.mend()
    for _ in range(20):
        asked = fuzz.ask()
        asked.fates.update(dict.fromkeys(NAMES, "200"))
        await fuzz.client(asked)
    assert all(node.health.takes for node in fuzz.nodes)
