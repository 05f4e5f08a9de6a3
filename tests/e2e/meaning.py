"""Gateways with a semantic process, and questions to them."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.client import post

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client import Got
    from tests.gateway import Gateway, Settings
    from tests.upstream import Channel

ON: Settings = {"semantic": {"mode": "on", "min_similarity": 0.95, "sample_rate": 0.0}}
PATIENT: Settings = {"semantic": {"timeout": "5s"}}
"""For what must not depend on how busy the machine is."""
_PATIENCE = 60.0


def semantic(gateway: Gateway) -> int:
    """The process id of the gateway's semantic process; 0: there is none now."""
    text = Path(f"/proc/{gateway.pid}/task/{gateway.pid}/children").read_text()
    workers = {one["pid"] for one in gateway.log() if one["event"] == "worker_started"}
    size = gateway.settings["server"].get("workers", 1)
    aides = [
        one["pid"]
        for one in gateway.log()
        if one["event"] == "worker_started" and one["slot"] == size
    ]
    return next((pid for pid in map(int, text.split()) if pid in aides and pid in workers), 0)


async def until(condition: Callable[[], object], seconds: float = _PATIENCE) -> None:
    """Wait for something that happens in the gateway."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("what the test waits for did not happen")
        await asyncio.sleep(0.05)


async def ready(gateway: Gateway) -> None:
    """Until the semantic process knows what there is."""
    await until(lambda: gateway.total("hotprefix_tier_working", tier="semantic") == 1)


def entries(gateway: Gateway) -> float:
    """Stored questions that can be compared; -1: nobody has said."""
    return gateway.metrics().get("hotprefix_semantic_entries", -1.0)


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "m-small", "messages": [{"role": "user", "content": text}], **more}


async def ask(
    gateway: Gateway, upstream: Channel, text: str, *headers: tuple[str, str], **more: Any
) -> Got:
    got = await post(gateway.port, upstream.key, asked(text, **more), *headers)
    assert got.status == 200, got.body
    return got


async def store(gateway: Gateway, upstream: Channel, *texts: str, **more: Any) -> list[str]:
    """Ask, and wait until all can be found by their meaning; what was answered."""
    before = entries(gateway)
    said = [answer(await ask(gateway, upstream, text, **more)) for text in texts]
    await until(lambda: entries(gateway) >= before + len(texts))
    return said


async def operate(gateway: Gateway, path: str, said: dict[str, Any]) -> int:
    """Tell the admin port something; the status."""

    def told() -> int:
        connection = http.client.HTTPConnection("127.0.0.1", gateway.admin_port, timeout=10)
        try:
            given = {"content-type": "application/json"}
            connection.request("POST", path, json.dumps(said), given)
            return connection.getresponse().status
        finally:
            connection.close()

    return await asyncio.to_thread(told)


async def held(gateway: Gateway, upstream: Channel, text: str) -> None:
    """Until there is an answer to the text, without asking the upstream for one."""
    only = ("cache-control", "only-if-cached")
    for _ in range(600):
        got = await post(gateway.port, upstream.key, asked(text), only)
        if got.status == 200:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError("no answer can be found")


def answer(got: Got) -> str:
    return str(got.json()["choices"][0]["message"]["content"])
