"""Failover: another node before the first byte, each once and within the budget, or none."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from proxy.config import Breaker, Overload
from proxy.core.events import Retried, Shed, UpstreamAnswered, UpstreamFailed
from proxy.core.message import Call
from proxy.core.pace import Pace
from proxy.node import Node
from proxy.ports import UpstreamError
from tests.fakes import EVENTS, Answer, FakeUpstream, settle
from tests.yard import OK, Yard, failing, held, read, saying

if TYPE_CHECKING:
    from tests.fakes import Piece

UNWELL = [429, 500, 502, 503, 504, 529]


@pytest.mark.parametrize("status", UNWELL)
async def test_a_node_that_is_unwell_is_passed_over(status: int) -> None:
    yard = Yard(FakeUpstream(saying(status)), FakeUpstream(OK))
    answer = await yard.send()

    assert (answer.node, answer.why.reason, answer.head.status) == ("b", "failover", 200)
    assert yard.running() == [0, 1]
    assert yard.upstreams[0].answering == 0
    assert yard.told(Retried) == [Retried(allowed=True)]
    assert [event.status for event in yard.told(UpstreamAnswered)] == [status]


@pytest.mark.parametrize("status", [200, 400, 401, 404, 408, 422, 501])
async def test_what_is_about_the_request_is_passed_on(status: int) -> None:
    yard = Yard(FakeUpstream(saying(status)), FakeUpstream(OK))

    assert (await yard.send()).head.status == status
    assert yard.calls() == [1, 0]


@pytest.mark.parametrize("status", UNWELL)
async def test_the_last_answer_is_passed_on_as_it_is(status: int) -> None:
    yard = Yard(*[FakeUpstream(saying(status, retry_after="9", x_node=name)) for name in "ab"])
    answer = await yard.send()

    assert (answer.head.status, answer.head.get("x-node")) == (status, "b")
    assert answer.head.get("retry-after") == "9"
    assert await read(answer) == b"no"
    assert yard.calls() == [1, 1]
    assert yard.running() == [0, 0]


@pytest.mark.parametrize("trouble", [saying(429), saying(500), failing("cut"), failing("connect")])
async def test_no_more_nodes_are_asked_than_there_may_be_attempts(trouble: Answer) -> None:
    yard = Yard(*[FakeUpstream(trouble) for _ in range(6)], overload=Overload(max_attempts=3))
    await yard.ask()

    assert sum(yard.calls()) == 3
    assert yard.running() == [0] * 6


async def test_what_may_not_be_done_twice_is_not() -> None:
    yard = Yard(FakeUpstream(saying(503)), FakeUpstream(OK))

    assert (await yard.send(repeatable=False)).head.status == 503
    assert yard.calls() == [1, 0]


async def test_what_lies_at_one_node_is_not_looked_for_at_another() -> None:
    yard = Yard(FakeUpstream(saying(503)), FakeUpstream(OK))

    assert (await yard.send(sticky=True)).head.status == 503
    assert yard.calls() == [1, 0]


async def test_an_outage_is_not_multiplied() -> None:
    """Two nodes that fail always: second attempts stay a share of the requests."""
    yard = Yard(*[FakeUpstream(saying(429)) for _ in range(2)], overload=Overload(retry_ratio=0.1))
    for _ in range(200):
        assert await yard.ask() == 429

    assert sum(yard.calls()) == 200 + 20 + 10
    assert yard.told(Retried).count(Retried(allowed=False)) == 200 - 30


async def test_what_no_node_saw_needs_no_budget() -> None:
    overload = Overload(retry_ratio=0.0)
    yard = Yard(FakeUpstream(failing("connect")), FakeUpstream(OK), overload=overload)

    assert [await yard.ask() for _ in range(50)] == [200] * 50


async def test_an_answer_is_not_given_up_for_a_node_without_room() -> None:
    busy, gate = held()
    yard = Yard(FakeUpstream(saying(500)), FakeUpstream(busy), limit=1)
    yard.nodes[0].running = 1
    first = await yard.send()
    yard.nodes[0].running = 0
    answer = await yard.send()

    assert (first.node, answer.node, answer.head.status) == ("b", "a", 500)
    assert yard.told(Retried) == []
    gate.set()


async def test_what_got_no_answer_waits_for_a_node_without_room() -> None:
    busy, gate = held()
    yard = Yard(FakeUpstream(failing("connect")), FakeUpstream(busy, OK), limit=1)
    first = await yard.send()
    second = yard.sending()
    await settle()
    assert (first.node, second.done()) == ("b", False)
    gate.set()
    await read(first)

    assert (await second).node == "b"


async def test_a_node_that_is_left_alone_is_no_further_node() -> None:
    """The first one's failure is told then, and no request counts as shed."""
    first = FakeUpstream(OK, failing("connect"))
    yard = Yard(first, FakeUpstream(failing("cut")), breaker=Breaker(min_calls=1))
    yard.nodes[0].running = 1
    await yard.ask()
    yard.nodes[0].running = 0

    assert await yard.ask() == "connect"
    assert yard.told(Shed) == []
    assert yard.calls() == [2, 1]


