"""Lives of entries over real processes: refreshed, stale, not waited for, pinned, gone."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests import answers
from tests.bench.expiry import CASES, MOST, HotSet, configured
from tests.client import Got, post
from tests.e2e import fleet
from tests.reply import body

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway, Settings
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

NO_CACHE = ("Cache-Control", "no-cache")


def question(text: str = "when does it end?", **more: Any) -> answers.Json:
    return {"model": "m-small", "messages": [{"role": "user", "content": text}], **more}


def lasting(ttl: float, **cache: Any) -> Settings:
    """A gateway whose answers are fresh for exactly so long."""
    return {"cache": {"ttl": ttl, "jitter": 0.0, **cache}}


async def ask(
    gateway: Gateway, upstream: Channel, text: str = "when does it end?", *headers: tuple[str, str]
) -> Got:
    return await post(gateway.port, upstream.key, question(text), *headers)


async def landed(gateway: Gateway, upstream: Channel, calls: int) -> None:
    """Until the upstream has had so many calls, and their answers are kept."""
    await upstream.until(lambda: upstream.calls >= calls)
    await upstream.until(lambda: gateway.total("hotprefix_singleflight_flights") == 0)


def said(got: Got) -> str:
    return str(got.json()["choices"][0]["message"]["content"])


def left(got: Got) -> int:
    """Seconds that it stays fresh, as the gateway tells."""
    found = re.search(r"ttl=(-?\d+)", got.get("cache-status") or "")
    assert found is not None, got.head
    return int(found[1])


@pytest.mark.timeout(90)
@pytest.mark.parametrize("case", ["as it comes", "all at once, no grace, none early"])
async def test_a_hot_set_costs_one_call_a_key_when_it_expires(
    case: str, start: Start, redis: RedisServer, upstream: Channel
) -> None:
    """Whatever is set, and though each gateway holds a copy that ends at the same moment."""
    ttl, keys = 3.0, 60
    made = configured(redis.url, ttl, **CASES[case])
    gateways = [start(made, fleet.SECRET) for _ in range(3)]
    hot = HotSet(gateways, upstream, keys, 0.05)
    await hot.fill()
    costs = await hot.live(1.7 * ttl, ttl)

    assert costs.wrong == 0
    assert costs.keys == keys
    assert costs.ratio <= MOST, costs
    assert costs.stored > 0.5 * costs.answers, costs
    assert costs.longest < 5.0


async def test_a_stale_answer_is_served_while_a_new_one_is_fetched(
    start: Start, upstream: Channel
) -> None:
    gateway = start(lasting(1.0))
    await ask(gateway, upstream)
    await asyncio.sleep(1.1)
    gate = upstream.gate()
    upstream.reply(body(answers.chat("new"), hold=gate))
    stale = [await ask(gateway, upstream) for _ in range(5)]
    gate.open()
    await landed(gateway, upstream, 2)
    fresh = await ask(gateway, upstream)

    assert {(one.get("x-cache"), said(one)) for one in stale} == {("STALE", "#1")}
    assert (fresh.get("x-cache"), said(fresh)) == ("HIT", "new")
    assert upstream.calls == 2


@pytest.mark.parametrize("grace", ["5m", 0])
async def test_an_upstream_that_fails_is_not_asked_by_every_request(
    grace: str | int, start: Start, upstream: Channel
) -> None:
    gateway = start(lasting(1.0, stale_while_revalidate=grace))
    await ask(gateway, upstream)
    await asyncio.sleep(1.1)
    upstream.default = body(answers.error("unwell"), status=503)
    began = time.monotonic()
    got = [await ask(gateway, upstream) for _ in range(100)]
    pauses = (time.monotonic() - began) // 5.0 + 1

    assert {(one.status, one.get("x-cache")) for one in got} == {(200, "STALE")}
    assert 1 <= upstream.calls - 1 <= pauses


async def test_who_cannot_be_given_a_stored_answer_waits_for_nobody(
    start: Start, upstream: Channel
) -> None:
    gateway = start()
    gate = upstream.gate()
    upstream.reply(body(answers.chat("half of", finish="length")))
    await ask(gateway, upstream, "too long")
    upstream.default = body(answers.chat("half of", finish="length"), hold=gate)
    asking = [asyncio.create_task(ask(gateway, upstream, "too long")) for _ in range(20)]
    asking += [
        asyncio.create_task(ask(gateway, upstream, "no trace", ("Cache-Control", "no-store")))
        for _ in range(20)
    ]
    await upstream.until(lambda: upstream.calls == 41)  # all on their way, none has an answer
    gate.open()
    got = [await one for one in asking]

    assert {one.status for one in got} == {200}
    assert [one.get("x-cache") for one in got] == ["MISS"] * 20 + ["BYPASS"] * 20


async def test_a_mistake_is_remembered_for_a_moment(start: Start, upstream: Channel) -> None:
    gateway = start({"cache": {"negative_ttl": 1}})
    upstream.reply(body(answers.error("no such thing"), status=404))
    first = await ask(gateway, upstream)
    await landed(gateway, upstream, 1)
    second = await ask(gateway, upstream)
    await asyncio.sleep(1.1)
    third = await ask(gateway, upstream)

    assert [one.status for one in (first, second, third)] == [404, 404, 200]
    assert [one.get("x-cache") for one in (first, second, third)] == ["MISS", "HIT", "MISS"]


async def test_a_pinned_answer_is_served_after_its_time_and_refreshed(
    start: Start, upstream: Channel
) -> None:
    rule = {"model": "m-small", "pin": True, "ttl": 1}
    gateway = start(
        {"cache": {"jitter": 0.0, "stale_while_revalidate": 0, "stale_if_error": 0, "rule": [rule]}}
    )
    await ask(gateway, upstream)
    await asyncio.sleep(1.2)
    old = await ask(gateway, upstream)
    await landed(gateway, upstream, 2)
    new = await ask(gateway, upstream)

    assert (old.get("x-cache"), said(old)) == ("STALE", "#1")
    assert (new.get("x-cache"), said(new)) == ("HIT", "#2")


async def test_an_answer_about_an_exchange_ends_at_its_next_close(
    start: Start, upstream: Channel
) -> None:
    calendars = pytest.importorskip("exchange_calendars", reason="the extra is not installed")
    pandas = pytest.importorskip("pandas")
    close = calendars.get_calendar("XNYS").next_close(pandas.Timestamp.now(tz="UTC"))
    gateway = start(lasting(20 * 86400, calendars=["XNYS"]))
    tag = ("x-cache-tags", "exchange:XNYS")
    await ask(gateway, upstream, "the price", tag)
    await ask(gateway, upstream, "the weather")
    await landed(gateway, upstream, 2)
    price = left(await ask(gateway, upstream, "the price", tag))
    weather = left(await ask(gateway, upstream, "the weather"))

    assert abs(price - (close.timestamp() - time.time())) < 10
    assert weather > 19 * 86400


async def test_no_asking_keeps_an_answer_alive(start: Start, upstream: Channel) -> None:
    gateway = start(lasting(1.0, stale_while_revalidate=0, early_refresh=0.0))
    until, outcomes = time.monotonic() + 3.5, []
    while time.monotonic() < until:
        outcomes.append((await ask(gateway, upstream, "popular?")).get("x-cache"))
        await asyncio.sleep(0.05)

    assert upstream.calls >= 3
    assert outcomes.count("HIT") > 2 * upstream.calls


async def test_a_client_limits_the_age_of_what_it_is_given(start: Start, upstream: Channel) -> None:
    gateway = start(lasting(600))
    await ask(gateway, upstream)
    await asyncio.sleep(2.2)
    new = await ask(gateway, upstream, "when does it end?", ("Cache-Control", "max-age=1"))
    await landed(gateway, upstream, 2)
    stored = await ask(gateway, upstream, "when does it end?", ("Cache-Control", "max-age=60"))

    assert (new.get("x-cache"), said(new)) == ("MISS", "#2")
    assert (stored.get("x-cache"), said(stored)) == ("HIT", "#2")
    assert stored.get("age") in ("0", "1")


async def test_answers_of_one_moment_end_apart_and_all_gateways_agree_when(
    start: Start, redis: RedisServer, upstream: Channel
) -> None:
    one, other = fleet.gateways(start, redis.url, 2, {"cache": {"ttl": 1000, "jitter": 0.1}})
    texts = [f"batch {number}" for number in range(150)]
    await asyncio.gather(*(ask(one, upstream, text) for text in texts))
    await landed(one, upstream, len(texts))
    here, there = [
        [left(got) for got in await asyncio.gather(*(ask(at, upstream, text) for text in texts))]
        for at in (one, other)
    ]

    assert upstream.calls == len(texts)
    assert statistics.stdev(here) > 20  # spread evenly it is 58
    assert min(here) > 880
    assert max(here) <= 1100
    assert max(abs(a - b) for a, b in zip(here, there, strict=True)) < 10


async def test_an_overwritten_answer_is_soon_served_nowhere(
    start: Start, redis: RedisServer, upstream: Channel
) -> None:
    """The other gateway has the older one in its memory and on its disk; it is told."""
    one, other = fleet.gateways(start, redis.url, 2)
    await ask(one, upstream)
    await landed(one, upstream, 1)
    await ask(other, upstream)
    await asyncio.sleep(0.5)  # until its disk has it too
    anew = await ask(one, upstream, "when does it end?", NO_CACHE)
    await landed(one, upstream, 2)
    at_once = await ask(one, upstream)
    await asyncio.sleep(1.0)
    later = await ask(other, upstream)

    assert [said(got) for got in (anew, at_once, later)] == ["#2", "#2", "#2"]
    assert later.get("x-cache") == "HIT"
    assert upstream.calls == 2
