"""The gate: no node has more calls than its limit, who waits has a turn, and no place is lost."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

from proxy.config import Breaker, Overload
from proxy.core.events import BreakerMoved, NodeMeasured, Shed
from proxy.core.limiter import Limiter
from proxy.gate import Gate
from proxy.ports import UpstreamError
from proxy.quantity import Duration, Timeout
from proxy.wish import Wish
from tests.fakes import Answer, FakeUpstream, settle
from tests.yard import OK, Yard, failing, held, read, saying

if TYPE_CHECKING:
    from proxy.answering import Answering

BREAKER = Breaker(min_calls=4, open_for=Timeout(10))


async def test_no_more_calls_run_than_the_limit_and_the_next_comes_in_when_one_is_closed() -> None:
    yard = Yard(FakeUpstream(OK), limit=2)
    first, second = await yard.send(), await yard.send()
    third, fourth = yard.sending(), yard.sending()
    await settle()
    assert (yard.calls(), yard.running(), third.done()) == ([2], [2], False)
    await read(first)
    await settle()

    assert (yard.calls(), yard.running()) == ([3], [2])
    assert (third.done(), fourth.done()) == (True, False)
    await read(second)
    await read(await third)
    await read(await fourth)
    assert yard.running() == [0]


async def test_a_place_is_given_back_once() -> None:
    yard = Yard(FakeUpstream(OK), limit=2)
    gate = Gate(yard.nodes, yard.clock, yard.events.append, breaker=BREAKER, overload=Overload())
    wish = Wish(tuple(yard.nodes), "m", b"", sticky=False)
    first, _ = await gate.enter(wish), await gate.enter(wish)
    first.leave()
    first.leave()

    assert yard.running() == [1]


async def test_a_full_node_is_passed_over_for_one_with_room() -> None:
    yard = Yard(FakeUpstream(OK), FakeUpstream(OK), limit=1)

    assert [(await yard.send()).node for _ in range(2)] == ["a", "b"]


async def test_what_is_passed_on_as_it_is_obeys_the_limit_too() -> None:
    yard = Yard(FakeUpstream(OK), FakeUpstream(OK), limit=1)
    first = await yard.send(None, sticky=True)
    second = asyncio.create_task(yard.send(None, sticky=True))
    await settle()
    assert yard.calls() == [1, 0]
    await read(first)

    assert (await second).node == "a"


async def test_who_waits_is_given_a_node_that_has_come_back_by_itself() -> None:
    """Nothing happens at a node whose breaker's time is over; and the busy one may stay so."""
    breaker = Breaker(min_calls=2, open_for=Timeout(2))
    broken = FakeUpstream(saying(500), saying(500), OK)
    yard = Yard(FakeUpstream(held()[0]), broken, limit=1, breaker=breaker)
    await yard.send()
    assert [await yard.ask() for _ in range(2)] == [500, 500]
    waiting = yard.sending()
    await settle()
    assert (yard.calls(), waiting.done()) == ([1, 2], False)
    await yard.pass_time(3)

    assert (yard.calls(), waiting.done()) == ([1, 3], True)


async def test_who_waits_gets_a_place_though_another_node_has_come_back_meanwhile() -> None:
    """It is the less busy one, which nobody has left."""
    first, gate = held()
    yard = Yard(FakeUpstream(first, held()[0]), FakeUpstream(OK), limit=2)
    yard.nodes[1].running = 2
    leaving, _ = await yard.send(), await yard.send()
    waiting = yard.sending()
    await settle()
    yard.nodes[1].running = 0
    gate.set()
    await read(leaving)
    await settle()

    assert waiting.done()


async def test_a_place_at_one_node_is_given_to_who_can_use_it() -> None:
    yard = Yard(FakeUpstream(OK), FakeUpstream(OK), limit=1, models=("one", "two"))
    one, _ = await yard.send("one"), await yard.send("two")
    for_two, for_one = yard.sending(model="two"), yard.sending(model="one")
    await settle()
    await read(one)
    await settle()

    assert (for_two.done(), for_one.done()) == (False, True)
    for_two.cancel()


