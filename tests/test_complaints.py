"""Hits that are called wrong at another machine than served them, over a real Redis."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.adapters.meaning import Meaning
from proxy.adapters.redis.meanings import Meanings
from proxy.core.near import Near
from proxy.ports import SemanticError, StoreError
from semantic.protocol import Nearest
from semantic.server import Server
from tests.fakes import FakeClock, FakeStore
from tests.scripted import PREFIX, Direct
from tests.semantic.company import SCOPE, Company, company, key
from tests.stored import NOW

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import redis as driver

    from proxy.core.near import Blamed

TEXT = "which bird sings loudest"
YOUNG, OLD = f"{PREFIX}{{meaning}}:s", f"{PREFIX}{{meaning}}:so"
LESSONS = f"{PREFIX}{{meaning}}:l"


class Machine:
    """A semantic process, the line of a worker to it, and what it shares with the fleet."""

    def __init__(self, here: Company, path: Path, client: driver.Redis) -> None:
        self.here = here
        self.link = Direct(client)
        run = path.name.encode()
        self.fleet = Meanings(self.link, FakeStore().get, run, FakeClock(NOW))
        self.server = Server(path, here.service.answer)
        self.line = Meaning(path)
        self.line.fleet = self.fleet

    async def hit(self, request: str) -> None:
        """A request is answered with what is stored."""
        await self.here.learn(TEXT, "bird")
        found = await self.here.service.answer(Nearest(SCOPE, "m", TEXT, 3600.0))
        near = msgspec.convert(found, Near, from_attributes=True)
        assert near.action == "serve"
        await self.line.served(near, TEXT, request)

    async def listen(self) -> None:
        for lesson in (await self.fleet.heard())[1]:
            await self.line.hear(lesson)

    @property
    def errors(self) -> float:
        return self.here.lessons.groups().get("m/en", {}).get("canonical_errors", 0.0)

    @property
    def blocks(self) -> bool:
        return self.here.lessons.blocked(SCOPE, TEXT, b"", key("bird"))


@pytest.fixture
async def machines(tmp_path: Path, client: driver.Redis) -> AsyncIterator[list[Machine]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(machine(tmp_path / name, client)) for name in "abc"]


@asynccontextmanager
async def machine(path: Path, client: driver.Redis) -> AsyncIterator[Machine]:
    async with company() as here:
        made = Machine(here, path, client)
        await made.server.start()
        yield made
        await made.line.aclose()
        await made.server.aclose()


async def test_any_machine_can_be_told_and_the_error_counts_once_at_each(
    machines: list[Machine], client: driver.Redis
) -> None:
    a, b, c = machines
    await a.hit("req_1")

    blamed = await b.line.blame("req_1")
    again = [await one.line.blame("req_1") for one in (b, c)]
    for one in machines * 2:
        await one.listen()

    assert blamed is not None
    assert (blamed.keys, blamed.closed) == ((key("bird"),), True)
    assert again == [None, None]
    assert [one.errors for one in machines] == [1, 1, 1]
    assert [one.blocks for one in machines] == [True, True, True]
    assert client.xlen(LESSONS) == 1
    assert await a.line.blame("req_1") is None  # it has heard that somebody was told


async def test_a_request_that_nobody_answered_by_meaning_is_unknown_everywhere(
    machines: list[Machine], client: driver.Redis
) -> None:
    await machines[0].hit("req_1")

    assert [await one.line.blame("req_2") for one in machines] == [None, None, None]
    assert client.xlen(LESSONS) == 0


async def test_what_its_own_machine_was_told_is_not_told_again_elsewhere(
    machines: list[Machine], client: driver.Redis
) -> None:
    a, b, _ = machines
    await a.hit("req_1")

    assert await a.line.blame("req_1") is not None
    assert await b.line.blame("req_1") is None
    await b.listen()
    assert (b.errors, b.blocks, client.xlen(LESSONS)) == (1, True, 1)


async def test_machines_told_at_once_count_one_error(machines: list[Machine]) -> None:
    for number in range(5):
        await machines[0].hit(f"req_{number}")
    for number in range(5):
        said = (one.line.blame(f"req_{number}") for one in machines)
        told: list[Blamed | None] = await asyncio.gather(*said)
        for one in machines * 2:
            await one.listen()

        assert any(told)
        assert [one.errors for one in machines] == [number + 1] * 3


async def test_who_comes_second_tells_nobody(machines: list[Machine], client: driver.Redis) -> None:
    """Both had read what follows before one of them told it."""
    a, b, c = machines
    await a.hit("req_1")
    word = await c.fleet.complaint("req_1")
    assert word is not None

    assert await b.line.blame("req_1") is not None
    assert not await c.fleet.settled("req_1", word)
    assert client.xlen(LESSONS) == 1


async def test_a_machine_that_cannot_count_it_can_be_told_again(machines: list[Machine]) -> None:
    a, b, c = machines
    await a.hit("req_1")
    b.link.full = True
    with pytest.raises(StoreError):
        await b.line.blame("req_1")
    await c.server.aclose()
    await c.line.aclose()
    with pytest.raises(SemanticError):
        await c.line.blame("req_1")
    b.link.full = False

    assert await b.line.blame("req_1") is not None
    assert b.errors == 1


async def test_without_redis_its_own_machine_alone_knows(machines: list[Machine]) -> None:
    a, b, _ = machines
    a.link.down = b.link.down = True
    await a.hit("req_1")

    with pytest.raises(StoreError):
        await b.line.blame("req_1")
    assert await a.line.blame("req_1") is not None


async def test_a_hit_outlives_the_machine_that_served_it(machines: list[Machine]) -> None:
    a, b, _ = machines
    await a.hit("req_1")
    await a.server.aclose()

    assert await b.line.blame("req_1") is not None


@pytest.mark.parametrize("word", [b"", b"\xc1", msgspec.msgpack.encode({"type": "lesson"})])
async def test_what_no_gateway_of_this_version_wrote_is_unknown(
    machines: list[Machine], client: driver.Redis, word: bytes
) -> None:
    await machines[0].hit("req_1")
    (name,) = client.hkeys(YOUNG)
    client.hset(YOUNG, name, word)

    assert await machines[1].line.blame("req_1") is None


async def test_only_digests_are_left_there_and_no_more_than_two_halves(
    machines: list[Machine], client: driver.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proxy.adapters.redis.meanings.SERVED", 4)
    a, b, _ = machines
    for number in range(11):
        await a.hit(f"req_{number}")
    left = {**client.hgetall(YOUNG), **client.hgetall(OLD)}

    assert (client.hlen(YOUNG), client.hlen(OLD)) == (3, 4)
    assert not [one for one in (*left, *left.values()) if b"bird sings" in one or b"req" in one]
    assert 0 < int(str(client.pttl(YOUNG))) <= 86_400_000
    assert 0 < int(str(client.pttl(OLD))) <= 86_400_000
    assert await b.line.blame("req_3") is None
    assert await b.line.blame("req_4") is not None
    assert await b.line.blame("req_10") is not None
