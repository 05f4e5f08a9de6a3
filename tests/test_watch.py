"""Nodes that fall silent: left out, what waits there is asked elsewhere, taken back by a trial."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.http.probe import Probe, probed
from proxy.config import Breaker, Overload, Upstream
from proxy.core.events import NodeSuspected, NodeTurned, Retried, UpstreamFailed
from proxy.core.message import Call
from proxy.fleet import Fleet
from proxy.node import Node
from proxy.ports import UpstreamError
from proxy.watch import EVERY, Watch
from tests.fakes import EVENTS, Answer, FakeClock, FakeResponse, FakeUpstream, settle
from tests.gateway import free_port

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.answering import Answering
    from proxy.core.events import Event
    from proxy.core.health import Sign

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


FROZEN = 5.0
"""Seconds of silence after which no answer of a node goes on."""


class Ward:
    """Nodes a, b, c … that are well or not."""

    def __init__(
        self, *upstreams: FakeUpstream, overload: Overload | None = None, models: str = "*****"
    ) -> None:
        self.clock = FakeClock()
        self.events: list[Event] = []
        self.alive = dict.fromkeys("abcdef"[: len(upstreams)], True)
        self.upstreams = upstreams
        self.nodes = [
            Node(name, upstream, models=(model,), probe=self.probe(name), frozen=FROZEN)
            for name, upstream, model in zip("abcdef", upstreams, models, strict=False)
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
        async def asked() -> Sign:
            if name in self.refusing:
                return "refused"
            return "alive" if self.alive[name] else "silent"

        return asked

    async def look(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            for node in self.nodes:
                await self.watch.look(node)

    async def ask(
        self, *, repeatable: bool = True, sticky: bool = False, stream: bool = False
    ) -> str:
        """Who answers, or how it failed."""
        try:
            answer = await self.fleet.send(
                "m", lambda _: CALL, repeatable=repeatable, sticky=sticky, stream=stream
            )
        except UpstreamError as error:
            return error.kind
        return await read(answer)

    async def silent(self, seconds: float, name: str = "a") -> None:
        """Time passes, and with each second a probe that fails."""
        if self.alive[name]:
            await self.look()
        self.alive[name] = False
        for _ in range(int(seconds)):
            self.clock.advance(1.0)
            await self.look()
            await settle()

    def turned(self) -> list[tuple[str, str]]:
        return [(e.node, e.state) for e in self.events if isinstance(e, NodeTurned)]


async def read(answer: Answering) -> str:
    """Whose it is, if it is whole, or how it ended."""
    try:
        async for _ in answer:
            pass
    except UpstreamError as error:
        return error.kind
    finally:
        await answer.aclose()
    return answer.node


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


def never() -> FakeUpstream:
    """A node that is out, and must not be asked."""
    return FakeUpstream(UpstreamError("never", "connect", "nobody listens"))


async def test_where_half_are_out_the_next_attempt_is_at_one_that_is_well() -> None:
    """However few are left to try: a half of all, not of those."""
    broken = FakeUpstream(UpstreamError("c", "cut", "it broke off"))
    for third, fourth in ((broken, FakeUpstream(OK)), (FakeUpstream(OK), broken)):
        them = Ward(never(), never(), third, fourth)
        them.alive.update(a=False, b=False)
        await them.look(2)

        for _ in range(8):
            assert await them.ask() in "cd"


@pytest.mark.parametrize("trouble", [Answer((b"no",), status=503), "cut", "protocol"])
async def test_what_the_last_node_that_is_well_says_is_not_given_up_for_one_that_is_out(
    trouble: Answer | str,
) -> None:
    said = UpstreamError("b", trouble, "it") if isinstance(trouble, str) else trouble
    dead = never()
    them = Ward(dead, FakeUpstream(said))
    them.alive["a"] = False
    await them.look(2)

    assert await them.ask() == ("b" if isinstance(trouble, Answer) else trouble)
    assert dead.calls == []


async def test_a_node_on_trial_is_waited_for_by_who_has_no_other() -> None:
    door = asyncio.Event()
    them = Ward(
        FakeUpstream(Answer((b"ok",), door=door), OK),
        FakeUpstream(UpstreamError("b", "cut", "it broke off")),
    )
    them.alive["a"] = False
    await them.look(2)
    them.alive["a"] = True
    await them.look()
    trial = asyncio.create_task(them.ask(sticky=False))
    await settle()
    other = asyncio.create_task(them.ask())
    await settle()
    door.set()

    assert sorted([await trial, await other]) == ["a", "a"]


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

    assert await probe() == "refused"


async def eventually(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():  # noqa: ASYNC110  # what is looked at knows of no events
            await asyncio.sleep(0.001)


async def test_a_late_first_byte_has_the_node_probed_at_once_and_once() -> None:
    """Without any time passing for the probes."""
    them = ward(2)
    task = asyncio.create_task(them.watch.run())
    await settle()
    them.alive["a"] = False
    for _ in range(3):
        them.watch.late(them.nodes[0])
    await eventually(lambda: them.turned() == [("a", "out")])
    them.watch.late(them.nodes[0])
    task.cancel()

    assert them.events.count(NodeSuspected("a")) == 1


async def test_a_node_that_is_slow_and_answers_its_probes_stays() -> None:
    them = ward(2)
    task = asyncio.create_task(them.watch.run())
    await settle()
    for _ in range(3):
        them.watch.late(them.nodes[0])
        await eventually(lambda: not them.nodes[0].health.doubted)
        await settle()
    task.cancel()

    assert them.turned() == []
    assert them.events.count(NodeSuspected("a")) == 3


async def test_a_stream_is_late_by_what_streams_took_before() -> None:
    late, doors = asyncio.Event(), [asyncio.Event() for _ in range(2)]
    them = Ward(FakeUpstream(*(Answer((b"ok",), door=door) for door in doors)))
    them.nodes[0].outstanding.late = late.set
    task = asyncio.create_task(them.ask(stream=True))
    await settle()
    them.clock.advance(0.01)
    doors[0].set()
    assert await task == "a"
    task = asyncio.create_task(them.ask(stream=True))
    await late.wait()
    doors[1].set()

    assert await task == "a"


async def test_a_node_that_is_too_busy_for_a_probe_stays_while_bytes_come() -> None:
    them = Ward(FakeUpstream(Answer([b"x"] * 9)), FakeUpstream(OK))
    answer = await them.fleet.send("m", lambda _: CALL)

    async def busy() -> Sign:
        await anext(answer)
        return "silent"

    them.nodes[0].probe = busy
    for _ in range(4):
        await them.watch.look(them.nodes[0])
    await answer.aclose()

    assert them.turned() == []


async def test_a_stream_without_its_first_byte_is_asked_of_another_node() -> None:
    """Its head says nothing: engines send it before they compute."""
    stuck = Answer((asyncio.Event(), b"ok"), headers=EVENTS)
    them = Ward(FakeUpstream(stuck), FakeUpstream(OK))
    task = asyncio.create_task(them.ask(stream=True))
    await settle()
    them.alive["a"] = False
    await them.look(2)

    assert await task == "b"
    assert UpstreamFailed("a", "ejected") in them.events
    assert [node.running for node in them.nodes] == [0, 0]
    assert [one.answering for one in them.upstreams] == [0, 0]


async def test_a_stream_of_a_frozen_node_is_ended_and_not_before() -> None:
    door = asyncio.Event()
    them = Ward(FakeUpstream(Answer((b"o", door, b"k"), headers=EVENTS)), FakeUpstream(OK))
    task = asyncio.create_task(them.ask(stream=True))
    await settle()
    await them.silent(FROZEN - 1)
    assert not task.done()
    await them.silent(1)

    assert await task == "frozen"
    assert UpstreamFailed("a", "frozen") in them.events
    assert them.nodes[0].running == 0
    assert them.upstreams[0].answering == 0


@pytest.mark.parametrize("sign", ["unwell", "alive"])
async def test_a_node_that_answers_whatever_it_says_is_not_frozen(sign: Sign) -> None:
    door = asyncio.Event()
    them = Ward(FakeUpstream(Answer((b"o", door, b"k"))), FakeUpstream(OK))
    task = asyncio.create_task(them.ask())
    await settle()

    async def told() -> Sign:
        return sign

    them.nodes[0].probe = told
    await them.silent(4 * FROZEN)
    door.set()

    assert await task == "a"


async def test_a_node_of_which_a_byte_came_is_not_frozen() -> None:
    doors = [asyncio.Event() for _ in range(3)]
    other = FakeUpstream(Answer((b"o", doors[0], b"k")), Answer((b"o", *doors[1:], b"k")))
    them = Ward(other, FakeUpstream(OK))
    tasks = [asyncio.create_task(them.ask())]
    await settle()
    them.nodes[1].running = 9
    tasks.append(asyncio.create_task(them.ask()))
    await settle()
    await them.silent(FROZEN - 1)
    doors[0].set()
    assert await tasks[0] == "a"
    await them.silent(FROZEN - 1)
    assert not tasks[1].done()
    for door in doors:
        door.set()

    assert await tasks[1] == "a"


@pytest.mark.parametrize("models", ["*n", "*"])
async def test_where_no_other_could_answer_a_frozen_node_is_waited_for(models: str) -> None:
    door = asyncio.Event()
    upstreams = [FakeUpstream(Answer((b"o", door, b"k"))) for _ in models]
    them = Ward(*upstreams, models=models)
    task = asyncio.create_task(them.ask())
    await settle()
    await them.silent(4 * FROZEN)
    door.set()

    assert await task == "a"


async def test_an_answer_that_is_here_is_read_though_its_node_is_frozen() -> None:
    them = Ward(FakeUpstream(Answer((b"o", b"k"))), FakeUpstream(OK))
    answer = await them.fleet.send("m", lambda _: CALL)
    await anext(answer)
    await them.silent(2 * FROZEN)

    assert await read(answer) == "a"


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
    ("answer", "sign"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", "alive"),
        (b"HTTP/1.1 404 Not Found\r\n\r\n", "alive"),
        (b"HTTP/1.1 503 Service Unavailable\r\n\r\n", "unwell"),
        (b"SSH-2.0-OpenSSH\r\n", "unwell"),
        (b"HTTP/1.1 ???\r\n", "unwell"),
        (b"", "unwell"),
        (b"x" * 100_000, "unwell"),
        (None, "silent"),
    ],
)
async def test_any_answer_but_a_servers_error_is_a_sign_of_life(
    answer: bytes | None, sign: Sign
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

    assert told == sign
    assert asked == [b"GET /alive?x=1 HTTP/1.1\r\n"]
    assert await probe() == "refused"
