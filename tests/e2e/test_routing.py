"""Requests find the engine that kept their prompt, over real processes."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.client import Connection, Got, post, spelled
from tests.e2e import fleet
from tests.engine import Running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.answers import Json
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.redis_server import RedisServer

KEY = "sk-routing"


@pytest.fixture
def engines() -> Iterator[list[Running]]:
    """Three."""
    with ExitStack() as stack:
        yield [stack.enter_context(Running()) for _ in range(3)]


@pytest.fixture
def gateway(start: Start, engines: list[Running]) -> Gateway:
    """Before all three."""
    return start(before(engines))


def before(engines: list[Running]) -> Json:
    nodes = [{"name": f"e{i}", "url": one.url} for i, one in enumerate(engines)]
    return {"upstream": nodes, "log": {"requests": False}}


def chat(*texts: str, **more: Any) -> Json:
    roles = ("system", *("user", "assistant") * len(texts))
    messages = [{"role": r, "content": t} for r, t in zip(roles, texts, strict=False)]
    return {"model": "m", "messages": messages, **more}


def why(got: Got) -> tuple[str | None, str | None, str | None]:
    return got.get("x-upstream-node"), got.get("x-upstream-reason"), got.get("x-upstream-cached")


async def ask(gateway: Gateway, asked: Json, key: str = KEY) -> Got:
    got = await post(gateway.port, key, asked)
    assert got.status == 200
    return got


SYSTEM = "You are a careful assistant. " * 60
"""About 440 tokens."""


async def test_a_conversation_goes_on_where_it_began(gateway: Gateway) -> None:
    texts = [SYSTEM]
    seen = []
    for turn in range(5):
        texts += [f"question {turn} " * 200, "an answer"]
        seen.append(why(await ask(gateway, chat(*texts[:-1], stream=turn % 2 == 0))))

    assert seen[0][1:] == ("cold", None)
    assert {node for node, _, _ in seen} == {seen[0][0]}
    assert [reason for _, reason, _ in seen[1:]] == ["hit"] * 4
    kept = [int(cached or 0) for _, _, cached in seen]
    assert kept == sorted(set(kept))
    shown = decisions(gateway)
    assert [one["reason"] for one in shown] == ["hit"] * 4 + ["cold"]
    # The first one is told after its answer was delivered; all others are past.
    reported = [one["reported"] for one in shown[1:]]
    assert all(one is not None for one in reported)
    predicted = [
        next(c["cached"] for c in one["considered"] if c["node"] == one["node"])
        for one in shown[1:]
    ]
    assert all(abs(a - b) < 200 for a, b in zip(reported, predicted, strict=True))


def decisions(gateway: Gateway) -> list[dict[str, Any]]:
    status, body = gateway.admin("/admin/decisions")
    assert status == 200
    shown: list[dict[str, Any]] = json.loads(body)["decisions"]
    return shown


async def test_the_context_tree_of_a_request_can_be_looked_at(
    gateway: Gateway, engines: list[Running]
) -> None:
    asked, session = chat(SYSTEM, "hello " * 500), ("x-context-session", "s-1")
    got = await post(gateway.port, KEY, asked, session)
    status, text = gateway.admin(f"/admin/context/{got.get('x-request-id')}")
    shown = json.loads(text)
    unknown, _ = gateway.admin("/admin/context/req-none")

    assert (got.status, status, unknown) == (200, 200, 404)
    assert [layer["name"] for layer in shown["layers"]] == ["global", "project", "session", "turn"]
    assert shown["key"] == "".join(layer["sha256"] for layer in shown["layers"])
    assert shown["held"][str(got.get("x-upstream-node"))] == shown["layers"][-1]["tokens"]
    home = next(one for one in shown["nodes"] if one["node"] == got.get("x-upstream-node"))
    assert (home["provider"], home["zone"], home["status"]) == ("engine", "local", "HOT")
    assert (home["depth"], home["epoch"], home["expires"]) == (len(shown["boundaries"]), 0, None)
    assert "hello" not in text


async def test_conversations_share_the_engines(gateway: Gateway) -> None:
    nodes = [(await ask(gateway, chat("", f"{i} " * 2000))) for i in range(24)]
    asked = [got.get("x-upstream-node") for got in nodes]

    assert all(asked.count(f"e{i}") >= 3 for i in range(3))


async def test_two_tenants_share_no_prefix(gateway: Gateway) -> None:
    first = await ask(gateway, chat(SYSTEM, "hello " * 500))
    second = await ask(gateway, chat(SYSTEM, "hello " * 500), key="sk-other")

    assert (first.get("x-cache"), second.get("x-cache")) == ("MISS", "MISS")
    assert why(second)[1:] == ("cold", None)
    prefixes = {one["prefix"] for one in decisions(gateway)}
    assert len(prefixes) == 2


@pytest.mark.timeout(60)
async def test_a_killed_engine_costs_no_request(gateway: Gateway, engines: list[Running]) -> None:
    """Thirty conversations go on; one engine dies in the middle, and comes back empty."""
    texts = [["", f"conversation {i} " * 300] for i in range(30)]
    failed = 0

    async def turn(number: int) -> str:
        nonlocal failed
        texts[number] += ["an answer", "go on"]
        got = await post(gateway.port, KEY, chat(*texts[number]))
        failed += got.status != 200
        return str(got.get("x-upstream-node"))

    homes = await asyncio.gather(*map(turn, range(30)))
    dead = homes[0]
    engines[int(dead[1:])].kill()
    away = await asyncio.gather(*map(turn, range(30)))
    engines[int(dead[1:])].start()
    again = await asyncio.gather(*map(turn, range(30)))

    assert failed == 0
    assert dead not in away
    moved = [i for i in range(30) if homes[i] != dead and away[i] != homes[i]]
    assert moved == []
    orphans = {away[i] for i in range(30) if homes[i] == dead}
    assert len(orphans) == 2
    stayed = [i for i in range(30) if again[i] == away[i]]
    assert len(stayed) >= 28


async def test_who_leaves_leaves_no_load_behind(gateway: Gateway, engines: list[Running]) -> None:
    body = json.dumps(chat("", "a long one " * 40_000)).encode()
    for _ in range(3):
        connection = await Connection.to(gateway.port)
        headers = [("Authorization", f"Bearer {KEY}")]
        await connection.send(spelled("POST", "/v1/chat/completions", headers, body))
        await asyncio.sleep(0.1)
        await connection.close()
    await asyncio.sleep(0.5)
    got = await ask(gateway, chat("", "short"))
    last = decisions(gateway)[0]

    assert got.status == 200
    assert [one["queued"] for one in last["considered"]] == [0, 0, 0]


async def test_gateways_over_one_redis_route_as_one(
    start: Start, engines: list[Running], redis: RedisServer
) -> None:
    """A conversation whose turns come to one gateway after the other; then without Redis."""
    settings = fleet.merged(before(engines), fleet.PATIENT)
    gateways = await asyncio.to_thread(fleet.gateways, start, redis.url, 3, settings)
    texts, seen = [SYSTEM], []
    for turn in range(6):
        texts += [f"question {turn} " * 200, "an answer"]
        seen.append(why(await ask(gateways[turn % 3], chat(*texts[:-1]))))
        await asyncio.sleep(0.3)
    redis.kill()
    for turn in range(6, 9):
        texts += [f"question {turn} " * 200, "an answer"]
        seen.append(why(await ask(gateways[turn % 3], chat(*texts[:-1]))))

    assert [reason for _, reason, _ in seen] == ["cold"] + ["hit"] * 8
    assert {node for node, _, _ in seen} == {seen[0][0]}


@pytest.mark.timeout(60)
async def test_a_frozen_engine_is_left_out_and_its_calls_are_answered_elsewhere(
    gateway: Gateway, engines: list[Running]
) -> None:
    """As soon as two probes have failed; and taken back when it goes on."""
    homes = {}
    for i in range(12):
        got = await ask(gateway, chat("", f"{i} " * 2000))
        homes[i] = str(got.get("x-upstream-node"))
    frozen = homes[0]
    engine = engines[int(frozen[1:])]
    engine.signal(signal.SIGSTOP)
    began = time.monotonic()
    sent = [post(gateway.port, KEY, chat("", f"{i} " * 2000, "x", "go on")) for i in range(12)]
    got_all = await asyncio.gather(*sent)
    seconds = time.monotonic() - began
    later = [await post(gateway.port, KEY, chat("", f"new {i} " * 500)) for i in range(12)]
    left_out = time.monotonic() - began - seconds
    engine.signal(signal.SIGCONT)
    await until(lambda: turns(gateway)[-1:] == [(frozen, "trial")])
    back = [await ask(gateway, chat("", f"newer {i} " * 500)) for i in range(24)]

    assert {got.status for got in got_all} == {200}
    assert seconds < 6  # three on a machine that has nothing else to do
    assert {got.status for got in later} == {200}
    assert frozen not in {got.get("x-upstream-node") for got in later}
    assert left_out < 4
    assert frozen in {got.get("x-upstream-node") for got in back}
    assert turns(gateway)[:2] == [(frozen, "out"), (frozen, "trial")]


def turns(gateway: Gateway) -> list[tuple[str, str]]:
    """Which nodes were left out and taken back, in order."""
    told = [line for line in gateway.log() if line["event"] == "node"]
    return [(line["node"], line["state"]) for line in told]


async def until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


@pytest.mark.timeout(90)
async def test_a_herd_has_its_prompt_computed_once(start: Start, redis: RedisServer) -> None:
    """Four gateways, fifty clients each, none served from the cache; engines that would compute
    the same prompt many times side by side."""
    with ExitStack() as stack:
        options = ("--batch", "100", "--rate", "20000")
        engines = [stack.enter_context(Running(*options)) for _ in range(4)]
        patient = {"routing": {"prefill_wait": "8s"}}  # so many clients on a busy machine
        settings = fleet.merged(fleet.merged(before(engines), fleet.PATIENT), patient)
        gateways = await asyncio.to_thread(fleet.gateways, start, redis.url, 4, settings)
        asked, off = chat("word " * 20_000, "go", stream=True), ("x-cache", "off")
        sent = [post(one.port, KEY, asked, off) for one in gateways for _ in range(50)]
        got = await asyncio.gather(*sent)
        stats = [one.stats() for one in engines]

    assert [one.status for one in got] == [200] * 200
    assert sum(one["calls"] for one in stats) == 200
    computing = [one["computed"] for one in stats if one["computed"] > 10_000]
    assert len(computing) <= 2
    # Each gateway has at most one call ahead at a node; the last block, of 128 tokens, is never
    # kept before it is full.
    assert sum(computing) <= 4 * 25_100 + 200 * 128


async def test_a_prompt_of_megabytes_is_routed_too(gateway: Gateway) -> None:
    first = await ask(gateway, chat(SYSTEM, "a long one " * 200_000))
    second = await ask(gateway, chat(SYSTEM, "a long one " * 200_000, "an answer", "and then?"))

    assert first.get("x-upstream-node") == second.get("x-upstream-node")
    assert why(second)[1] == "hit"
    assert int(second.get("x-upstream-cached") or 0) > 500_000