async def test_a_client_that_leaves_between_two_nodes_holds_no_place() -> None:
    """It leaves while the first node's answer is being closed."""

    class Slow(FakeUpstream):
        async def send(self, call: Call):  # type: ignore[no-untyped-def]
            response = await super().send(call)
            close = response.aclose

            async def aclose() -> None:
                await close()
                await asyncio.Event().wait()

            response.aclose = aclose  # type: ignore[method-assign]
            return response

    yard = Yard(Slow(saying(500)), FakeUpstream(OK))
    sending = yard.sending()
    await settle()
    assert yard.running() == [1, 1]
    sending.cancel()
    await settle()

    assert yard.running() == [0, 0]
    assert yard.calls() == [1, 0]


async def test_each_node_is_sent_its_own_call() -> None:
    yard = Yard(FakeUpstream(saying(500)), FakeUpstream(OK), credentials=["one", "two"])

    def build(node: Node) -> Call:
        return Call("POST", "/", "", (("authorization", node.credential or ""),), b"")

    await yard.fleet.send("m", build)
    assert [upstream.calls[0].headers[0][1] for upstream in yard.upstreams] == ["one", "two"]


async def test_a_node_that_is_told_to_be_left_alone_is_until_its_time() -> None:
    yard = Yard(FakeUpstream(saying(429, retry_after="5"), OK), FakeUpstream(OK))
    for _ in range(5):
        assert await yard.ask() == 200
    assert yard.calls() == [1, 5]
    yard.clock.advance(5.0)
    await yard.ask()

    assert yard.calls() == [2, 5]


async def test_where_all_rest_they_are_asked_all_the_same() -> None:
    yard = Yard(*[FakeUpstream(saying(429, retry_after="50")) for _ in range(2)])
    for _ in range(3):
        assert await yard.ask() == 429

    assert sum(yard.calls()) == 6


async def test_a_pause_is_for_the_model_that_was_asked_for() -> None:
    yard = Yard(FakeUpstream(saying(429, retry_after="50"), OK), FakeUpstream(OK))
    await yard.ask("one")
    await yard.ask("two")

    assert yard.calls() == [2, 1]


@pytest.mark.parametrize(("credential", "calls"), [(None, [2, 1]), ("key", [1, 2])])
async def test_a_pause_is_for_whose_credential_it_was(
    credential: str | None, calls: list[int]
) -> None:
    """Who uses up its own key's limits sends nobody else away from a node."""
    upstreams = FakeUpstream(saying(429, retry_after="50"), OK), FakeUpstream(OK)
    yard = Yard(*upstreams, credentials=[credential, None])
    await yard.ask(tenant=b"greedy")
    await yard.ask(tenant=b"modest")

    assert yard.calls() == calls


async def test_a_connection_that_was_closed_as_it_was_used_again_costs_no_answer() -> None:
    """Also where there is no other node, and no budget for one."""
    upstream = FakeUpstream(failing("reused"), OK)
    yard = Yard(upstream, overload=Overload(retry_ratio=0.0, max_attempts=1), limit=1)
    answer = await yard.send()

    assert (await read(answer), answer.why.reason) == (b"ok", "only")
    assert yard.calls() == [2]
    assert yard.told(Retried) == [Retried(allowed=True)]
    assert yard.told(UpstreamFailed) == []
    assert yard.running() == [0]


