"""Prompts are computed before they are asked for, over real processes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.client import Got, post
from tests.e2e import fleet
from tests.engine import Running
from tests.gateway import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.answers import Json
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.redis_server import RedisServer

KEY = "sk-warming"
SYSTEM = "You are a careful assistant. " * 2000
"""About 14,500 tokens, two steps."""


@pytest.fixture
def engines() -> Iterator[list[Running]]:
    """Three."""
    with ExitStack() as stack:
        yield [stack.enter_context(Running()) for _ in range(3)]


def before(engines: list[Running], **more: Any) -> Json:
    nodes = [{"name": f"e{i}", "url": one.url} for i, one in enumerate(engines)]
    return {"upstream": nodes, "log": {"requests": False}, **more}


def chat(question: str = "hello", system: str = SYSTEM, **more: Any) -> Json:
    messages = [{"role": "system", "content": system}, {"role": "user", "content": question}]
    return {"model": "m", "messages": messages, **more}


async def warm(gateway: Gateway, *bodies: Json, words: tuple[str, ...] = ()) -> tuple[int, str]:
    """The command's exit code, and what it said."""
    file = gateway.folder / "prompts.jsonl"
    file.write_text("".join(f"{json.dumps(body)}\n" for body in bodies))
    command = [sys.executable, "-m", "proxy", "warm", str(file), "--config", str(gateway.file)]
    ran = await asyncio.to_thread(
        subprocess.run,
        [*command, "--key-env", "CLIENT_KEY", *words],
        cwd=ROOT,
        env={**os.environ, "CLIENT_KEY": KEY},
        capture_output=True,
        text=True,
    )
    assert ran.stderr == ""
    return ran.returncode, ran.stdout


async def ask(gateway: Gateway, asked: Json, *headers: tuple[str, str]) -> Got:
    got = await post(gateway.port, KEY, asked, *headers)
    assert got.status == 200
    return got


def cached(got: Got) -> int:
    tokens: int = got.json()["usage"]["prompt_tokens_details"]["cached_tokens"]
    return tokens


async def until(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)


async def test_the_first_request_of_a_warmed_prompt_finds_it_computed(
    start: Start, engines: list[Running]
) -> None:
    """At the node that it is routed to: all but its last block, and its own question."""
    gateway = start(before(engines))
    prompts = [chat(system=f"{number} {SYSTEM}") for number in range(3)]
    code, said = await warm(gateway, *prompts)
    computed = [one.stats()["computed"] for one in engines]
    got = [await ask(gateway, {**body, "max_tokens": 100}) for body in prompts]

    assert (code, said.splitlines()[-1].split(";")[0]) == (0, "3 prompts: 3 warmed")
    assert [one.get("x-upstream-reason") for one in got] == ["hit"] * 3
    assert min(map(cached, got)) > 14_000
    now = [one.stats()["computed"] for one in engines]
    assert sum(now) - sum(computed) < 3 * 256
    await until(lambda: gateway.total("hotprefix_warm_tokens_total", kind="saved") > 0)
    spent = gateway.total("hotprefix_warm_tokens_total", kind="spent")
    assert spent == sum(computed)
    assert 0.9 * spent < gateway.total("hotprefix_warm_tokens_total", kind="saved") <= spent


async def test_nothing_is_stored_and_no_tenant_is_charged(
    start: Start, engines: list[Running]
) -> None:
    """Its limits are as full as before, and what it asks is a miss."""
    limits = {"requests_per_minute": 1, "tokens_per_minute": 20_000}
    gateway = start(before(engines, limits=limits))
    await warm(gateway, *(chat(system=f"{number} {SYSTEM}") for number in range(3)))
    got = await post(gateway.port, KEY, chat(system=f"0 {SYSTEM}"))

    assert (got.status, got.get("x-cache")) == (200, "MISS")
    assert gateway.total("hotprefix_cache_entries", tier="memory") in (0, 1)
    assert gateway.total("hotprefix_warm_calls_total", outcome="warmed") == 6
    assert gateway.total("hotprefix_requests_total") == 1
    assert gateway.total("hotprefix_upstream_requests_total") == 1


async def test_what_began_anew_is_warmed_anew(start: Start, engines: list[Running]) -> None:
    """The refused request tells that the engine is gone, and with it all that it held."""
    gateway = start(before(engines[:1]))
    await warm(gateway, chat())
    engines[0].kill()
    failed = await post(gateway.port, KEY, chat("one", "x"))
    engines[0].start()
    code, said = await warm(gateway, chat())
    again = await warm(gateway, chat())
    got = await ask(gateway, chat("two"))

    assert failed.status == 502
    assert (code, "1 warmed" in said) == (0, True)
    assert "1 held; 0 tokens" in again[1]
    assert cached(got) > 14_000


