"""How much engines have to do, asked of a real server: what it says counts, whatever else it does
costs nothing."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeVar

import pytest

from proxy.adapters.http.load import Loads
from proxy.config import ConfigError, Upstream, parse
from proxy.core.events import EngineAsked, EngineLoaded
from proxy.core.route import Load
from proxy.node import Node
from proxy.router import Router
from proxy.wish import Wish
from tests.core.test_workload import LLAMA, SGLANG, VLLM
from tests.fakes import FakeClock, FakeUpstream, settle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from proxy.core.events import Event
    from proxy.core.route import Candidate

E = TypeVar("E")

GARBAGE = b"\x00 no metrics at all"


class Exporter:
    """An engine's HTTP server, as far as its metrics go."""

    def __init__(self) -> None:
        self.text: bytes | None = VLLM
        """None: it stands still."""
        self.status, self.chunked, self.endless = 200, False, False
        self.asked: list[bytes] = []
        self.open = 0
        self.over = asyncio.Event()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.asked.append(head)
                await self._answer(writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def _answer(self, writer: asyncio.StreamWriter) -> None:
        if self.text is None:
            await self.over.wait()
            return
        coding = b"transfer-encoding: chunked" if self.chunked or self.endless else b""
        length = b"content-length: %d" % len(self.text)
        writer.write(b"HTTP/1.1 %d So\r\n%b\r\n\r\n" % (self.status, coding or length))
        while self.endless:
            writer.write(b"10000\r\n" + b"#" * 0x10000 + b"\r\n")
            await writer.drain()
        half = len(self.text) // 2
        parts = (self.text[:half], self.text[half:], b"") if coding else (self.text,)
        for part in parts:
            writer.write(b"%x\r\n%b\r\n" % (len(part), part) if coding else part)
            await writer.drain()
        if self.status != 200:
            writer.close()


class Desk:
    """A router over nodes a and b that asks a's engine."""

    def __init__(self, port: int, path: str, credential: str | None) -> None:
        self.clock = FakeClock()
        self.events: list[Event] = []
        self.nodes = [
            Node(name, FakeUpstream(), credential=credential if name == "a" else None)
            for name in "ab"
        ]
        emit = self.events.append
        self.router = Router(self.nodes, self.clock, emit)
        table = Upstream(name="a", url=f"http://127.0.0.1:{port}/v1", metrics=path)
        pairs = [(table, self.nodes[0])]
        self.loads = Loads(pairs, self.router, self.clock, emit, lambda: 0.5)

    def candidate(self, at: int) -> Candidate:
        """As which one of the nodes stands for a choice."""
        wish = Wish(tuple(self.nodes), "m", b"", sticky=False)
        return self.router.pick(self.nodes, wish).candidates[at]

    async def next(self) -> str:
        """What came of the next time that it is asked."""
        before = len(self.told(EngineAsked))
        self.clock.advance(1.0)
        await self.until(lambda: len(self.told(EngineAsked)) > before)
        await settle()
        return self.told(EngineAsked)[-1].result

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not true():  # noqa: ASYNC110  # what is looked at knows of no events
                await asyncio.sleep(0.001)

    def told(self, kind: type[E]) -> list[E]:
        return [one for one in self.events if isinstance(one, kind)]

    def strange(self) -> Load:
        return self.nodes[0].strangers.now(self.clock.mono())


@asynccontextmanager
async def asking(
    path: str = "/metrics", credential: str | None = None
) -> AsyncIterator[tuple[Exporter, Desk]]:
    exporter = Exporter()
    server = await asyncio.start_server(exporter.connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    desk = Desk(port, path.replace("PORT", str(port)), credential)
    task = asyncio.create_task(desk.loads.run())
    await settle()
    try:
        yield exporter, desk
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        exporter.over.set()
        server.close()
        await desk.until(lambda: not exporter.open)


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("text", "running", "waiting"), [(VLLM, 8, 3), (SGLANG, 162, 2826), (LLAMA, 4, 2)]
)
async def test_what_others_have_an_engine_do_is_its_load(
    text: bytes, running: int, waiting: int, chunked: bool
) -> None:
    async with asking() as (exporter, desk):
        exporter.text, exporter.chunked = text, chunked
        told = await desk.next()

    assert told == "ok"
    assert desk.strange() == Load(waiting * 2048 + running * 256, running + waiting)
    assert desk.told(EngineLoaded) == [EngineLoaded("a", running, waiting, running + waiting)]
    assert exporter.asked[0].startswith(b"GET /metrics HTTP/1.1\r\n")


async def test_what_the_gateways_sent_there_is_not_counted_twice() -> None:
    """Calls of this one, of the others, a shadow call, and what came or went meanwhile."""
    async with asking() as (_, desk):
        node = desk.nodes[0]
        node.running = 4
        desk.router.gossip.hear_loads([{"a": Load(0.0, 3)}])
        node.shadow = lambda: None
        await desk.next()
        first = desk.strange().running
        node.running = 9
        await desk.next()

    assert (first, desk.strange().running) == (11 - 4 - 3 - 1, 0)


async def test_a_node_that_others_load_gets_less() -> None:
    async with asking() as (_, desk):
        before = desk.candidate(0)
        await desk.next()
        after = desk.candidate(0)
        other = desk.candidate(1)

    assert (before.queued, before.running) == (other.queued, other.running) == (0, 0)
    assert (after.queued, after.running) == (3 * 2048 + 8 * 256, 11)


@pytest.mark.parametrize(
    ("trouble", "result"),
    [
        ({"text": GARBAGE}, "unreadable"),
        ({"text": b""}, "unreadable"),
        ({"status": 404}, "failed"),
        ({"text": None}, "failed"),
        ({"endless": True}, "too_large"),
    ],
)
async def test_what_cannot_be_had_counts_for_nothing_after_three_seconds(
    trouble: dict[str, object], result: str
) -> None:
    """And is asked for again."""
    async with asking() as (exporter, desk):
        await desk.next()
        for name, value in trouble.items():
            setattr(exporter, name, value)
        results = [await desk.next()]
        still = desk.strange().running
        results += [await desk.next() for _ in range(3)]
        stale = desk.strange()
        exporter.text, exporter.status, exporter.endless = VLLM, 200, False
        exporter.over.set()
        again = await desk.next()

    assert results == [result] * 4
    assert (still, stale) == (11, Load(0.0, 0))
    assert desk.told(EngineLoaded)[1] == EngineLoaded("a", 0, 0, 0)
    assert len(desk.told(EngineLoaded)) == 3
    assert (again, desk.strange().running) == ("ok", 11)


async def test_a_node_that_is_not_there_is_no_worse_off() -> None:
    async with asking("http://127.0.0.1:1/metrics") as (exporter, desk):
        assert await desk.next() == "failed"
        assert desk.strange() == Load(0.0, 0)
        assert exporter.asked == []


@pytest.mark.parametrize(
    ("path", "sent"), [("/metrics?x=1", True), ("http://localhost:PORT/metrics?x=1", False)]
)
async def test_its_credential_is_shown_to_the_node_alone(path: str, sent: bool) -> None:
    async with asking(path, credential="sk-secret") as (exporter, desk):
        assert await desk.next() == "ok"

    assert exporter.asked[0].startswith(b"GET /metrics?x=1 HTTP/1.1\r\n")
    assert (b"sk-secret" in exporter.asked[0]) is sent


async def test_who_ends_while_it_is_asked_leaves_no_connection() -> None:
    """Whatever comes then changes nothing: `asking` waits until the server has none."""
    async with asking() as (exporter, desk):
        exporter.text = None
        desk.clock.advance(1.0)
        await desk.until(lambda: bool(exporter.asked))

    assert desk.told(EngineAsked) == []


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("", True),
        ("/metrics", True),
        ("/metrics?a=b", True),
        ("http://gpu:9000/metrics", True),
        ("metrics", False),
        ("http://gpu:9000", False),
        ("ftp://gpu/metrics", False),
        ("/a b", False),
    ],
)
def test_where_it_is_asked_is_a_path_or_a_url(value: str, good: bool) -> None:
    text = f'[[upstream]]\nname = "a"\nurl = "http://a/v1"\nmetrics = "{value}"\n'
    if good:
        assert parse(text).upstream[0].metrics == value
    else:
        with pytest.raises(ConfigError, match=r"upstream\[0\]\.metrics|upstream\[\.\.\.\]"):
            parse(text)
