"""What engines publish of their caches, heard from a real publisher that is killed, that loses
batches and that talks nonsense."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.blocks import Events
from proxy.adapters.clock import SystemClock
from proxy.config import ConfigError, Upstream, parse
from proxy.core.events import BlocksHeld, BlocksTold, NodeVoid
from proxy.core.prefix import Prompt, chained
from proxy.node import Node
from proxy.nodes import listening
from proxy.router import Router
from proxy.wish import Wish
from tests import vllm
from tests.fakes import FakeUpstream
from tests.gateway import free_port
from tests.publisher import SIZE, Publisher

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from proxy.core.events import Event
    from proxy.core.table import News


def prompt(text: str) -> Prompt:
    made = chained((b"tenant",), [(b"user", text.encode() * 1000)])
    assert made is not None
    return made


ONE = prompt("one ")


class Gateway:
    """A router over nodes a and b that listens to what a publishes."""

    def __init__(self, publisher: Publisher, *, replay: str | None = "", topic: str = "") -> None:
        clock = SystemClock()
        self.events: list[Event] = []
        self.nodes = (Node("a", FakeUpstream()), Node("b", FakeUpstream()))
        self.router = Router(self.nodes, clock, self.events.append)
        self.router.gossip.share()
        table = Upstream(
            name="a",
            url="http://a/v1",
            events=publisher.url,
            events_replay=publisher.replay if replay == "" else replay or "",
            events_topic=topic,
        )
        listening = Events([(table, self.nodes[0])], self.router, clock, self.events.append)
        self.task = asyncio.create_task(listening.run())

    def knows(self, asked: Prompt = ONE) -> str:
        """Why node a would be asked, as far as it is."""
        wish = Wish(self.nodes, "m", b"t", sticky=False, prompt=asked)
        depth = self.router.prefixes.depths(["a"], asked.chain)[0]
        return self.router.pick(self.nodes, wish).reason if depth else "cold"

    def learn(self, asked: Prompt = ONE) -> None:
        self.router.warmed(self.nodes[0], asked.chain, "m")
        assert self.knows(asked) == "hit"

    def told(self, kind: str) -> int:
        found = (one for one in self.events if isinstance(one, BlocksTold) and one.kind == kind)
        return sum(one.count for one in found)

    def void(self) -> list[str]:
        return [one.reason for one in self.events if isinstance(one, NodeVoid)]

    def held(self) -> tuple[int, int]:
        """Tokens held, and room."""
        found = [one for one in self.events if isinstance(one, BlocksHeld)]
        return (found[-1].tokens, found[-1].room) if found else (-1, -1)

    def news(self) -> list[News]:
        return [one for one in self.router.gossip.told() if one.chain is None]

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not true():
                if self.task.done():
                    self.task.result()
                await asyncio.sleep(0.005)


@asynccontextmanager
async def listener(
    publisher: Publisher, *, replay: str | None = "", topic: str = ""
) -> AsyncIterator[Gateway]:
    """`replay`: empty: the publisher's; None: none."""
    gateway = Gateway(publisher, replay=replay, topic=topic)
    await publisher.subscribed()
    yield gateway
    gateway.task.cancel()
    with suppress(asyncio.CancelledError):
        await gateway.task


@pytest.fixture(params=[(), ("--maps",)], ids=["arrays", "maps"])
def publisher(request: pytest.FixtureRequest) -> Iterator[Publisher]:
    with Publisher(*request.param) as one:
        yield one


@pytest.fixture
def forgetful() -> Iterator[Publisher]:
    """Its replay has the last two batches."""
    with Publisher("--kept", "2") as one:
        yield one


async def test_after_a_clearance_nothing_is_known_at_once(publisher: Publisher) -> None:
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=4)
        await gateway.until(lambda: gateway.told("stored") == 4)
        assert gateway.knows() == "hit"
        await publisher.publish("cleared")
        await gateway.until(lambda: gateway.knows() == "cold")

        assert gateway.void() == ["cleared"]
        assert [one.node for one in gateway.news()] == ["a"]


async def test_what_a_real_vllm_published_is_followed(publisher: Publisher) -> None:
    """Emptied, and then full, it has room for the five blocks that it was given."""
    async with listener(publisher, replay=None) as gateway:
        gateway.learn()
        await publisher.frames(*vllm.frames(0))
        await gateway.until(lambda: gateway.held() == (vllm.BLOCK, 0))
        assert gateway.knows() == "hit"
        for number in range(1, len(vllm.BATCHES)):
            await publisher.frames(*vllm.frames(number))
        await gateway.until(lambda: gateway.told("removed") == 2)

        assert gateway.held() == (4 * vllm.BLOCK, 5 * vllm.BLOCK)
        assert gateway.void() == ["cleared"]
        assert gateway.knows() == "cold"