async def test_tenants_take_turns() -> None:
    yard = Yard(FakeUpstream(OK), limit=1)
    running, order = await yard.send(), []

    async def client(tenant: bytes) -> None:
        answer = await yard.send(tenant=tenant)
        order.append(tenant)
        await read(answer)

    clients = [asyncio.create_task(client(tenant)) for tenant in (b"a", b"a", b"a", b"b", b"c")]
    await settle()
    await read(running)
    await asyncio.gather(*clients)

    assert order == [b"a", b"b", b"c", b"a", b"a"]


async def test_who_comes_when_a_place_is_free_does_not_overtake_who_waits() -> None:
    yard = Yard(FakeUpstream(OK), limit=1)
    running = await yard.send()
    waiting = yard.sending(tenant=b"a")
    await settle()
    yard.nodes[0].limiter = Limiter(2)
    late = yard.sending(tenant=b"b")
    await settle()

    assert (waiting.done(), late.done()) == (True, False)
    await read(running)
    await read(await late)


async def test_a_full_queue_sheds_at_once() -> None:
    yard = Yard(FakeUpstream(OK), limit=1, overload=Overload(queue=1))
    running = await yard.send()
    waiting = yard.sending()
    await settle()

    with pytest.raises(UpstreamError) as shed:
        await yard.send()
    assert (shed.value.kind, shed.value.retry_after) == ("overload", 10.0)
    assert yard.told(Shed) == [Shed("queue_full")]
    await read(running)
    await read(await waiting)


async def test_who_floods_the_queue_does_not_keep_others_out() -> None:
    yard = Yard(FakeUpstream(OK), limit=1, overload=Overload(queue=3))
    running = await yard.send()
    flood = [yard.sending(tenant=b"greedy") for _ in range(3)]
    await settle()
    modest = yard.sending(tenant=b"modest")
    await settle()
    await read(running)
    await read(await flood[0])

    assert await read(await modest) == b"ok"
    await read(await flood[1])
    with pytest.raises(UpstreamError):
        await flood[2]


async def test_who_waited_too_long_is_shed() -> None:
    yard = Yard(FakeUpstream(OK), limit=1, overload=Overload(queue_timeout=Timeout(4)))
    running = await yard.send()
    early = yard.sending()
    await settle()
    await yard.pass_time(3)
    late = yard.sending()
    await settle()
    await yard.pass_time(1.1)

    assert (early.done(), late.done()) == (True, False)
    with pytest.raises(UpstreamError, match="no room") as shed:
        await early
    assert shed.value.kind == "overload"
    assert yard.told(Shed) == [Shed("queue_timeout")]
    await read(running)
    assert await read(await late) == b"ok"


async def test_after_the_queue_was_empty_who_waits_too_long_is_shed_again() -> None:
    yard = Yard(FakeUpstream(OK), limit=1)
    for _ in range(3):
        running = await yard.send()
        waiting = yard.sending()
        await settle()
        await yard.pass_time(11)
        with pytest.raises(UpstreamError):
            await waiting
        await read(running)

    assert len(asyncio.all_tasks()) == 1


async def test_a_client_that_leaves_while_it_waits_leaves_the_queue() -> None:
    yard = Yard(FakeUpstream(OK), limit=1)
    running = await yard.send()
    leaver, stayer = yard.sending(), yard.sending()
    await settle()
    leaver.cancel()
    await settle()
    await read(running)

    assert await read(await stayer) == b"ok"
    assert yard.running() == [0]


async def test_a_place_given_in_the_moment_its_client_leaves_goes_to_the_next() -> None:
    yard = Yard(FakeUpstream(OK), limit=1)
    running = await yard.send()
    leaver, stayer = yard.sending(), yard.sending()
    await settle()
    await read(running)
    leaver.cancel()
    await settle()

    assert await read(await stayer) == b"ok"
    assert yard.running() == [0]
    assert yard.calls() == [2]


