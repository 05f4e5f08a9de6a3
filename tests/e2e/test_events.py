"""Engines that publish what becomes of their caches: what is cleared or restarted is noticed before
the next request, and not by its wrong prediction."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.e2e.test_routing import SYSTEM, ask, before, chat, why
from tests.engine import Running
from tests.publisher import SIZE, Publisher

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.e2e.conftest import Start
    from tests.gateway import Gateway


@pytest.fixture
def engines() -> Iterator[list[Running]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Running()) for _ in range(2)]


@pytest.fixture
def publishers() -> Iterator[list[Publisher]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Publisher()) for _ in range(2)]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while True:
            if await asyncio.to_thread(true):
                return
            await asyncio.sleep(0.05)


async def test_a_cleared_or_restarted_engine_is_known_to_hold_nothing(
    start: Start, engines: list[Running], publishers: list[Publisher]
) -> None:
    settings = before(engines)
    for table, one in zip(settings["upstream"], publishers, strict=True):
        table |= {"events": one.url, "events_replay": one.replay}
    gateway = start(settings)
    for one in publishers:
        await one.subscribed()

    def void(reason: str) -> float:
        return gateway.total("hotprefix_upstream_void_total", reason=reason)

    first = why(await ask(gateway, chat(SYSTEM, "hello " * 500)))
    home = publishers[int(str(first[0])[1:])]
    await home.publish("stored", blocks=100)
    await until(lambda: gateway.total("hotprefix_engine_events_total", kind="stored") == 100)
    second = why(await ask(gateway, chat(SYSTEM, "hello " * 500, seed=1)))
    await home.publish("cleared")
    await until(lambda: void("cleared") == 1)
    third = why(await ask(gateway, chat(SYSTEM, "hello " * 500, seed=2)))
    home = publishers[int(str(third[0])[1:])]
    await home.publish("stored", blocks=100)
    home.kill()
    home.start()
    await home.subscribed()
    await home.publish("stored", blocks=50)
    await until(lambda: void("restart") == 1)
    fourth = why(await ask(gateway, chat(SYSTEM, "hello " * 500, seed=3)))

    assert [one[1] for one in (first, second, third, fourth)] == ["cold", "hit", "cold", "cold"]
    assert gateway.total("hotprefix_engine_tokens", node=str(third[0]), kind="held") == 50 * SIZE
    await until(lambda: logged(gateway) == ["cleared", "restart"])


def logged(gateway: Gateway) -> list[str]:
    return [one["reason"] for one in gateway.log() if one["event"] == "node_void"]
