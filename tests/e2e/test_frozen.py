"""Engines that stand still, over real processes: noticed early, and what they had begun as well."""

from __future__ import annotations

import asyncio
import signal
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.client import post
from tests.e2e.test_routing import KEY, ask, before, chat, turns, until
from tests.engine import Running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.client import Got
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway

RATE = 2000
"""Tokens a second."""


@pytest.fixture
def engines() -> Iterator[list[Running]]:
    """Two that send a stream's head before they compute, as vLLM does, and one piece of an answer
    three seconds before the rest."""
    options = ("--eager", "--rate", str(RATE), "--batch", "8", "--decode", "3")
    with ExitStack() as stack:
        yield [stack.enter_context(Running(*options)) for _ in range(2)]


@pytest.fixture
def gateway(start: Start, engines: list[Running]) -> Gateway:
    settings = before(engines)
    for table in settings["upstream"]:
        table["frozen_timeout"] = "5s"
    return start(settings)


def prompt(name: str, seconds: float) -> str:
    """What takes an engine so long to compute."""
    return f"{name} " * round(seconds * RATE * 4 / (len(name) + 1))


def stream(gateway: Gateway, name: str, seconds: float) -> asyncio.Task[Got]:
    asked = chat("", prompt(name, seconds), stream=True)
    return asyncio.create_task(post(gateway.port, KEY, asked))


def running(gateway: Gateway, node: str) -> float:
    return gateway.total("hotprefix_upstream_running", node=node)


async def home(gateway: Gateway) -> int:
    """The engine that has the only call, once it has it."""
    await until(lambda: running(gateway, "e0") + running(gateway, "e1") == 1)
    return 0 if running(gateway, "e0") else 1


@pytest.mark.timeout(60)
async def test_a_stream_that_has_its_head_only_is_answered_by_another_engine(
    gateway: Gateway, engines: list[Running]
) -> None:
    tasks = [stream(gateway, f"stream {i}", 2.0) for i in range(6)]
    await until(lambda: min(running(gateway, "e0"), running(gateway, "e1")) >= 1)
    engines[0].signal(signal.SIGSTOP)
    got = await asyncio.gather(*tasks)
    engines[0].signal(signal.SIGCONT)

    assert {one.status for one in got} == {200}
    assert all(one.body.endswith(b"data: [DONE]\n\n") for one in got)
    assert {one.get("x-upstream-node") for one in got} == {"e1"}
    assert "failover" in {one.get("x-upstream-reason") for one in got}


@pytest.mark.timeout(60)
async def test_an_engine_that_is_only_slow_is_looked_at_and_left_in(gateway: Gateway) -> None:
    """What took milliseconds takes seconds, and its probes are answered."""
    await asyncio.gather(*(ask(gateway, chat("", f"short {i}", stream=True)) for i in range(8)))
    got = await asyncio.gather(*(stream(gateway, "x" * (i + 1), 3.0 + i / 10) for i in range(4)))

    assert {one.status for one in got} == {200}
    assert gateway.total("hotprefix_upstream_suspicions_total") >= 2
    assert turns(gateway) == []


@pytest.mark.timeout(60)
async def test_a_stream_of_a_frozen_engine_ends_with_an_error_and_no_invented_end(
    gateway: Gateway, engines: list[Running]
) -> None:
    """Unless the engine goes on in time: then it loses nothing."""
    task = stream(gateway, "hello", 0.1)
    engine = engines[await home(gateway)]
    engine.signal(signal.SIGSTOP)
    await until(lambda: [state for _, state in turns(gateway)] == ["out"])
    engine.signal(signal.SIGCONT)
    went_on = await task
    await until(lambda: [state for _, state in turns(gateway)] == ["out", "trial"])
    await until(lambda: running(gateway, "e0") + running(gateway, "e1") == 0)
    task = stream(gateway, "hello again", 0.1)
    at = await home(gateway)
    engines[at].signal(signal.SIGSTOP)
    broke_off = await task
    failed = gateway.total("hotprefix_upstream_errors_total", kind="frozen")
    await until(lambda: running(gateway, f"e{at}") == 0)
    engines[at].signal(signal.SIGCONT)

    assert went_on.body.endswith(b"data: [DONE]\n\n")
    assert b"answers no probes" in broke_off.body
    assert b"[DONE]" not in broke_off.body
    assert not broke_off.complete
    assert failed == 1