@pytest.mark.parametrize("trouble", [saying(500), *map(failing, ("timeout", "protocol"))])
async def test_a_node_that_fails_again_and_again_is_left_alone(trouble: Answer) -> None:
    yard = Yard(FakeUpstream(trouble), breaker=BREAKER)
    for _ in range(4):
        await yard.ask()
    yard.clock.advance(3.0)

    with pytest.raises(UpstreamError) as shed:
        await yard.send()
    assert (shed.value.kind, shed.value.retry_after) == ("overload", 7.0)
    assert yard.calls() == [4]
    assert yard.told(BreakerMoved) == [BreakerMoved("a", "m", "open")]
    assert yard.told(Shed) == [Shed("breaker")]


async def test_answers_that_break_off_open_the_breaker() -> None:
    yard = Yard(FakeUpstream(Answer((b"o", failing("cut")))), breaker=BREAKER)

    assert [await yard.ask() for _ in range(5)] == ["cut"] * 4 + ["overload"]


@pytest.mark.parametrize("status", [400, 401, 404, 429])
async def test_refusals_neither_open_nor_heal(status: int) -> None:
    refusing = [saying(status)] * 20
    yard = Yard(FakeUpstream(*refusing, *[saying(500)] * 4, *refusing, OK), breaker=BREAKER)
    assert [await yard.ask() for _ in range(20)] == [status] * 20
    assert yard.told(BreakerMoved) == []
    for _ in range(4):
        await yard.ask()
    yard.clock.advance(10.0)

    assert [await yard.ask() for _ in range(20)] == [status] * 20
    assert [move.state for move in yard.told(BreakerMoved)] == ["open", "half_open"]
    await yard.ask()
    assert yard.told(BreakerMoved)[-1].state == "closed"


async def test_clients_that_leave_open_nothing() -> None:
    yard = Yard(FakeUpstream(held()[0]), breaker=BREAKER)
    for _ in range(20):
        await (await yard.send()).aclose()

    assert yard.told(BreakerMoved) == []
    assert yard.running() == [0]


async def test_clients_that_leave_because_nothing_comes_do() -> None:
    """Their patience is often shorter than ours."""
    breaker = Breaker(min_calls=4, slow_call=Duration(5))
    yard = Yard(FakeUpstream(Answer(door=asyncio.Event())), breaker=breaker)
    for _ in range(4):
        sending = yard.sending()
        await settle()
        yard.clock.advance(6.0)
        sending.cancel()
        await settle()

    assert [move.state for move in yard.told(BreakerMoved)] == ["open"]


async def test_another_model_of_the_node_is_not_left_alone() -> None:
    yard = Yard(FakeUpstream(*[saying(500)] * 4, OK), breaker=BREAKER)
    for _ in range(4):
        await yard.ask("sick")

    assert await yard.ask("well") == 200
    assert await yard.ask("sick") == "overload"


async def test_what_is_about_no_model_is_stopped_by_no_breaker() -> None:
    yard = Yard(FakeUpstream(saying(500)), breaker=BREAKER)

    assert [await yard.ask(None) for _ in range(20)] == [500] * 20


async def test_a_recovering_node_gets_one_call_and_a_failure_shuts_it_again() -> None:
    """A hundred ask at once, the node answers late and with an error."""
    door = asyncio.Event()
    late = Answer((b"no",), status=500, door=door)
    yard = Yard(FakeUpstream(*[saying(500)] * 4, late), breaker=BREAKER)
    for _ in range(4):
        await yard.ask()
    yard.clock.advance(10.0)
    asked = [asyncio.create_task(yard.ask()) for _ in range(100)]
    await settle()
    yard.clock.advance(2.0)
    door.set()
    answers = await asyncio.gather(*asked)

    assert (answers.count(500), answers.count("overload")) == (1, 99)
    assert yard.calls() == [5]
    yard.clock.advance(9.9)
    assert await yard.ask() == "overload"


