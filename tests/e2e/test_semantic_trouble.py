"""A semantic process in trouble: requests go on, and what was stored meanwhile is found later."""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

import pytest

from tests.e2e.meaning import LOOSE, MEANT, SAID, answer, ask, held, ready, semantic, until
from tests.gateway import free_port, merged

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.upstream import Channel

pytestmark = pytest.mark.timeout(60)


async def test_an_embedder_that_is_not_there_costs_nobody_an_answer(
    start: Start, upstream: Channel
) -> None:
    """The process waits for it, and says why once, in one line."""
    where = f"http://127.0.0.1:{free_port()}/v1/embeddings?model=none"
    gateway = start(merged(LOOSE, {"semantic": {"embedder": where}}))
    got = [await ask(gateway, upstream, text) for text in (SAID, MEANT, SAID)]
    await until(lambda: "waits for its embedder: " in gateway.stderr())
    await asyncio.sleep(2.0)  # it has tried again by now, three times

    assert gateway.metrics()['hotprefix_tier_working{tier="semantic"}'] == 0
    assert [one.get("x-cache") for one in got] == ["MISS", "MISS", "HIT"]
    assert "detail=starting" in str(got[0].get("cache-status"))
    assert not [one for one in gateway.log() if one["event"] == "tier_failed"]
    assert not [one for one in gateway.log() if one["event"] == "worker_died"]
    assert gateway.stderr().count("waits for its embedder: ") == 1
    told = f"{where.partition('?')[0]} failed: ClientConnectorError - at `semantic.embedder`\n"
    assert gateway.stderr().count(told) == 1


async def test_what_was_stored_while_it_stood_still_is_found_afterwards(
    start: Start, upstream: Channel
) -> None:
    gateway = start(merged(LOOSE, {"semantic": {"timeout": "50ms"}}))
    await ready(gateway)
    pid = semantic(gateway)
    os.kill(pid, signal.SIGSTOP)
    try:
        for number in range(8):
            await ask(gateway, upstream, f"which city is number {number} of all")
        # By now it is asked once a second only, so it is not even told of this one.
        await ask(gateway, upstream, SAID)
    finally:
        os.kill(pid, signal.SIGCONT)
    number = 0
    while True:  # it is told once another question was looked up
        await asyncio.sleep(0.3)
        number += 1
        got = await ask(gateway, upstream, f"name the river that is number {number} of all")
        if got.get("x-cache") == "MISS" and "failed" not in str(got.get("cache-status")):
            break

    await held(gateway, upstream, MEANT)
    assert answer(await ask(gateway, upstream, MEANT)) == "#9"
    assert semantic(gateway) == pid