async def test_a_request_ends_the_shadow_call_before_it(start: Start) -> None:
    """An engine that takes seconds for the step that it is at."""
    with Running("--rate", "3000", "--batch", "10") as engine:
        gateway = start(before([engine]))
        warming = asyncio.create_task(warm(gateway, chat(), words=("--wait", "0")))
        await until(lambda: engine.stats()["calls"] == 1)
        got = await ask(gateway, chat("short", "another"))
        code, said = await warming

    assert got.get("x-upstream-reason") == "only"
    assert (code, "cancelled" in said) == (1, True)
    assert gateway.total("hotprefix_warm_calls_total", outcome="cancelled") == 1


async def test_gateways_over_one_redis_warm_a_prompt_once(
    start: Start, engines: list[Running], redis: RedisServer
) -> None:
    """Three are asked at the same time; each of them then knows where it is."""
    settings = fleet.merged(before(engines), fleet.PATIENT)
    gateways = await asyncio.to_thread(fleet.gateways, start, redis.url, 3, settings)
    said = await asyncio.gather(*(warm(one, chat()) for one in gateways))
    computed = sum(one.stats()["computed"] for one in engines)
    got = [await ask(one, chat(f"question {i}")) for i, one in enumerate(gateways)]

    assert [code for code, _ in said] == [0, 0, 0]
    assert sum("1 warmed" in text for _, text in said) == 1
    assert computed < 15_500
    assert [one.get("x-upstream-reason") for one in got] == ["hit"] * 3
    assert min(map(cached, got)) > 14_000


async def test_a_paid_provider_is_not_asked(start: Start, engines: list[Running]) -> None:
    settings = before(engines[:1])
    settings["upstream"][0]["provider"] = "openai"
    gateway = start(settings)
    code, said = await warm(gateway, chat())

    assert (code, "paid at e0" in said) == (1, True)
    assert engines[0].stats()["calls"] == 0


async def test_what_many_ask_is_warmed_unasked(start: Start, engines: list[Running]) -> None:
    """After the node that had it is gone, at another one, before anybody asks again; with none of
    the questions in it."""
    gateway = start(before(engines, warming={"mode": "on"}))
    got = [await ask(gateway, chat(f"question {number}")) for number in range(4)]
    home = int(str(got[-1].get("x-upstream-node"))[1:])
    engines[home].kill()
    await until(lambda: gateway.total("hotprefix_warm_calls_total", outcome="warmed") == 2)
    later = await ask(gateway, chat("question 5"))

    assert later.get("x-upstream-node") != f"e{home}"
    assert later.get("x-upstream-reason") == "hit"
    assert cached(later) > 14_000
    assert "question" not in gateway.stdout() + gateway.stderr()


async def test_a_schedule_fires(start: Start, engines: list[Running], tmp_path: Path) -> None:
    """Every other second."""
    file = tmp_path / "often.jsonl"
    file.write_text(json.dumps(chat()) + "\n")
    schedule = [{"cron": "*/2 * * * * *", "file": str(file), "key_env": "CLIENT_KEY"}]
    settings = before(engines, warming={"mode": "on", "schedule": schedule})
    gateway = start({**settings, "server": {"workers": 2}}, {"CLIENT_KEY": KEY})
    await until(lambda: gateway.total("hotprefix_warm_calls_total", outcome="held") > 0)
    await ask(gateway, chat())

    assert gateway.total("hotprefix_warm_calls_total", outcome="warmed") == 2
    assert sum(one.stats()["computed"] for one in engines) < 15_500 + 500


async def test_a_schedule_without_its_file_is_in_the_log(start: Start, tmp_path: Path) -> None:
    """When it starts, and each time that it is due; it serves all the same."""
    file = str(tmp_path / "none.jsonl")
    with Running() as engine:
        schedule = [{"cron": "* * * * * *", "file": file}]
        gateway = start(before([engine], warming={"mode": "on", "schedule": schedule}))
        await until(lambda: len(unread(gateway)) > 2)
        counted = gateway.total("hotprefix_warm_calls_total", outcome="unreadable")

    assert gateway.log()[0]["event"] == "schedule_unread"
    assert {(one["file"], one["error"]) for one in unread(gateway)} == {(file, "FileNotFoundError")}
    assert counted > 2


def unread(gateway: Gateway) -> list[dict[str, Any]]:
    return [one for one in gateway.log() if one["event"] == "schedule_unread"]