@pytest.mark.parametrize("leaves", ["before its head", "in its body"])
async def test_a_probe_whose_client_leaves_makes_room_for_the_next(leaves: str) -> None:
    door = asyncio.Event()
    if leaves == "in its body":
        door.set()
    probe = Answer((b"o", asyncio.Event()), door=door)
    yard = Yard(FakeUpstream(*[saying(500)] * 4, probe, OK), breaker=BREAKER)
    for _ in range(4):
        await yard.ask()
    yard.clock.advance(10.0)
    asking = asyncio.create_task(yard.ask())
    await settle()
    assert await yard.ask() == "overload"
    asking.cancel()
    await settle()

    assert await yard.ask() == 200
    assert yard.told(BreakerMoved)[-1].state == "closed"


async def test_a_long_answer_of_a_recovering_node_does_not_keep_all_others_out() -> None:
    long, gate = held()
    yard = Yard(FakeUpstream(*[saying(500)] * 4, long, OK), breaker=BREAKER)
    for _ in range(4):
        await yard.ask()
    yard.clock.advance(10.0)
    asking = asyncio.create_task(yard.ask())
    await settle()
    assert await yard.ask() == "overload"
    yard.clock.advance(10.0)

    assert await yard.ask() == 200
    gate.set()
    assert await asking == 200


async def test_while_one_nodes_breaker_is_open_the_other_answers() -> None:
    yard = Yard(FakeUpstream(saying(500)), FakeUpstream(OK), breaker=BREAKER)

    assert [await yard.ask() for _ in range(50)] == [200] * 50
    assert yard.calls() == [4, 50]


async def test_who_waits_for_a_node_that_is_given_up_does_not_wait_on() -> None:
    answers = [held(failing("cut")) for _ in range(4)]
    yard = Yard(FakeUpstream(*[answer for answer, _ in answers]), limit=4, breaker=BREAKER)
    reading = [asyncio.create_task(yard.ask()) for _ in answers]
    await settle()
    waiting = asyncio.create_task(yard.ask())
    await settle()
    # The fourth failure opens it; those that wait by then have nothing left to wait for.
    yard.nodes[0].limiter = Limiter(1)
    for _, gate in answers:
        gate.set()
    await asyncio.gather(*reading)

    assert await waiting == "overload"
    assert yard.running() == [0]


async def test_saturated_is_who_has_requests_waiting_or_shed_some_lately() -> None:
    yard, saturated = Yard(FakeUpstream(OK), limit=1), []

    def look() -> None:
        saturated.append(yard.fleet.saturated)

    running = await yard.send()
    look()
    waiting = yard.sending()
    await settle()
    look()
    await yard.pass_time(10.5)
    look()
    with pytest.raises(UpstreamError):
        await waiting
    yard.clock.advance(5.5)
    look()

    assert saturated == [False, True, True, False]
    await read(running)


async def test_what_the_nodes_have_to_do_is_told_when_it_changes() -> None:
    yard = Yard(FakeUpstream(OK), FakeUpstream(OK), limit=1)
    yard.fleet.measure()
    yard.fleet.measure()
    assert yard.events == [NodeMeasured(name, 1, 0, 0, 0) for name in "ab"]
    await yard.send()
    yard.fleet.measure()

    assert yard.told(NodeMeasured)[2:] == [NodeMeasured("a", 1, 1, 0, 0)]


async def slowed(yard: Yard, seconds: float) -> None:
    """Twenty clients at once, whose first bytes come after so long."""
    door = asyncio.Event()
    yard.upstreams[0].script = [Answer((b"ok",), door=door)]
    asking = [asyncio.create_task(yard.ask()) for _ in range(20)]
    await settle()
    yard.clock.advance(seconds)
    door.set()
    await asyncio.gather(*asking)
    yard.clock.advance(2.0)