async def test_no_call_is_made_a_third_time() -> None:
    yard = Yard(FakeUpstream(failing("reused")))

    assert await yard.ask() == "reused"
    assert yard.calls() == [2]
    assert yard.told(UpstreamFailed) == [UpstreamFailed("a", "reused")]
    assert yard.running() == [0]


async def test_what_may_not_be_done_twice_is_not_repeated_on_a_new_connection() -> None:
    yard = Yard(FakeUpstream(failing("reused"), OK), FakeUpstream(OK))

    with pytest.raises(UpstreamError):
        await yard.send(repeatable=False)
    assert yard.calls() == [1, 0]


def streaming(*pieces: Piece) -> Answer:
    return Answer(pieces, headers=EVENTS)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("kind", ["cut", "protocol"])
async def test_what_breaks_off_before_its_first_byte_goes_to_another_node(
    kind: str, stream: bool
) -> None:
    yard = Yard(FakeUpstream(streaming(failing(kind))), FakeUpstream(streaming(b"data: 1\n\n")))
    answer = await yard.send(stream=stream)

    assert (answer.node, answer.why.reason) == ("b", "failover")
    assert await read(answer) == b"data: 1\n\n"
    assert yard.told(UpstreamFailed) == [UpstreamFailed("a", kind)]
    assert yard.running() == [0, 0]
    assert [one.answering for one in yard.upstreams] == [0, 0]


async def test_a_stream_that_breaks_off_after_its_first_byte_does_not() -> None:
    yard = Yard(FakeUpstream(streaming(b"data: 1\n\n", failing("cut"))), FakeUpstream(OK))
    answer = await yard.send(stream=True)
    with pytest.raises(UpstreamError, match="it failed"):
        await read(answer)

    assert yard.calls() == [1, 0]


@pytest.mark.parametrize("asked", [{"repeatable": False}, {"sticky": True}])
async def test_what_may_not_move_has_its_head_at_once(asked: dict[str, Any]) -> None:
    """So has the stream of the only node, or of the last that may be asked."""
    door = asyncio.Event()
    yard = Yard(FakeUpstream(streaming(door, b"ok")), FakeUpstream(OK))
    answer = await yard.send(stream=True, **asked)
    door.set()

    assert await read(answer) == b"ok"


@pytest.mark.parametrize("nodes", [1, 2])
async def test_the_last_stream_has_its_head_at_once(nodes: int) -> None:
    door = asyncio.Event()
    upstreams = [FakeUpstream(failing("connect")) for _ in range(nodes - 1)]
    yard = Yard(*upstreams, FakeUpstream(streaming(door, b"ok")))
    answer = await yard.send(stream=True)
    door.set()

    assert await read(answer) == b"ok"


async def test_a_refusal_of_a_stream_is_not_waited_for() -> None:
    door = asyncio.Event()
    refused = Answer((door, b"no"), status=400)
    yard = Yard(FakeUpstream(refused), FakeUpstream(OK))
    answer = await yard.send(stream=True)
    door.set()

    assert (answer.head.status, await read(answer)) == (400, b"no")


async def test_an_empty_stream_is_one() -> None:
    yard = Yard(FakeUpstream(streaming()), FakeUpstream(OK))

    assert await read(await yard.send(stream=True)) == b""


async def test_who_leaves_before_the_first_byte_leaves_nothing_behind() -> None:
    yard = Yard(FakeUpstream(streaming(asyncio.Event())), FakeUpstream(OK))
    task = asyncio.create_task(yard.send(stream=True))
    await settle()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert yard.running() == [0, 0]
    assert yard.upstreams[0].answering == 0
    assert yard.told(UpstreamFailed) == []


class Soon(Pace):
    """For whom every first byte is late at once."""

    def allowed(self, tokens: float) -> float:
        return 0.001


async def test_that_the_last_node_is_late_is_told_though_no_other_can_be_asked() -> None:
    yard, told = Yard(FakeUpstream(Answer(door=asyncio.Event()))), asyncio.Event()
    yard.nodes[0].outstanding.pace, yard.nodes[0].outstanding.late = Soon(), told.set
    task = asyncio.create_task(yard.send(stream=True))
    await told.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
