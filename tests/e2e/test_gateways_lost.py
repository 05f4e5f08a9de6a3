"""One gateway of three is killed, frozen or cut off while it flies for the others."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from tests import sse
from tests.client import post
from tests.e2e import crowd, fleet
from tests.e2e.questions import Questions, question

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.e2e.conftest import Start
    from tests.e2e.crowd import Member
    from tests.e2e.questions import Place
    from tests.gateway import Gateway
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

FLIGHTS = 100
pytestmark = pytest.mark.timeout(60)


@contextmanager
def frozen(gateway: Gateway) -> Iterator[None]:
    pids = [gateway.pid, *gateway.workers()]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


class Shared:
    """Flights shared by all three gateways, a third of them flown by each."""

    def __init__(self, gateways: Sequence[Gateway], upstream: Channel, place: Place) -> None:
        self.gateways, self.upstream = gateways, upstream
        self.asked = Questions(upstream, place)
        self.members: dict[int, list[Member]] = {}
        """Of each question; the first is a client of the gateway that flies."""

    async def begin(self, size: int = FLIGHTS) -> None:
        """Every question is asked at all gateways, and everyone waits."""

        async def one(number: int) -> None:
            home = number % 3
            order = [*self.gateways[home:], *self.gateways[:home]]
            self.members[number] = await self.asked.join(order, number)

        await asyncio.gather(*(one(number) for number in range(size)))
        for gateway in self.gateways:
            # Its own client and, of those that it flies, the two other gateways.
            await crowd.waiting(gateway, self.upstream, size + 2 * (size // 3))

    def of_others(self, *, flown_by_lost: bool) -> dict[int, list[Member]]:
        """Clients of the second and the third gateway, by question; the first one is lost."""
        found = {}
        for number, members in self.members.items():
            homes = [(number + i) % 3 for i in range(3)]
            if (homes[0] == 0) == flown_by_lost:
                there = [one for home, one in zip(homes, members, strict=True) if home]
                found[number] = there
        return found

    async def check(self) -> None:
        """All others get whole answers, with one more call for each flight that was lost."""
        orphans, rest = self.of_others(flown_by_lost=True), self.of_others(flown_by_lost=False)
        await crowd.over([one for members in orphans.values() for one in members])
        self.asked.gate.open()
        await crowd.over([one for members in rest.values() for one in members])

        assert sum(map(len, orphans.values())) == 2 * len(orphans) > 0
        for number, members in orphans.items():
            assert [one.text for one in members] == [f"{number}/2"] * 2
        for number, members in rest.items():
            assert [one.text for one in members] == [f"{number}/1"] * 2
        assert {self.asked.calls[number] for number in orphans} == {2}
        assert {self.asked.calls[number] for number in rest} == {1}


@pytest.mark.parametrize("place", ["head", "middle"])
async def test_a_gateway_is_killed(
    gateways: Sequence[Gateway], upstream: Channel, place: Place
) -> None:
    shared = Shared(gateways, upstream, place)
    await shared.begin()
    gateways[0].kill()

    await shared.check()


@pytest.mark.parametrize("place", ["head", "middle"])
async def test_a_gateway_is_frozen(
    gateways: Sequence[Gateway], upstream: Channel, place: Place
) -> None:
    shared = Shared(gateways, upstream, place)
    await shared.begin()
    with frozen(gateways[0]):
        await shared.check()

    # It wakes up with answers of its own, which nobody else gets to see.
    mine = [members[0] for number, members in shared.members.items() if number % 3 == 0]
    await crowd.over(mine)
    assert {member.got.status for member in mine} == {200}
    for number in (0, 3, 6):
        got = await post(gateways[1].port, upstream.key, question(number))
        assert got.json()["choices"][0]["message"]["content"] == f"{number}/2"


@pytest.mark.parametrize("way", ["others", "everything"])
async def test_a_gateway_is_cut_off(
    start: Start, redis: RedisServer, upstream: Channel, way: str
) -> None:
    async with fleet.islands(start, redis, 3) as islands:
        shared = Shared([one.gateway for one in islands], upstream, "head")
        await shared.begin()
        if way == "others":
            islands[0].cut_from_others()
        else:
            islands[0].cut_off()

        await shared.check()
        # Its own clients have their answers, too.
        mine = [members[0] for number, members in shared.members.items() if number % 3 == 0]
        await crowd.over(mine)
        assert {member.got.status for member in mine} == {200}


async def begun(gateways: Sequence[Gateway], upstream: Channel) -> dict[str, list[Member]]:
    """An answer that streams, half sent: who reads it as a stream, and who waits for JSON, at the
    gateway that flies (first) and at the others."""
    asked = Questions(upstream, "middle")
    streams = await asked.join(gateways, 0, stream=True)
    whole = [await crowd.join(one, upstream, stream=False, asked=question(0)) for one in gateways]
    for member in streams:
        async with asyncio.timeout(10):
            await member.first.came.wait()
    for gateway in gateways[1:]:
        await crowd.waiting(gateway, upstream, 2)
    return {"streams": streams, "whole": whole}


@pytest.mark.parametrize("how", ["killed", "frozen"])
async def test_streams_that_had_begun_end_with_an_error_and_the_rest_are_answered(
    gateways: Sequence[Gateway], upstream: Channel, how: str
) -> None:
    members = await begun(gateways, upstream)
    with frozen(gateways[0]):
        if how == "killed":
            gateways[0].kill()
        await crowd.over(members["streams"][1:] + members["whole"][1:])

        for member in members["streams"][1:]:
            got = member.got
            assert got.status == 200
            assert b"[DONE]" not in got.body
            assert b"0/2" not in got.body
            assert "error" in sse.chunks(got.body)[-1]
            assert not got.complete
        assert [member.text for member in members["whole"][1:]] == ["0/2"] * 2
    assert upstream.calls == 2
