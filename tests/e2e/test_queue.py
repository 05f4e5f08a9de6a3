"""More is asked than the upstream takes: who waits, who is turned away, and who is next."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

import pytest

from tests.client import Connection, post, spelled
from tests.e2e import fleet
from tests.e2e.checks.outcomes import prompt
from tests.reply import JSON_TYPE, numbered

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.answers import Json
    from tests.client import Got
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway, Settings
    from tests.redis_server import RedisServer
    from tests.reply import Reply, Seen
    from tests.upstream import Channel

LIMIT: Final = 2
WAITING = "hotprefix_upstream_waiting"
RUNNING = "hotprefix_upstream_running"


def settings(upstream: Channel, **overload: int | str) -> Settings:
    node = {"name": "mock", "url": upstream.url, "max_concurrency": LIMIT}
    return {"upstream": [node], "overload": {"adaptive": False, **overload}}


def asked(text: str) -> Json:
    return {"model": "m", "messages": [{"role": "user", "content": text}]}


def asking(gateway: Gateway, key: str, text: str) -> asyncio.Task[Got]:
    return asyncio.create_task(post(gateway.port, key, asked(text)))


def shed(got: Got) -> bool:
    refused = got.status == 503 and got.json()["error"]["code"] == "upstream_unavailable"
    return refused and int(got.get("retry-after") or 0) >= 1


async def waiting(gateway: Gateway, upstream: Channel, size: int) -> None:
    """Until so many wait for a place at the upstream."""
    await upstream.until(lambda: gateway.total(WAITING) == size)


def held(upstream: Channel) -> Callable[[], None]:
    """Has the upstream answer nobody until this is called."""
    gate = upstream.gate()

    def script(seen: Seen) -> Reply:
        return numbered(seen).but(hold=gate)

    upstream.default = script
    return gate.open


@pytest.mark.timeout(60)
async def test_one_tenants_flood_keeps_no_other_one_out(start: Start, upstream: Channel) -> None:
    gateway = await asyncio.to_thread(start, settings(upstream, queue=10))
    let_go = held(upstream)
    flood = [asking(gateway, upstream.key, f"flood {number}") for number in range(40)]
    await upstream.until(lambda: sum(task.done() for task in flood) == 40 - LIMIT - 10)
    others = [asking(gateway, f"{upstream.key}-{name}", f"of {name}") for name in "xy"]
    # The queue was full: for each of them the newest of the flood had to go.
    await upstream.until(lambda: sum(task.done() for task in flood) == 40 - LIMIT - 10 + 2)
    await waiting(gateway, upstream, 10)
    let_go()
    served, turned_away = await asyncio.gather(*others), await asyncio.gather(*flood)

    assert [one.status for one in served] == [200, 200]
    assert sum(one.status == 200 for one in turned_away) == LIMIT + 8
    assert sum(shed(one) for one in turned_away) == 40 - LIMIT - 8
    order = [prompt(seen) for seen in upstream.seen]
    assert len(order) == LIMIT + 10
    # Tenants take turns, so each is among the first of those that waited.
    assert {"of x", "of y"} <= set(order[LIMIT : LIMIT + 4])
    assert gateway.total("hotprefix_shed_total", reason="queue_full") == 40 - LIMIT - 8


@pytest.mark.timeout(60)
async def test_who_waited_too_long_is_told_when_to_come_again(
    start: Start, upstream: Channel
) -> None:
    made = settings(upstream, queue=10, queue_timeout="500ms")
    gateway = await asyncio.to_thread(start, made)
    let_go = held(upstream)
    running = [asking(gateway, upstream.key, f"running {number}") for number in range(LIMIT)]
    await upstream.until(lambda: upstream.calls == LIMIT)
    late = await post(gateway.port, upstream.key, asked("late"))
    messages = await post(
        gateway.port, upstream.key, {**asked("late"), "max_tokens": 9}, path="messages"
    )
    let_go()

    assert shed(late)
    assert (messages.status, messages.get("retry-after")) == (503, late.get("retry-after"))
    assert messages.json()["error"]["type"] == "overloaded_error"
    assert [one.status for one in await asyncio.gather(*running)] == [200] * LIMIT
    assert (await post(gateway.port, upstream.key, asked("late"))).status == 200
    assert upstream.calls == LIMIT + 1
    assert gateway.total("hotprefix_shed_total", reason="queue_timeout") == 2


@pytest.mark.timeout(60)
async def test_who_leaves_the_queue_leaves_its_place(start: Start, upstream: Channel) -> None:
    gateway = await asyncio.to_thread(start, settings(upstream, queue=1))
    let_go = held(upstream)
    running = [asking(gateway, upstream.key, f"running {number}") for number in range(LIMIT)]
    await upstream.until(lambda: upstream.calls == LIMIT)
    for number in range(5):
        gone = await Connection.to(gateway.port)
        given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE]
        data = json.dumps(asked(f"gone {number}")).encode()
        await gone.send(spelled("POST", "/v1/chat/completions", given, data))
        await waiting(gateway, upstream, 1)
        await gone.reset()
        await waiting(gateway, upstream, 0)
    stays = asking(gateway, upstream.key, "stays")
    await waiting(gateway, upstream, 1)
    let_go()

    assert (await stays).status == 200
    assert [one.status for one in await asyncio.gather(*running)] == [200] * LIMIT
    assert [prompt(seen) for seen in upstream.seen][LIMIT:] == ["stays"]
    await upstream.until(lambda: gateway.total(RUNNING) == 0)


@pytest.mark.timeout(60)
async def test_the_limit_holds_in_each_worker(start: Start, upstream: Channel) -> None:
    made = {**settings(upstream), "server": {"workers": 2}}
    gateway = await asyncio.to_thread(start, made)
    let_go = held(upstream)
    tasks = [asking(gateway, upstream.key, f"{number}") for number in range(30)]
    await upstream.until(lambda: upstream.calls == 2 * LIMIT)
    await waiting(gateway, upstream, 30 - 2 * LIMIT)
    assert upstream.calls == 2 * LIMIT
    let_go()

    assert [one.status for one in await asyncio.gather(*tasks)] == [200] * 30


@pytest.mark.timeout(60)
async def test_who_follows_a_gateway_that_has_no_room_asks_at_its_own(
    start: Start, redis: RedisServer, upstream: Channel
) -> None:
    made = settings(upstream, queue_timeout="1s")
    full, free = await asyncio.to_thread(fleet.gateways, start, redis.url, 2, made)
    let_go = held(upstream)
    running = [asking(full, upstream.key, f"running {number}") for number in range(LIMIT)]
    await upstream.until(lambda: upstream.calls == LIMIT)
    first = asking(full, upstream.key, "wanted")
    await waiting(full, upstream, 1)
    second = asking(free, upstream.key, "wanted")
    assert shed(await first)
    await upstream.until(lambda: upstream.calls == LIMIT + 1)
    let_go()

    assert (await second).status == 200
    assert [one.status for one in await asyncio.gather(*running)] == [200] * LIMIT
