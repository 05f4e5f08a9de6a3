"""What is known of prompts outlives a gateway, and can be looked at, over real processes."""

from __future__ import annotations

import asyncio
import json
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.client import Connection, answer, post, spelled
from tests.e2e import fleet
from tests.e2e.test_routing import KEY, SYSTEM, ask, before, chat, until, why
from tests.engine import Running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.answers import Json
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.redis_server import RedisServer

NEWS = "hotprefix:{routes}:news"


@pytest.fixture
def engines() -> Iterator[list[Running]]:
    """Three."""
    with ExitStack() as stack:
        yield [stack.enter_context(Running()) for _ in range(3)]


def told(number: int, *more: str) -> Json:
    """With nothing in common with others, which would bring them to one node."""
    return chat(f"{number} is careful. " * 90, f"conversation {number} " * 300, *more)


async def test_a_gateway_that_starts_late_sends_known_conversations_home(
    start: Start, engines: list[Running], redis: RedisServer
) -> None:
    """Though the news of them are gone, and the gateway that knew them is too."""
    settings = fleet.merged(before(engines), fleet.PATIENT)
    (first,) = await asyncio.to_thread(fleet.gateways, start, redis.url, 1, settings)
    homes = [why(await ask(first, told(i)))[0] for i in range(12)]
    await until(lambda: first.total("hotprefix_route_rows_total", way="written") >= 24)
    with redis.client() as client:
        assert client.exists(NEWS) == 1
        client.xtrim(NEWS, maxlen=0, approximate=False)
        await asyncio.to_thread(first.stop)
        client.delete(NEWS)
    (late,) = await asyncio.to_thread(fleet.gateways, start, redis.url, 1, settings)
    await until(lambda: late.total("hotprefix_route_rows_total", way="read") >= 24)
    seen = [why(await ask(late, told(i, "an answer", "go on"))) for i in range(12)]

    assert [node for node, _, _ in seen] == homes
    assert {reason for _, reason, _ in seen} == {"hit"}
    assert len(set(homes)) == 3


@pytest.mark.timeout(60)
async def test_a_redis_that_dies_while_it_is_read_costs_no_request(
    start: Start, engines: list[Running], redis: RedisServer
) -> None:
    """And comes back empty: all goes on."""
    settings = fleet.merged(before(engines), fleet.PATIENT)
    (first,) = await asyncio.to_thread(fleet.gateways, start, redis.url, 1, settings)
    for i in range(12):
        await ask(first, told(i))
    starting = asyncio.create_task(asyncio.to_thread(fleet.gateways, start, redis.url, 1, settings))
    await asyncio.sleep(0.2)
    redis.kill()
    (late,) = await starting
    for i in range(12):
        await ask(late, told(i, "an answer", "go on"))
    await asyncio.to_thread(redis.start)
    seen: list[str | None] = []
    with redis.client() as client:
        while not client.exists(NEWS):  # until Redis is heard again
            turn = told(len(seen) % 12, "an answer", f"and {len(seen)}?")
            seen.append(why(await ask((first, late)[len(seen) % 2], turn))[1])
            await asyncio.sleep(0.05)

    assert set(seen) <= {"island", "hit"}


def context(gateway: Gateway, name: str) -> dict[str, Any]:
    status, body = gateway.admin(f"/admin/context/{name}")
    assert status == 200, (status, body)
    shown: dict[str, Any] = json.loads(body)
    return shown


async def test_every_request_has_a_context_to_look_at(start: Start, engines: list[Running]) -> None:
    """Before one node, and whatever became of it: computed, shared, found, by the fast lane too."""
    gateway = start(before(engines[:1]))
    asked, session = chat(SYSTEM, "hello " * 5000, stream=True), ("x-context-session", "s-1")
    both = await asyncio.gather(*(post(gateway.port, KEY, asked, session) for _ in range(2)))
    got = [*both, await post(gateway.port, KEY, asked, session)]
    connection = await Connection.to(gateway.port)
    body = json.dumps(asked).encode()
    sent = [("Authorization", f"Bearer {KEY}"), ("Content-Type", "application/json"), session]
    for _ in range(3):
        await connection.send(spelled("POST", "/v1/chat/completions", sent, body))
        got.append(await answer(connection))
    await connection.close()
    names = [str(one.get("x-request-id")) for one in got]
    shown = [context(gateway, name) for name in names]
    other = await post(gateway.port, KEY, asked)
    unlike = context(gateway, str(other.get("x-request-id")))
    bypassed = await post(gateway.port, KEY, asked, ("x-cache", "off"), session)

    assert {one.status for one in got} == {200}
    caches = [one.get("x-cache") for one in got]
    assert sorted(map(str, caches[:2])) == ["COLLAPSED", "MISS"]
    assert caches[2:] == ["HIT"] * 4
    assert {one["key"] for one in shown} == {shown[0]["key"]}
    assert [layer["name"] for layer in shown[0]["layers"]] == [
        "global",
        "project",
        "session",
        "turn",
    ]
    assert shown[0]["key"] == "".join(layer["sha256"] for layer in shown[0]["layers"])
    assert unlike["key"] != shown[0]["key"]
    assert unlike["boundaries"] == shown[0]["boundaries"]
    assert context(gateway, str(bypassed.get("x-request-id")))["key"] == shown[0]["key"]
    assert gateway.admin("/admin/context/req-none")[0] == 404