async def test_whose_events_are_heard_is_not_given_up_for_a_refused_connection(
    publisher: Publisher,
) -> None:
    """It would say so if it had begun anew."""
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=4)
        await gateway.until(lambda: gateway.told("stored") == 4)
        gateway.router.lost(gateway.nodes[0])

        assert gateway.knows() == "hit"
        assert gateway.news() == []


async def test_a_killed_engine_begins_anew(publisher: Publisher) -> None:
    """Without a replay that is known with its first batch."""
    async with listener(publisher, replay=None) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=4, times=3)
        await gateway.until(lambda: gateway.told("stored") == 12)
        publisher.kill()
        publisher.start()
        await publisher.subscribed()
        assert gateway.knows() == "hit"
        await publisher.publish("stored", blocks=2)
        await gateway.until(lambda: gateway.told("stored") == 14)

        assert gateway.knows() == "cold"
        assert gateway.void() == ["restart"]
        assert gateway.held() == (2 * SIZE, 0)
        assert [one.node for one in gateway.news()] == ["a"]


async def test_a_killed_engine_that_says_nothing_yet_has_begun_anew(publisher: Publisher) -> None:
    """Its replay has nothing of what came last."""
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=4, times=3)
        await gateway.until(lambda: gateway.told("stored") == 12)
        publisher.kill()
        publisher.start()
        await gateway.until(lambda: gateway.knows() == "cold")
        assert gateway.held() == (0, 0)
        gateway.learn()
        await publisher.publish("stored", blocks=2)
        await gateway.until(lambda: gateway.held() == (2 * SIZE, 0))

        assert gateway.knows() == "hit"
        assert gateway.void() == ["restart"]
        assert [one.node for one in gateway.news()] == ["a"]


async def test_a_connection_that_broke_is_no_restart(publisher: Publisher) -> None:
    """What was published meanwhile is had from the replay, before anything else is."""
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=4)
        await gateway.until(lambda: gateway.told("stored") == 4)
        await publisher.publish("stored", blocks=3, sent=False)
        await publisher.frames(b"kv", b"\x00" * 8, bytes(3 << 20))
        await gateway.until(lambda: gateway.held() == (7 * SIZE, 0))

        assert gateway.knows() == "hit"
        assert gateway.void() == []


async def test_a_new_life_of_which_the_beginning_was_missed_is_noticed(
    publisher: Publisher,
) -> None:
    """It has come further than the old one: its numbers alone do not tell."""
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=4)
        await gateway.until(lambda: gateway.told("stored") == 4)
        publisher.kill()
        publisher.start()
        await publisher.publish("stored", sent=False, times=5)
        await publisher.subscribed()
        await publisher.publish("stored")
        await gateway.until(lambda: gateway.void() == ["restart"])

        assert gateway.knows() == "cold"
        await gateway.until(lambda: gateway.held() == (6 * SIZE, 0))


async def test_what_was_lost_on_the_way_is_replayed(publisher: Publisher) -> None:
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=500)
        await publisher.publish("stored", blocks=30, sent=False, times=2)
        await publisher.publish("removed", blocks=20)
        await gateway.until(lambda: gateway.held() == (540 * SIZE, 560 * SIZE))

        assert gateway.told("gap") == 1
        assert gateway.knows() == "hit"
        assert gateway.void() == []


async def test_a_clearance_that_was_lost_on_the_way_is_heard_of(publisher: Publisher) -> None:
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=10)
        await publisher.publish("cleared", sent=False)
        await publisher.publish("stored", blocks=2)
        await gateway.until(lambda: gateway.held() == (2 * SIZE, 0))

        assert gateway.knows() == "cold"
        assert gateway.void() == ["cleared"]


async def test_a_long_replay_is_taken_in_turns(publisher: Publisher) -> None:
    """A queue that is full drops what comes: it is asked again from where it broke off."""
    async with listener(publisher) as gateway:
        await publisher.publish("stored")
        await publisher.publish("stored", sent=False, times=5000)
        await publisher.publish("stored")
        await gateway.until(lambda: gateway.held() == (5002 * SIZE, 0))

        assert gateway.void() == []


async def test_what_no_replay_has_is_a_loss_of_this_gateway_alone(forgetful: Publisher) -> None:
    async with listener(forgetful) as gateway:
        gateway.learn()
        await forgetful.publish("stored")
        await forgetful.publish("stored", sent=False, times=5)
        await forgetful.publish("stored")
        await gateway.until(lambda: gateway.void() == ["lost"])

        assert gateway.knows() == "cold"
        assert gateway.news() == []
        gateway.learn()
        await forgetful.publish("stored", blocks=100)
        await gateway.until(lambda: gateway.told("stored") == 102)
        assert gateway.knows() == "hit"


