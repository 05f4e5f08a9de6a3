"""Answers that a tier drops by itself: their questions leave, through real gateways with the real
embedder."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

import pytest

from tests import answers
from tests.e2e import fleet, stores
from tests.e2e.meaning import ON, PATIENT, answer, ask, entries, ready, store, until
from tests.gateway import merged
from tests.redis_server import RedisServer
from tests.reply import body

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.reply import Reply, Seen
    from tests.upstream import Channel

pytestmark = pytest.mark.timeout(90)

SMALL = {
    "cache": {
        "disk": {"max_bytes": "4MiB"},
        "memory": {"max_bytes": "64KiB"},
        "redis": {"timeout": "2s"},
    },
    "server": {"workers": 2},
}
"""Room for some hundred of `large` answers, and for none of them in memory."""
SETTINGS = merged(merged(ON, PATIENT), SMALL)


def large(seen: Seen) -> Reply:
    """An answer of 20 kB that does not compress, which begins with its question's text."""
    text = str(seen.json()["messages"][-1]["content"])
    return body(answers.chat(f"{text} {random.Random(text).randbytes(10_000).hex()}"))


def forgotten(gateway: Gateway, why: str) -> float:
    return gateway.total("hotprefix_semantic_forgotten_total", reason=why)


async def test_what_the_disk_evicts_leaves_and_what_it_keeps_is_found(
    start: Start, upstream: Channel
) -> None:
    """To a paraphrase it looks as if there never was one: only others are compared. What lives
    shortest is what the disk drops first."""
    gateway = start(SETTINGS)
    await ready(gateway)
    upstream.default = large
    await ask(gateway, upstream, "怎么退货", ("x-cache-ttl", "600"))
    for number in range(300):
        await ask(gateway, upstream, f"what is the name of street {number}")
    await ask(gateway, upstream, "how do I get a refund", ("x-cache-ttl", "7200"))
    await until(lambda: forgotten(gateway, "evicted") > 0)
    first = await ask(gateway, upstream, "退货流程")
    last = await ask(gateway, upstream, "refund process")

    assert first.get("x-cache") == "MISS"
    assert "detail=below_threshold" in str(first.get("cache-status"))
    assert answer(last).startswith("how do I get a refund ")
    assert last.get("x-cache-kind") == "canonical"
    assert forgotten(gateway, "dead") == 0
    assert upstream.calls == 303


FIRST = "What documents do I need to open a bank account in Germany as a foreigner?"
NEAR = "What documents must I bring to open a bank account in Germany as a foreigner?"
"""Questions that are near, and of no one form: without the vector they are not found."""


@pytest.mark.parametrize("shared", [False, True])
async def test_what_redis_loses_leaves_where_nothing_else_holds_it(
    start: Start, upstream: Channel, tmp_path: Path, *, shared: bool
) -> None:
    """The machine that has it on its disk goes on finding it, also by an index that both share."""
    with RedisServer(tmp_path / "redis", vectors=True) as redis:
        index = {"semantic": {"index": redis.url if shared else ""}}
        here, other = fleet.gateways(start, redis.url, 2, merged(SETTINGS, index))
        for one in (here, other):
            await ready(one)
        await store(here, upstream, FIRST)
        await until(lambda: entries(other) == 1)
        with redis.client() as client:
            client.unlink(*[name for name in stores.names(redis) if name.endswith(b":e")])
        await until(lambda: entries(other) == 0)

        assert forgotten(other, "evicted") == 1
        assert answer(await ask(other, upstream, NEAR, ("x-cache", "read-only"))) == "#2"
        hit = await ask(here, upstream, NEAR)
        assert (answer(hit), hit.get("x-cache-kind")) == ("#1", "semantic")
        assert entries(here) == 1


async def test_what_one_worker_holds_alone_in_its_memory_stays(
    start: Start, upstream: Channel
) -> None:
    """Without a disk each worker has its own; one of them looks after all questions."""
    alone = {"cache": {"disk": {"path": "off"}, "memory": {"max_bytes": "16MiB"}}}
    gateway = start(merged(SETTINGS, merged(alone, {"server": {"workers": 3}})))
    await ready(gateway)
    await store(gateway, upstream, *(f"what is the name of street {n}" for n in range(30)))
    before = gateway.total("hotprefix_tier_errors_total")
    await held_for(gateway, 6.0, 30)

    assert forgotten(gateway, "evicted") == 0
    assert gateway.total("hotprefix_tier_errors_total") == before


async def held_for(gateway: Gateway, seconds: float, count: int) -> None:
    """So many questions stay for a while in which all had their turn, twice."""
    for _ in range(round(seconds)):
        await asyncio.sleep(1.0)
        assert entries(gateway) == count
