"""Nodes that fall silent: left out, what waits there is asked elsewhere, taken back by a trial."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.http.probe import Probe, probed
from proxy.config import Breaker, Overload, Upstream
from proxy.core.events import NodeTurned, Retried, UpstreamFailed
from proxy.core.message import Call
from proxy.fleet import Fleet
from proxy.node import Node
from proxy.ports import UpstreamError
from proxy.watch import EVERY, Watch
from tests.fakes import Answer, FakeClock, FakeResponse, FakeUpstream, settle
from tests.gateway import free_port

if TYPE_CHECKING:
    from proxy.core.events import Event

CALL = Call("POST", "/v1/chat/completions", "", (), b"{}")
OK = Answer((b"ok",))


class Slow(FakeUpstream):
    """Never answers, and takes its time to end a call."""

    def __init__(self) -> None:
        super().__init__(OK)
        self.closed = asyncio.Event()

    async def send(self, call: Call) -> FakeResponse:
        try:
            await asyncio.Event().wait()
        finally:
            await self.closed.wait()
        raise AssertionError


class Ward:
    """Nodes a, b, c … that are well or not."""

    def __init__(self, *upstreams: FakeUpstream, overload: Overload | None = None) -> None:
        self.clock = FakeClock()
        self.events: list[Event] = []
        self.alive = dict.fromkeys("abcdef"[: len(upstreams)], True)
        self.upstreams = upstreams
        self.nodes = [
            Node(name, upstream, probe=self.probe(name))
            for name, upstream in zip("abcdef", upstreams, strict=False)
        ]
        self.fleet = Fleet(
            self.nodes, self.clock, self.events.append, overload=overload or Overload()
        )
        self.lost: list[str] = []
        self.refusing: set[str] = set()
        self.watch = Watch(
            self.nodes, lambda node: self.lost.append(node.name), self.clock, self.events.append
        )

    def probe(self, name: str):  # type: ignore[no-untyped-def]  # a closure
        async def asked() -> bool:
            if name in self.refusing:
                raise ConnectionRefusedError
            return self.alive[name]

        return asked

    async def look(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            for node in self.nodes:
                await self.watch.look(node)

    async def ask(self, *, repeatable: bool = True, sticky: bool = False) -> str:
        """Who answers, or how it failed."""
        try:
            answer = await self.fleet.send(
                "m", lambda _: CALL, repeatable=repeatable, sticky=sticky
            )
        except UpstreamError as error:
            return error.kind
        async for _ in answer:
            pass
        await answer.aclose()
        return answer.node

    def turned(self) -> list[tuple[str, str]]:
        return [(e.node, e.state) for e in self.events if isinstance(e, NodeTurned)]


def ward(size: int) -> Ward:
    return Ward(*(FakeUpstream(OK) for _ in range(size)))


async def test_a_silent_node_gets_nothing_until_it_answers_and_then_one_call() -> None:
    them = ward(2)
    them.alive["a"] = False
    await them.look()
    assert await them.ask() == "a"
    await them.look()
    assert [await them.ask() for _ in range(3)] == ["b"] * 3
    them.alive["a"] = True
    await them.look()
    assert [await them.ask() for _ in range(2)] == ["a", "a"]
    await them.look()

    assert them.turned() == [("a", "out"), ("a", "trial"), ("a", "in")]


async def test_a_trial_that_takes_its_time_is_not_given_up() -> None:
    door = asyncio.Event()
    them = Ward(FakeUpstream(Answer((b"ok",), door=door)), FakeUpstream(OK))
    them.alive["a"] = False
    await them.look(2)
    them.alive["a"] = True
    await them.look()
    task = asyncio.create_task(them.ask())
    for _ in range(3):
        await settle()
        await them.look()
    door.set()

    assert await task == "a"


async def test_nodes_that_are_not_probed_are_left_alone() -> None:
    clock = FakeClock()

    nodes = [Node("a", FakeUpstream(OK))]

    await Watch(nodes, lambda node: None, clock, lambda event: None).run()


async def test_a_long_answer_does_not_prolong_the_trial() -> None:
    door = asyncio.Event()
    them = Ward(FakeUpstream(Answer((b"o", door, b"k"))), FakeUpstream(OK))
    them.alive["a"] = False
    await them.look(2)
    them.alive["a"] = True
    await them.look()
    first = await them.fleet.send("m", lambda _: CALL)
    on_trial = await them.fleet.send("m", lambda _: CALL)
    await anext(first)
    states = [node.health.state for node in them.nodes]
    for answer in (first, on_trial):
        await answer.aclose()

    assert (first.node, on_trial.node) == ("a", "b")
    assert states == ["in", "in"]


@pytest.mark.parametrize("status", [404, 500])
async def test_an_error_is_no_sign_of_recovery(status: int) -> None:
    them = Ward(FakeUpstream(Answer((b"no",), status=status)), FakeUpstream(OK))
    them.alive["a"] = False
    await them.look(2)
    them.alive["a"] = True
    await them.look()
    asked = await them.ask()

    assert asked == ("a" if status == 404 else "b")
    assert them.nodes[0].health.state == ("trial" if status == 404 else "out")


async def test_what_it_had_not_begun_to_answer_is_asked_of_another() -> None:
    door = asyncio.Event()
    them = Ward(FakeUpstream(Answer((b"ok",), door=door)), FakeUpstream(OK))
    task = asyncio.create_task(them.ask())
    await settle()
    them.alive["a"] = False
    await them.look()
    await settle()
    waiting = not task.done()
    await them.look()

    assert waiting
    assert await task == "b"
    assert UpstreamFailed("a", "ejected") in them.events
    assert Retried(allowed=True) in them.events
    assert [node.running for node in them.nodes] == [0, 0]
    assert them.upstreams[0].answering == 0


async def test_what_may_not_be_done_twice_is_an_error() -> None:
    them = Ward(FakeUpstream(Answer((b"ok",), door=asyncio.Event())), FakeUpstream(OK))
    task = asyncio.create_task(them.ask(repeatable=False))
    await settle()
    them.alive["a"] = False
    await them.look(2)

    assert await task == "ejected"
    assert not them.upstreams[1].calls


async def test_an_answer_that_has_begun_goes_on() -> None:
    door = asyncio.Event()
    them = Ward(FakeUpstream(Answer((b"o", door, b"k"))), FakeUpstream(OK))
    task = asyncio.create_task(them.ask())
    await settle()
    them.alive["a"] = False
    await them.look(2)
    door.set()

    assert await task == "a"


async def test_a_client_that_leaves_is_no_ejection() -> None:
    them = Ward(FakeUpstream(Answer((b"ok",), door=asyncio.Event())), FakeUpstream(OK))
    task = asyncio.create_task(them.ask())
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    them.alive["a"] = False
    await them.look(2)

    assert not any(isinstance(event, UpstreamFailed) for event in them.events)


async def test_where_most_are_silent_it_is_rather_the_probes() -> None:
    them = ward(3)
    them.alive.update(a=False, b=False)
    await them.look(2)

    assert await them.ask() == "a"


@pytest.mark.parametrize("size", [1, 2, 3])
async def test_where_no_other_node_is_well_it_is_waited_for(size: int) -> None:
    """A health check that fails at all of them, or at the only one, says nothing of a long
    prompt."""
    doors = [asyncio.Event() for _ in range(size)]
    them = Ward(*(FakeUpstream(Answer((b"ok",), door=door)) for door in doors))
    task = asyncio.create_task(them.ask())
    await settle()
    them.alive.update(dict.fromkeys(them.alive, False))
    for _ in range(5):
        await them.look()
        await settle()
    assert not task.done()
    for door in doors:
        door.set()

    assert await task in them.alive
    assert [node.running for node in them.nodes] == [0] * size


async def test_where_the_breaker_bars_the_others_it_is_waited_for() -> None:
    door = asyncio.Event()
    broken = FakeUpstream(UpstreamError("b", "protocol", "it failed"))
    them = Ward(FakeUpstream(Answer((b"ok",), door=door)), broken)
    task = asyncio.create_task(them.ask())
    await settle()
    for _ in range(Breaker().min_calls):
        assert await them.ask(repeatable=False) == "protocol"
    them.alive["a"] = False
    await them.look(3)
    await settle()
    assert not task.done()
    door.set()

    assert await task == "a"


async def test_the_last_attempt_is_not_given_up() -> None:
    door = asyncio.Event()
    silent = (FakeUpstream(Answer((b"ok",), door=door)) for _ in range(2))
    them = Ward(*silent, FakeUpstream(OK), overload=Overload(max_attempts=1))
    task = asyncio.create_task(them.ask())
    await settle()
    them.alive["a"] = False
    await them.look(3)
    await settle()
    assert not task.done()
    door.set()

    assert await task == "a"


async def test_a_call_that_is_long_in_ending_is_given_up_once() -> None:
    them = Ward(Slow(), FakeUpstream(OK))
    task = asyncio.create_task(them.ask())
    await settle()
    them.alive["a"] = False
    await them.look(2)
    await settle()
    await them.look()
    assert isinstance(them.upstreams[0], Slow)
    them.upstreams[0].closed.set()

    assert await task == "b"


async def test_what_lies_at_one_node_is_asked_for_there_though_it_is_out_or_on_trial() -> None:
    """Another would not know of it. What does not answer at all is given up as ever."""
    door = asyncio.Event()
    door.set()
    them = Ward(FakeUpstream(Answer((b"ok",), door=door)), FakeUpstream(OK))
    them.alive["a"] = False
    await them.look(2)
    out = await them.ask(sticky=True)
    them.alive["a"] = True
    await them.look()
    trial = await them.fleet.send("m", lambda _: CALL)
    meanwhile = await them.ask(sticky=True)
    await trial.aclose()
    door.clear()
    task = asyncio.create_task(them.ask(sticky=True))
    await settle()
    them.alive["a"] = False
    await them.look(2)

    assert (out, meanwhile) == ("a", "a")
    assert await task == "b"


async def test_who_is_barred_by_a_breaker_is_not_counted_among_the_silent() -> None:
    broken = UpstreamError("a", "protocol", "it failed")
    them = Ward(FakeUpstream(broken), FakeUpstream(OK), FakeUpstream(OK))
    for _ in range(Breaker().min_calls):
        await them.ask(repeatable=False)
    them.alive["b"] = False
    await them.look(2)

    assert [await them.ask() for _ in range(3)] == ["c"] * 3


async def test_a_refused_connection_is_told_at_the_next_look() -> None:
    them = Ward(FakeUpstream(UpstreamError("a", "connect", "it failed"), OK), FakeUpstream(OK))
    assert await them.ask() == "b"
    assert [await them.ask() for _ in range(2)] == ["b", "b"]
    await them.look()

    assert them.turned() == [("a", "trial")]
    assert await them.ask() == "a"


async def test_the_second_probe_comes_at_once() -> None:
    them = ward(2)
    task = asyncio.create_task(them.watch.run())
    await settle()
    them.alive["a"] = False
    them.clock.advance(EVERY)
    await settle()
    task.cancel()

    assert them.turned() == [("a", "out")]


async def test_a_node_where_nobody_listens_holds_nothing_when_it_is_there_again() -> None:
    """It is said once each time: one probe may be of a moment, and a silent one says nothing."""
    them = ward(2)
    them.refusing.add("a")
    await them.look()
    assert them.lost == []
    await them.look(3)
    assert them.lost == ["a"]
    them.refusing.clear()
    await them.look()
    them.alive["a"] = False
    await them.look(3)
    assert them.lost == ["a"]
    them.refusing.add("a")
    await them.look(2)

    assert them.lost == ["a", "a"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_probe_tells_that_nobody_listens(host: str) -> None:
    probe = Probe(Upstream(name="n", url=f"http://{host}:{free_port()}/v1"))

    with pytest.raises(ConnectionRefusedError):
        await probe()


@pytest.mark.parametrize(
    ("url", "probe", "expected"),
    [
        ("http://10.0.0.1/v1", "auto", True),
        ("https://api.example/v1", "auto", False),
        ("https://api.example/v1", "/ready", True),
        ("http://10.0.0.1/v1", "", False),
    ],
)
def test_providers_are_left_alone(url: str, probe: str, expected: bool) -> None:
    assert probed(Upstream(name="n", url=url, probe=probe)) is expected


@pytest.mark.parametrize(
    ("answer", "alive"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", True),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", False),
        (b"SSH-2.0-OpenSSH\r\n", False),
        (b"HTTP/1.1 ???\r\n", False),
        (b"", False),
        (b"x" * 100_000, False),
        (None, False),
    ],
)
async def test_any_answer_but_a_servers_error_is_a_sign_of_life(
    answer: bytes | None, alive: bool
) -> None:
    asked, over, closed = [], asyncio.Event(), asyncio.Event()

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        if answer is None:  # it stands still
            await over.wait()
        else:
            writer.write(answer)
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()
        closed.set()

    server = await asyncio.start_server(play, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    probe = Probe(Upstream(name="n", url=f"http://127.0.0.1:{port}/v1", probe="/alive?x=1"))
    told = await probe()
    over.set()
    await closed.wait()
    server.close()
    await server.wait_closed()

    assert told is alive
    assert asked == [b"GET /alive?x=1 HTTP/1.1\r\n"]
    with pytest.raises(ConnectionRefusedError):
        await probe()