@pytest.mark.parametrize("silent", [False, True])
async def test_without_a_replay_a_gap_is_a_loss(forgetful: Publisher, silent: bool) -> None:
    replay = f"tcp://127.0.0.1:{free_port()}" if silent else None
    async with listener(forgetful, replay=replay) as gateway:
        gateway.learn()
        await forgetful.publish("stored")
        await forgetful.publish("stored", sent=False)
        await forgetful.publish("stored")
        await gateway.until(lambda: gateway.void() == ["lost"])

        assert gateway.knows() == "cold"
        assert gateway.told("silent") == silent


async def test_who_joins_late_learns_the_count_from_the_replay(publisher: Publisher) -> None:
    await publisher.publish("stored", blocks=7)
    await publisher.publish("cleared")
    await publisher.publish("stored", blocks=3)
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=1)
        await gateway.until(lambda: gateway.held() == (4 * SIZE, 0))

        assert gateway.knows() == "hit"
        assert gateway.void() == []


async def test_the_room_of_an_engine_is_learnt(publisher: Publisher) -> None:
    """A prompt that fits in is known, one more drives out what was used longest ago."""
    async with listener(publisher) as gateway:
        for text in ("one ", "two ", "six "):
            gateway.learn(prompt(text))
        capacity = gateway.router.prefixes.stats("a")[2]
        await publisher.publish("stored", blocks=2100 // SIZE)
        await gateway.until(lambda: gateway.told("stored") > 0)
        assert gateway.router.prefixes.stats("a")[2] == capacity
        await publisher.publish("removed", blocks=1)
        await gateway.until(lambda: gateway.told("removed") > 0)

        assert gateway.router.prefixes.stats("a")[2] == 2100 // SIZE * SIZE
        known = [gateway.knows(prompt(text)) for text in ("one ", "two ", "six ")]
        assert known == ["cold", "hit", "hit"]


async def test_nonsense_changes_nothing(publisher: Publisher) -> None:
    async with listener(publisher) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=4)
        await publisher.frames(b"kv")
        await publisher.frames(b"kv", b"\x00" * 7, b"\x90")
        await publisher.frames(b"kv", b"\xff" * 8, b"")
        await gateway.until(lambda: gateway.told("garbled") == 3)
        assert gateway.held() == (4 * SIZE, 0)
        await publisher.frames(b"kv", b"\x00" * 7 + b"\x01", b"\xc1")
        await gateway.until(lambda: gateway.told("garbled") == 4)

        assert gateway.knows() == "hit"
        assert gateway.held() == (0, 0)


async def test_a_message_that_is_too_large_is_not_taken_in(publisher: Publisher) -> None:
    async with listener(publisher, replay=None) as gateway:
        gateway.learn()
        await publisher.publish("stored", blocks=4)
        await gateway.until(lambda: gateway.told("stored") == 4)
        await publisher.publish("stored", blocks=300_000)
        await publisher.subscribed()
        await publisher.publish("stored", blocks=1)
        await gateway.until(lambda: gateway.void() == ["lost"])

        assert gateway.told("stored") == 5


async def test_a_publisher_out_of_order_is_not_believed_for_ever(publisher: Publisher) -> None:
    async with listener(publisher) as gateway:
        await publisher.publish("cleared", times=20)
        await gateway.until(lambda: gateway.told("cleared") == 20)

        assert len(gateway.void()) == 8
        assert gateway.told("distrusted") == 12


async def test_an_engine_behind_the_same_address_is_no_restart() -> None:
    with Publisher() as publisher:
        async with listener(publisher) as gateway:
            gateway.learn()
            await publisher.publish("stored", blocks=4, times=2)
            await publisher.publish("cleared", rank=1)
            await publisher.frames(b"kv", b"\x00" * 8, b"\x93\x01\x90\x01")
            await gateway.until(lambda: gateway.told("stranger") == 2)

            assert gateway.knows() == "hit"
            assert gateway.held() == (0, 0) or gateway.told("stored") == 8


async def test_another_topic_is_not_heard(publisher: Publisher) -> None:
    async with listener(publisher, topic="kv") as gateway:
        await publisher.frames(b"other", b"\x00" * 8, b"\x90")
        await publisher.publish("stored")
        await gateway.until(lambda: gateway.told("stored") == 1)

        assert gateway.told("garbled") == 0


NODE = '[[upstream]]\nname = "a"\nurl = "http://a/v1"\nevents = "tcp://a:5557"\n'


def test_without_the_extra_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    listening(parse(NODE))
    monkeypatch.setitem(sys.modules, "zmq", None)
    listening(parse(NODE.replace("events", "events_topic")))

    with pytest.raises(ConfigError, match=r"hotprefix\[events\].*`upstream\[0\]\.events"):
        listening(parse(NODE))
