"""The fleet: the least busy node that serves the model, and no call counted that is over."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from proxy.answering import Answering
from proxy.core.events import Retried, Routed, UpstreamAnswered, UpstreamFailed
from proxy.core.message import Call
from proxy.fleet import Fleet, NoNodeError
from proxy.node import Node
from proxy.ports import UpstreamError
from tests.fakes import Answer, FakeClock, FakeUpstream, settle

if TYPE_CHECKING:
    from proxy.core.events import Event

CALL = Call("POST", "/v1/chat/completions", "", (), b"{}")
OK = Answer((b"ok",))


def failing(kind: str, node: str = "gpu") -> UpstreamError:
    return UpstreamError(node, kind, "it failed")


class Yard:
    """Nodes named a, b, c and what happened."""

    def __init__(self, *upstreams: FakeUpstream, models: tuple[str, ...] = ()) -> None:
        self.clock = FakeClock()
        self.events: list[Event] = []
        self.upstreams = upstreams
        served = [(model,) for model in models] or [("*",)] * len(upstreams)
        self.nodes = [
            Node(name, upstream, models=globs)
            for name, upstream, globs in zip("abc", upstreams, served, strict=False)
        ]
        self.fleet = Fleet(self.nodes, self.clock, self.events.append)

    async def send(
        self, model: str | None = "m", *, repeatable: bool = True, sticky: bool = False
    ) -> Answering:
        return await self.fleet.send(model, lambda _: CALL, repeatable=repeatable, sticky=sticky)

    def calls(self) -> list[int]:
        return [len(upstream.calls) for upstream in self.upstreams]

    def running(self) -> list[int]:
        return [node.running for node in self.nodes]


async def read(answer: Answering) -> bytes:
    try:
        return b"".join([chunk async for chunk in answer])
    finally:
        await answer.aclose()


async def test_the_least_busy_node_is_asked() -> None:
    yard = Yard(*(FakeUpstream(OK) for _ in range(3)))
    for _ in range(5):
        await yard.send()

    assert yard.running() == [2, 2, 1]


async def test_a_node_is_free_again_when_its_answer_is_closed() -> None:
    yard = Yard(FakeUpstream(OK))
    answer = await yard.send()
    assert yard.running() == [1]
    await answer.aclose()
    await answer.aclose()

    assert yard.running() == [0]
    assert yard.upstreams[0].answering == 0


@pytest.mark.parametrize(
    ("model", "asked"), [("gpt-4", [1, 0, 0]), ("claude-3", [0, 1, 0]), ("other", [0, 0, 1])]
)
async def test_only_a_node_that_serves_the_model_is_asked(model: str, asked: list[int]) -> None:
    yard = Yard(*(FakeUpstream(OK) for _ in range(3)), models=("gpt-*", "claude-*", "oth?r"))
    await yard.send(model)

    assert yard.calls() == asked


async def test_a_model_that_no_node_serves() -> None:
    yard = Yard(FakeUpstream(OK), models=("gpt-*",))

    with pytest.raises(NoNodeError, match="claude"):
        await yard.send("claude")


async def test_what_belongs_to_no_model_goes_to_the_first_node_however_busy() -> None:
    """Files and batches lie where they were made."""
    yard = Yard(FakeUpstream(OK), FakeUpstream(OK), models=("gpt-*", "*"))
    for _ in range(3):
        await yard.send(None, sticky=True)

    assert yard.calls() == [3, 0]


async def test_a_node_that_cannot_be_reached_is_passed_over() -> None:
    yard = Yard(FakeUpstream(failing("connect")), FakeUpstream(OK))
    answer = await yard.send()

    assert answer.node == "b"
    assert yard.running() == [0, 1]
    assert yard.events == [
        Routed("a", "least"),
        UpstreamFailed("a", "connect"),
        Retried(allowed=True),
    ]


async def test_each_node_is_tried_once_and_the_last_ones_error_is_told() -> None:
    yard = Yard(*(FakeUpstream(failing("connect", node)) for node in "abc"))

    with pytest.raises(UpstreamError) as failed:
        await yard.send()
    assert failed.value.node == "c"
    assert yard.calls() == [1, 1, 1]
    assert yard.running() == [0, 0, 0]


@pytest.mark.parametrize(
    ("kind", "repeatable", "again"),
    [
        ("connect", True, True),
        ("connect", False, True),
        ("cut", True, True),
        ("cut", False, False),
        ("protocol", True, True),
        ("protocol", False, False),
        ("timeout", True, False),
        ("timeout", False, False),
    ],
)
async def test_what_must_not_be_done_twice_goes_on_only_if_no_node_saw_it(
    kind: str, repeatable: bool, again: bool
) -> None:
    yard = Yard(FakeUpstream(failing(kind)), FakeUpstream(OK))
    results = await asyncio.gather(yard.send(repeatable=repeatable), return_exceptions=True)

    assert yard.calls() == [1, int(again)]
    assert isinstance(results[0], Answering if again else UpstreamError)


async def test_an_upstreams_own_error_is_its_answer() -> None:
    yard = Yard(FakeUpstream(Answer((b"busy",), status=503)))
    answer = await yard.send()

    assert answer.head.status == 503
    assert await read(answer) == b"busy"


async def test_a_call_cancelled_before_its_answer_is_not_counted_for_ever() -> None:
    yard = Yard(FakeUpstream(Answer(door=asyncio.Event())))
    sending = asyncio.create_task(yard.send())
    await settle()
    assert yard.running() == [1]
    sending.cancel()
    await settle()

    assert yard.running() == [0]


async def test_a_call_that_cannot_be_built_is_not_counted_for_ever() -> None:
    yard = Yard(FakeUpstream(OK))

    def build(_: Node) -> Call:
        raise ValueError("not to be built")

    with pytest.raises(ValueError, match="built"):
        await yard.fleet.send("m", build)
    assert yard.running() == [0]


async def test_an_answer_that_breaks_off_is_told_as_a_failure_and_not_as_an_answer() -> None:
    yard = Yard(FakeUpstream(Answer((b"o", failing("cut")))))

    with pytest.raises(UpstreamError):
        await read(await yard.send())
    assert yard.events == [UpstreamFailed("a", "cut")]
    assert yard.running() == [0]


async def test_an_answers_end_is_told_with_its_times_and_what_it_cost() -> None:
    door, gate = asyncio.Event(), asyncio.Event()
    yard = Yard(FakeUpstream(Answer((b"o", gate, b"k"), door=door)))
    sending = asyncio.create_task(yard.send())
    await settle()
    yard.clock.advance(2.0)
    door.set()
    answer = await sending
    reading = asyncio.create_task(read(answer))
    await settle()
    yard.clock.advance(3.0)
    gate.set()

    assert await reading == b"ok"
    assert yard.events == [UpstreamAnswered("a", 200, 2.0, 5.0)]


async def test_the_first_byte_of_a_stream_counts_and_not_its_head() -> None:
    """Many upstreams send the head at once, and then begin to compute."""
    gate = asyncio.Event()
    yard = Yard(FakeUpstream(Answer((gate, b"ok"))))
    reading = asyncio.create_task(read(await yard.send()))
    await settle()
    yard.clock.advance(2.0)
    gate.set()

    assert await reading == b"ok"
    assert yard.events == [UpstreamAnswered("a", 200, 2.0, 2.0)]
