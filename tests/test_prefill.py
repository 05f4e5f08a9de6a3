"""Who needs what a node computes just now waits for it, and for no longer than is set."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from proxy.config import Routing
from proxy.core.message import Call
from proxy.core.prefix import Prompt, chained
from proxy.fleet import Fleet
from proxy.node import Node
from proxy.ports import UpstreamError
from proxy.prefill import Prefills
from proxy.quantity import Timeout
from proxy.router import Router
from proxy.wish import Pick
from tests.fakes import Answer, FakeClock, FakeUpstream, settle

if TYPE_CHECKING:
    from collections.abc import Sequence

CALL = Call("POST", "/v1/chat/completions", "", (), b"{}")
SYSTEM = "s" * 12_000
"""3,000 tokens."""


def turns(*texts: str) -> Prompt:
    made = chained((b"tenant",), [(b"user", text.encode()) for text in texts])
    assert made is not None
    return made


COLD = Pick(Node("a", FakeUpstream()), "cold", turns(SYSTEM, "question"))


class Bench:
    """One node whose answers begin when their door is opened."""

    def __init__(self, *script: Answer | UpstreamError, wait: float = 5, least: int = 2048) -> None:
        self.upstream = FakeUpstream(*script)
        self.node = Node("a", self.upstream)
        settings = Routing(prefill_tokens=least, prefill_wait=Timeout(wait))
        clock = FakeClock()
        self.router = Router([self.node], clock, lambda event: None, settings=settings)
        self.fleet = Fleet([self.node], clock, lambda event: None, router=self.router)

    def asking(self, *texts: str) -> asyncio.Task[bytes]:
        return asyncio.create_task(self.ask(texts))

    async def ask(self, texts: Sequence[str]) -> bytes:
        answer = await self.fleet.send("m", lambda _: CALL, prompt=turns(*texts))
        try:
            return b"".join([chunk async for chunk in answer])
        finally:
            await answer.aclose()

    @property
    def calls(self) -> int:
        return len(self.upstream.calls)


def held(door: asyncio.Event) -> Answer:
    """A head at once, and its first byte when the door opens."""
    return Answer((door, b"ok"))


async def test_who_shares_a_cold_beginning_waits_for_its_first_byte() -> None:
    door = asyncio.Event()
    bench = Bench(held(door))
    tasks = [bench.asking(SYSTEM, f"question {i}") for i in range(5)]
    await settle()
    before = bench.calls
    door.set()
    await asyncio.gather(*tasks)

    assert (before, bench.calls) == (1, 5)
    assert len(bench.router.prefills) == 0


async def test_who_asks_what_one_asks_who_waits_waits_as_well() -> None:
    """Of the second the third needs little, but both need what the first is computing."""
    door = asyncio.Event()
    bench = Bench(held(door))
    tasks = [bench.asking(SYSTEM, question) for question in ("one", "other", "other")]
    await settle()
    before = bench.calls
    door.set()
    await asyncio.gather(*tasks)

    assert (before, bench.calls) == (1, 3)


async def test_just_enough_is_waited_for() -> None:
    bench = Bench(held(asyncio.Event()), least=3000)
    tasks = [bench.asking(SYSTEM) for _ in range(3)]
    await settle()

    assert bench.calls == 1
    await _cancelled(tasks)


async def test_only_what_is_yet_to_be_computed_counts() -> None:
    """The same short question thrice, after a long beginning that is known."""
    door = asyncio.Event()
    door.set()
    bench = Bench(held(door))
    await bench.ask((SYSTEM,))
    bench.upstream.script = [held(asyncio.Event())]
    tasks = [bench.asking(SYSTEM, "question") for _ in range(3)]
    await settle()

    assert bench.calls == 4
    await _cancelled(tasks)


async def test_an_end_counts_once_and_only_for_what_one_computes() -> None:
    """Of three that a full table tells nothing of each other, one computes for all."""
    prefills = Prefills(100, 5.0)
    first, second, third = (prefills.begin(COLD) for _ in range(3))
    assert first and second and third
    prefills.end(second, computed=False)
    task = asyncio.create_task(prefills.turn(third))
    await settle()
    assert not task.done()
    prefills.end(first, computed=True)
    prefills.end(first, computed=False)
    await task

    assert len(prefills) == 0


async def test_who_shares_little_does_not_wait() -> None:
    bench = Bench(held(asyncio.Event()))
    tasks = [bench.asking("short", f"{i}" * 20_000) for i in range(3)]
    await settle()

    assert bench.calls == 3
    await _cancelled(tasks)
    assert len(bench.router.prefills) == 0


async def test_what_is_computed_already_is_not_waited_for() -> None:
    """A turn that is added to a known conversation, while another of it runs."""
    door = asyncio.Event()
    door.set()
    bench = Bench(held(door))
    await bench.ask((SYSTEM,))
    bench.upstream.script = [held(asyncio.Event())]
    tasks = [bench.asking(SYSTEM, f"question {i}") for i in range(3)]
    await settle()

    assert bench.calls == 4
    await _cancelled(tasks)


async def test_waiting_ends_in_time() -> None:
    bench = Bench(held(asyncio.Event()), wait=0.05)
    tasks = [bench.asking(SYSTEM, f"question {i}") for i in range(3)]
    await asyncio.sleep(0.2)

    assert bench.calls == 3
    await _cancelled(tasks)


@pytest.mark.parametrize("how", ["failed", "left", "refused"])
async def test_one_takes_the_place_of_who_failed(how: str) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    script: dict[str, Answer] = {
        "failed": Answer((first, UpstreamError("a", "cut", "it failed"))),
        "left": held(first),
        "refused": Answer((first, b"no"), status=500),
    }
    bench = Bench(script[how], held(second))
    tasks = [bench.asking(SYSTEM, f"question {i}") for i in range(4)]
    await settle()
    assert bench.calls == 1
    if how == "left":
        tasks[0].cancel()
    first.set()
    await settle()
    successors = bench.calls
    second.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert successors == 2
    assert results[1:] == [b"ok"] * 3
    assert len(bench.router.prefills) == 0


async def test_it_can_be_turned_off() -> None:
    bench = Bench(held(asyncio.Event()), least=0)
    tasks = [bench.asking(SYSTEM) for _ in range(3)]
    await settle()

    assert bench.calls == 3
    await _cancelled(tasks)


async def test_who_leaves_while_waiting_leaves_nothing_behind() -> None:
    bench = Bench(held(asyncio.Event()))
    tasks = [bench.asking(SYSTEM, f"{i}") for i in range(3)]
    await settle()
    await _cancelled(tasks)

    assert len(bench.router.prefills) == 0
    assert (bench.node.running, bench.node.queued) == (0, 0)


async def _cancelled(tasks: list[asyncio.Task[bytes]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
