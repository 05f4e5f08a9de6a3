"""Gateways with a semantic process, and questions to them."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
import uuid
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
LOOSE: Settings = {
    "semantic": {
        "mode": "on",
        "min_similarity": 0.01,
        "sample_rate": 0.0,
        "timeout": "5s",
        "profile": "relaxed",
        "personal": True,
        "tools": True,
    }
}
"""As much is compared, and as little asked of a neighbour, as settings can have it."""
SAID, MEANT = "怎么退货", "退货流程"
"""Two questions that are one by their canonical form, so that no embedder is needed for it."""
_ONLY = ("cache-control", "only-if-cached")
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
    """Stored questions that can be compared."""
    return gateway.metrics()["hotprefix_semantic_entries"]


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


async def known(gateway: Gateway, aside: Channel) -> None:
    """Until all that was answered before can be found, as what is stored after it is. `aside`: a
    channel for the questions that show it."""
    apart = ("x-cache-namespace", uuid.uuid4().hex)
    await ask(gateway, aside, SAID, apart)
    for _ in range(500):
        got = await post(gateway.port, aside.key, asked(MEANT), apart, _ONLY)
        if got.status == 200:
            return
        await asyncio.sleep(0.01)
    raise TimeoutError("what is stored cannot be found")


async def counted(gateway: Gateway) -> tuple[float, float]:
    """Stored questions, and their vectors, by figures that are taken four times a second."""
    await asyncio.sleep(0.6)
    figures = gateway.metrics()
    return figures["hotprefix_semantic_entries"], figures["hotprefix_semantic_vectors"]


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
    for _ in range(600):
        got = await post(gateway.port, upstream.key, asked(text), _ONLY)
        if got.status == 200:
            return
        await asyncio.sleep(0.1)
    raise TimeoutError("no answer can be found")


def answer(got: Got) -> str:
    return str(got.json()["choices"][0]["message"]["content"])