async def test_a_node_whose_first_bytes_come_later_and_later_gets_fewer_calls() -> None:
    yard = Yard(FakeUpstream(OK), limit=40, least=2)
    for _ in range(6):
        await slowed(yard, 0.1)
    assert yard.nodes[0].limiter.limit == 40
    for _ in range(20):
        await slowed(yard, 5.0)

    assert yard.nodes[0].limiter.limit <= 20


@pytest.mark.parametrize("trouble", [failing("timeout"), saying(503), saying(529)])
async def test_a_node_that_is_overloaded_by_its_own_words_gets_fewer_calls(trouble: Answer) -> None:
    yard = Yard(FakeUpstream(trouble), limit=40, least=2, breaker=Breaker(min_calls=1000))
    for _ in range(10):
        await yard.ask()
        yard.clock.advance(2.0)

    assert yard.nodes[0].limiter.limit == 2


async def test_a_limit_that_grows_lets_in_who_waits() -> None:
    class Growing(Limiter):
        def sample(self, kind: str, seconds: float, running: int, mono: float) -> None:
            self._limit = 2.0

    answer, gate = held()
    yard = Yard(FakeUpstream(answer))
    yard.nodes[0].limiter = Growing(1)
    running = await yard.send()
    waiting = yard.sending()
    await settle()
    assert not waiting.done()
    await anext(running)
    await settle()

    assert waiting.done()
    gate.set()
    await read(running)
    await read(await waiting)


class Crowd:
    """Clients that come, read, and leave at any moment; counts what the upstreams see."""

    def __init__(self, seed: int, limit: int) -> None:
        self.random = random.Random(seed)
        self.limit = limit
        script: list[Answer | UpstreamError] = [
            OK,
            saying(500),
            saying(429),
            failing("connect"),
            failing("cut"),
            saying(503),
        ]
        script += [Answer((b"o", failing("cut"))), OK, OK, OK]
        upstreams = [
            FakeUpstream(*[self.random.choice(script) for _ in range(4000)], name=name)
            for name in "abc"
        ]
        overload = Overload(queue=20, retry_ratio=1.0)
        self.yard = Yard(*upstreams, limit=limit, breaker=BREAKER, overload=overload)
        self.clients: list[asyncio.Task[None]] = []

    async def client(self) -> None:
        tenant, model = self.random.choice([b"", b"a", b"b"]), self.random.choice(["m", "n", None])
        answer: Answering | None = None
        try:
            answer = await self.yard.send(model, tenant=tenant)
            async for _ in answer:
                await asyncio.sleep(0)
        except UpstreamError:
            pass
        finally:
            if answer is not None:
                await answer.aclose()

    async def step(self) -> None:
        self.clients = [client for client in self.clients if not client.done()]
        for _ in range(self.random.randrange(8)):
            self.clients.append(asyncio.create_task(self.client()))
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        for client in self.random.sample(self.clients, len(self.clients) // 2):
            client.cancel()
        self.yard.clock.advance(self.random.choice([0.0, 0.1, 1.0]))
        for node, upstream in zip(self.yard.nodes, self.yard.upstreams, strict=True):
            assert upstream.answering <= node.running <= self.limit


@pytest.mark.parametrize("seed", range(4))
async def test_ten_thousand_clients_that_come_and_leave_lose_no_place(seed: int) -> None:
    crowd = Crowd(seed, limit=2)
    for _ in range(800):
        await crowd.step()
    for client in crowd.clients:
        client.cancel()
    await asyncio.gather(*crowd.clients, return_exceptions=True)
    await settle()

    assert crowd.yard.running() == [0, 0, 0]
    assert [upstream.answering for upstream in crowd.yard.upstreams] == [0, 0, 0]
    assert len(crowd.yard.fleet._gate._waiting) == 0
    assert len(asyncio.all_tasks()) == 1
    assert sum(crowd.yard.calls()) > 1000
