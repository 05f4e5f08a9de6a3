"""An upstream in trouble behind a real gateway: it is left alone, tried by one, and taken back."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Final

import pytest

from tests.client import post

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tests.client import Got
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway, Settings

LIMIT: Final = 5
OPEN_FOR: Final = 1.0
_MESSAGE: Final = {"role": "assistant", "content": "fine"}
_BODY: Final = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": _MESSAGE, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
).encode()
_HEAD: Final = (
    b"HTTP/1.1 %d So\r\ncontent-type: application/json\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n"
)
_WELL: Final = _HEAD % (200, len(_BODY)) + _BODY
_SAID: Final = {
    "well": _WELL,
    "slow": b"",
    "erring": _HEAD % (500, 2) + b"{}",
    "half": _WELL[:-20],
    "garbage": b"\x00\xff\x15 no HTTP at all \x00\r\n\r\n",
}
_PATIENCE: Final = 0.4


class Sick:
    """An upstream that is `well`, or not."""

    def __init__(self) -> None:
        self.mood = "well"
        self.door = asyncio.Event()
        """What an answer waits for."""
        self.door.set()
        self.calls = self.running = self.most = 0
        self.port = 0

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))
        self.calls += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.mood == "slow":
                await reader.read()  # until the gateway has had enough
                return
            await asyncio.sleep(0.02)
            await self.door.wait()
            writer.write(_SAID[self.mood])
            await writer.drain()
        finally:
            self.running -= 1


@asynccontextmanager
async def upstream() -> AsyncIterator[Sick]:
    sick = Sick()
    server = await asyncio.start_server(sick.connected, "127.0.0.1", 0)
    async with server:
        sick.port = server.sockets[0].getsockname()[1]
        yield sick


def gateway(start: Start, sick: Sick, *, patience: float = _PATIENCE, **more: object) -> Gateway:
    node = {
        "name": "sick",
        "url": f"http://127.0.0.1:{sick.port}/v1",
        "first_byte_timeout": patience,
        "max_concurrency": LIMIT,
    }
    breaker = {"min_calls": 5, "open_for": OPEN_FOR}
    return start({"upstream": [node], "breaker": breaker, **more})


async def ask(gateway: Gateway, text: str, *headers: tuple[str, str]) -> Got:
    body = {"model": "m", "messages": [{"role": "user", "content": text}]}
    return await post(gateway.port, "key", body, *headers)


async def crowd(gateway: Gateway, name: str, size: int) -> list[Got]:
    return await asyncio.gather(*[ask(gateway, f"{name} {number}") for number in range(size)])


def moved(gateway: Gateway) -> dict[str, float]:
    """How often breakers came into each state."""
    name = "hotprefix_breaker_moves_total"
    return {state: gateway.total(name, state=state) for state in ("open", "half_open", "closed")}


async def eventually(holds: Callable[[], bool]) -> bool:
    """Levels are told twice a second."""
    for _ in range(30):
        if await asyncio.to_thread(holds):
            return True
        await asyncio.sleep(0.1)
    return False


def shed(got: Got) -> bool:
    return got.status == 503 and got.json()["error"]["code"] == "upstream_unavailable"


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mood", ["slow", "erring", "half", "garbage"])
async def test_an_upstream_in_trouble_is_left_alone_tried_by_one_and_taken_back(
    start: Start, mood: str
) -> None:
    async with upstream() as sick:
        served = await asyncio.to_thread(gateway, start, sick)
        assert (await ask(served, "known")).status == 200

        sick.mood = mood
        got = await crowd(served, "trouble", 60)
        assert {one.status for one in got if one.complete} <= {500, 502, 503, 504}
        assert any(shed(one) for one in got)

        before = sick.calls
        known, refused = await ask(served, "known"), await ask(served, "unknown")
        assert (known.status, known.get("x-cache")) == (200, "HIT")
        assert (shed(refused), refused.get("retry-after")) == (True, "1")
        assert sick.calls == before

        for _ in range(2):  # a failed probe shuts it again, for a full time
            await asyncio.sleep(OPEN_FOR + 0.1)
            before = sick.calls
            got = await crowd(served, "probe", 50)
            assert sick.calls == before + 1
            assert sum(shed(one) for one in got) == 49

        await asyncio.sleep(OPEN_FOR + 0.1)
        sick.mood = "well"
        assert (await ask(served, "well again")).status == 200
        got = await crowd(served, "all", 50)
        assert [one.status for one in got] == [200] * 50
        assert sick.most <= LIMIT + 1

        expected = {"open": 3.0, "half_open": 3.0, "closed": 1.0}
        assert await eventually(lambda: moved(served) == expected)
        assert await eventually(lambda: served.total("hotprefix_breakers_open") == 0)


SPOKEN: Final[Settings] = {
    "static": [{"text": "Sorry."}],
    "cache": {"jitter": 0.0, "stale_while_revalidate": "0s"},
}
SHORT: Final = ("x-cache-ttl", "1")


def degraded(gateway: Gateway, step: str) -> float:
    return gateway.total("hotprefix_degraded_total", step=step)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("mood", ["slow", "erring", "half", "garbage"])
async def test_meanwhile_old_answers_and_texts_are_served(start: Start, mood: str) -> None:
    async with upstream() as sick:
        served = await asyncio.to_thread(gateway, start, sick, **SPOKEN)
        assert (await ask(served, "old", SHORT)).status == 200
        await asyncio.sleep(1.2)

        sick.mood = mood
        got = await crowd(served, "trouble", 60)
        assert {(one.status, one.get("x-cache")) for one in got} == {(200, "STATIC")}
        before = sick.calls
        old, spoken = await ask(served, "old", SHORT), await ask(served, "unknown")
        assert (old.get("x-cache"), old.body) == ("STALE", _BODY)
        assert (old.get("cache-status") or "").startswith("hotprefix; hit; ttl=-")
        assert spoken.get("cache-status") == "hotprefix; detail=overload"
        assert sick.calls == before
        assert sick.most <= LIMIT + 1
        assert await eventually(lambda: degraded(served, "static") == 61)
        assert await eventually(lambda: degraded(served, "stale") == 1)

        sick.mood = "well"
        await asyncio.sleep(OPEN_FOR + 0.1)
        fresh = [await ask(served, text) for text in ("unknown", "trouble 1", "other")]
        assert [one.get("x-cache") for one in fresh] == ["MISS"] * 3


@pytest.mark.timeout(60)
async def test_a_saturated_upstream_is_spared_and_asked_again_later(start: Start) -> None:
    """`degrade_below_hit_ratio`."""
    overload = {"degrade_below_hit_ratio": 0.9, "adaptive": False}
    async with upstream() as sick:
        made = partial(gateway, start, sick, patience=30.0, overload=overload, **SPOKEN)
        served = await asyncio.to_thread(made)
        assert (await ask(served, "old", SHORT)).status == 200
        got = [await ask(served, f"unknown {number}") for number in range(120)]
        # Little was known, and still there was room.
        assert {one.get("x-cache") for one in got} == {"MISS"}

        sick.door.clear()
        busy = asyncio.create_task(crowd(served, "busy", LIMIT + 1))
        assert await eventually(lambda: served.total("hotprefix_upstream_waiting") == 1)
        before = sick.calls
        got = [await ask(served, f"more {number}") for number in range(10)]
        old = await ask(served, "old", SHORT)
        assert {one.get("cache-status") for one in got} == {"hotprefix; detail=saturated"}
        assert old.get("x-cache") == "STALE"
        assert (await ask(served, "unknown 1")).get("x-cache") == "HIT"
        assert sick.calls == before

        sick.door.set()
        assert {one.get("x-cache") for one in await busy} == {"MISS"}
        await asyncio.sleep(2.5)
        assert (await ask(served, "more 1")).get("x-cache") == "MISS"
