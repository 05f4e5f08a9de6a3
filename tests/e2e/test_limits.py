"""Limits of tenants through real gateways: what counts, how it is told, and who shares them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import anthropic
import openai
import pytest
from anthropic import Anthropic
from openai import OpenAI

from tests import answers
from tests.client import Connection, answer, post, spelled
from tests.e2e import crowd, fleet
from tests.e2e.checks.outcomes import prompt
from tests.reply import JSON_TYPE, body, events, numbered

if TYPE_CHECKING:
    from tests.client import Got, Head
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.redis_server import RedisServer
    from tests.reply import Reply, Seen
    from tests.upstream import Channel

REQUESTS = 60
"""A minute: one more each second."""
PRICE = 2000
"""Tokens of every answer here."""


def dear(seen: Seen) -> Reply:
    """An answer of so many tokens, in the form asked for."""
    usage = {"prompt_tokens": 500, "completion_tokens": 1500, "total_tokens": PRICE}
    if seen.json().get("stream"):
        return events(answers.chat_events(["d", "ear"], usage=usage))
    return body(answers.chat("dear", usage=usage))


def asked(text: str) -> answers.Json:
    return {"model": "m-small", "messages": [{"role": "user", "content": text}]}


async def ask(gateway: Gateway, key: str, text: str, **more: Any) -> Got:
    return await post(gateway.port, key, {**asked(text), **more})


def request(key: str, text: str) -> bytes:
    given = [("Authorization", f"Bearer {key}"), JSON_TYPE]
    return spelled("POST", "/v1/chat/completions", given, json.dumps(asked(text)).encode())


async def flood(connection: Connection, data: bytes, size: int, pause: float = 0.0) -> list[Got]:
    """The answers to the same bytes, one after the other on one connection."""
    got = []
    for _ in range(size):
        await connection.send(data)
        got.append(await answer(connection))
        await asyncio.sleep(pause)
    return got


def passed(got: list[Got]) -> int:
    assert {one.status for one in got} <= {200, 429}
    return sum(one.status == 200 for one in got)


def limits(head: Head, kind: str) -> tuple[int, int]:
    """What is let through, and what of it is left."""
    told = [head.get(f"x-ratelimit-{what}-{kind}") for what in ("limit", "remaining")]
    return int(told[0] or -1), int(told[1] or -1)


async def test_every_request_counts_also_one_that_is_a_hit_at_once(
    start: Start, upstream: Channel
) -> None:
    gateway = await asyncio.to_thread(start, {"limits": {"requests_per_minute": REQUESTS}})
    async with await Connection.to(gateway.port) as connection:
        got = await flood(connection, request(upstream.key, "known"), REQUESTS + 30)

    good = passed(got)
    # A busy machine takes its time, in which a few more may pass.
    assert REQUESTS <= good <= REQUESTS + 20
    assert [one.get("x-cache") for one in got[:good]] == ["MISS", *["HIT"] * (good - 1)]
    assert upstream.calls == 1
    refused = got[-1]
    told = refused.json()["error"]
    assert (told["type"], told["code"]) == ("requests", "rate_limit_exceeded")
    assert f"{REQUESTS} requests per minute" in told["message"]
    assert refused.get("x-cache") == "ERROR"
    assert (limits(refused.head, "requests"), refused.get("retry-after")) == ((REQUESTS, 0), "1")
    assert 0 < int(refused.get("retry-after-ms") or 0) <= 1000
    assert (refused.get("x-ratelimit-reset-requests") or "").endswith("s")
    assert refused.get("x-ratelimit-limit-tokens") is None
    other = await ask(gateway, f"{upstream.key}-2", "known")
    assert (other.status, other.get("x-cache")) == (200, "MISS")
    name, refusals = "hotprefix_limited_total", len(got) - good
    await upstream.until(lambda: gateway.total(name, kind="requests") == refusals)


async def test_operations_that_are_none_of_the_caches_count_too(
    start: Start, upstream: Channel
) -> None:
    gateway = await asyncio.to_thread(start, {"limits": {"requests_per_minute": 1}})
    first = await post(gateway.port, upstream.key, {"purpose": "batch"}, path="uploads")
    second = await post(gateway.port, upstream.key, {"purpose": "batch"}, path="uploads")

    assert (first.status, second.status, upstream.calls) == (200, 429, 1)


@pytest.mark.parametrize("stream", [False, True])
async def test_only_what_the_upstream_answered_costs_tokens(
    start: Start, upstream: Channel, stream: bool
) -> None:
    limit = int(2.5 * PRICE)
    gateway = await asyncio.to_thread(start, {"limits": {"tokens_per_minute": limit}})
    upstream.default = dear
    gate = upstream.gate()
    upstream.reply(lambda seen: dear(seen).but(hold=gate))
    members = await asyncio.gather(*(crowd.join(gateway, upstream, stream) for _ in range(20)))
    await crowd.waiting(gateway, upstream, 20)
    gate.open()
    await crowd.over(list(members))
    more = [await ask(gateway, upstream.key, f"{number}", stream=stream) for number in range(3)]
    again = [await post(gateway.port, upstream.key, crowd.ASKED) for _ in range(20)]

    assert {member.got.status for member in members} == {200}
    # The last that passed was let in by what was left, though it cost more than that.
    assert [one.status for one in more] == [200, 200, 429]
    assert {one.get("x-cache") for one in again} == {"HIT"}
    assert upstream.calls == 3
    told = more[-1].json()["error"]
    assert (told["type"], told["code"]) == ("tokens", "rate_limit_exceeded")
    assert limits(more[-1].head, "tokens") == (limit, 0)
    assert int(more[-1].get("retry-after") or 0) >= 1


async def test_what_was_not_answered_costs_nothing(start: Start, upstream: Channel) -> None:
    """Each of them is estimated at more than half of what may be used."""
    gateway = await asyncio.to_thread(start, {"limits": {"tokens_per_minute": 5000}})
    refused, cut = body(answers.error("no"), status=500), body(b"", silent=True, ending="rst")
    upstream.default = lambda seen: (refused, cut)[int(prompt(seen)) % 2]
    got = [await ask(gateway, upstream.key, f"{n}", max_tokens=3000) for n in range(6)]
    upstream.default = numbered
    got.append(await ask(gateway, upstream.key, "well", max_tokens=3000))

    assert [one.status for one in got] == [500, 502] * 3 + [200]


async def test_each_tenant_has_its_own_limit_and_its_keys_share_it(
    start: Start, upstream: Channel
) -> None:
    env = {"A1": "ka1", "A2": "ka2", "B": "kb", "C": "kc", "UPSTREAM": upstream.key}
    own = {"upstream_key_env": "UPSTREAM"}
    tables = [
        {"name": "a", "key_env": "A1", "requests_per_minute": 10, **own},
        {"name": "a", "key_env": "A2", "requests_per_minute": 10, **own},
        {"name": "b", "key_env": "B", "requests_per_minute": 20, **own},
        {"name": "c", "key_env": "C", **own},
    ]
    settings = {"tenant": tables, "limits": {"requests_per_minute": 1}}
    gateway = await asyncio.to_thread(start, settings, env)
    got: dict[str, list[Got]] = {name: [] for name in env}
    for _ in range(8):
        for name in ("A1", "A2", "B", "B", "B", "C", "C", "C"):
            got[name].append(await ask(gateway, env[name], "same"))

    # Of a limit of 10, one more passes every 6 seconds.
    assert 10 <= passed(got["A1"]) + passed(got["A2"]) <= 13
    assert 20 <= passed(got["B"]) <= 23
    assert passed(got["C"]) == 24
    assert passed(got["A2"]) >= 4
    assert upstream.calls == 3


def said(client: OpenAI, text: str) -> str:
    asked: Any = [{"role": "user", "content": text}]
    answered = client.chat.completions.create(model="m-small", messages=asked)
    return str(answered.choices[0].message.content)


def told(client: Anthropic, text: str) -> str:
    asked: Any = [{"role": "user", "content": text}]
    answered = client.messages.create(model="m", max_tokens=9, messages=asked)
    return str(answered.content[0].model_dump()["text"])


@pytest.mark.parametrize("kind", ["requests", "tokens"])
async def test_both_sdks_read_it_and_come_again_when_they_may(
    start: Start, upstream: Channel, kind: str
) -> None:
    limit = {"requests": 60, "tokens": 120_000}[kind]
    gateway = await asyncio.to_thread(start, {"limits": {f"{kind}_per_minute": limit}})
    root = gateway.base_url.removesuffix("/v1")

    def spend() -> None:
        """All, and of tokens a little more than there is."""
        usage = {"prompt_tokens": limit, "completion_tokens": 900, "total_tokens": limit + 900}
        upstream.reply(body(answers.chat("dear", usage=usage)))
        for number in range(limit if kind == "requests" else 1):
            said(client, f"{number}")

    with (
        OpenAI(api_key=upstream.key, base_url=gateway.base_url, max_retries=0) as client,
        Anthropic(api_key=upstream.key, base_url=root, max_retries=0) as other,
    ):
        await asyncio.to_thread(spend)
        with pytest.raises(openai.RateLimitError) as caught:
            for number in range(20):  # until none is left, on a busy machine
                said(client, f"more {number}")
        with pytest.raises(anthropic.RateLimitError) as refused:
            for number in range(20):
                told(other, f"more {number}")
        calls = upstream.calls
        late = await asyncio.to_thread(said, client.with_options(max_retries=2), "late")
        later = await asyncio.to_thread(told, other.with_options(max_retries=3), "later")

    assert (caught.value.code, caught.value.type) == ("rate_limit_exceeded", kind)
    assert isinstance(refused.value.body, dict)
    assert refused.value.body["type"] == "error"
    assert refused.value.body["error"]["type"] == "rate_limit_error"
    for error in (caught.value, refused.value):
        assert error.response.headers[f"x-ratelimit-limit-{kind}"] == str(limit)
        assert 0 < int(error.response.headers["retry-after-ms"]) <= 2000
    assert upstream.calls == calls + 2
    assert late.startswith("#")
    assert later.startswith("#")


EACH = REQUESTS + 25
"""Requests at each of two: together twice what may pass, and a bit."""


async def both(ends: tuple[Connection, Connection], key: str) -> list[list[Got]]:
    """What a tenant is answered that asks both at once, some forty times a second."""
    data = request(key, "the same again and again")
    return list(await asyncio.gather(*(flood(end, data, EACH, 0.02) for end in ends)))


def about_the_limit(got: list[list[Got]]) -> bool:
    """Two together let through what is there, and what they ask within an agreement or two."""
    return REQUESTS <= sum(map(passed, got)) <= REQUESTS + 40


@pytest.mark.timeout(90)
async def test_gateways_over_one_redis_share_a_limit(
    start: Start, redis: RedisServer, upstream: Channel
) -> None:
    settings = {"limits": {"requests_per_minute": REQUESTS}}
    two = await asyncio.to_thread(fleet.gateways, start, redis.url, 2, settings)
    async with (
        await Connection.to(two[0].port) as first,
        await Connection.to(two[1].port) as second,
    ):
        ends = (first, second)
        together = await both(ends, f"{upstream.key}-1")
        assert about_the_limit(together)
        assert all(passed(one) < EACH for one in together)

        redis.kill()
        alone = await both(ends, f"{upstream.key}-2")
        assert all(REQUESTS <= passed(one) < EACH for one in alone)

        redis.start()
        # What both let through above the limit, before they knew of each other, is owed: at a
        # limit for a minute, some seconds.
        above = sum(map(passed, together)) - REQUESTS
        await asyncio.sleep(2.0 + above * 60 / REQUESTS)
        for one in (f"{upstream.key}-1", f"{upstream.key}-2"):  # nobody has to pay twice
            for end in ends:
                assert [got.status for got in await flood(end, request(one, "again"), 1)] == [200]
        assert about_the_limit(await both(ends, f"{upstream.key}-3"))


async def at_each_worker(gateway: Gateway) -> list[Connection]:
    """A connection to each worker; the kernel deals them out as it likes."""
    found: dict[int, Connection] = {}
    for _ in range(60):
        connection = await Connection.to(gateway.port)
        workers = await asyncio.to_thread(gateway.workers)
        pid = next(pid for pid in workers if connection.port in gateway.clients(pid))
        if pid in found:
            await connection.close()
        found.setdefault(pid, connection)
        if len(found) == len(workers):
            break
    return list(found.values())


@pytest.mark.timeout(60)
async def test_workers_of_a_machine_share_a_limit(start: Start, upstream: Channel) -> None:
    settings = {"limits": {"requests_per_minute": REQUESTS}, "server": {"workers": 2}}
    gateway = await asyncio.to_thread(start, settings)
    first, second = await at_each_worker(gateway)
    got = await both((first, second), upstream.key)
    await first.close()
    await second.close()

    assert about_the_limit(got)
