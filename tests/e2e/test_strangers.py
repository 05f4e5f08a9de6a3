"""An engine that others load as well gets fewer prompts, over real processes."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from typing import TYPE_CHECKING

from tests.client import post
from tests.e2e.test_routing import KEY, ask, before, chat, decisions, until
from tests.engine import Running

if TYPE_CHECKING:
    from tests.e2e.conftest import Start


async def test_a_node_that_others_load_gets_fewer_cold_prompts(start: Start) -> None:
    """And its own calls are not taken for theirs."""
    with ExitStack() as stack:
        engines = [stack.enter_context(Running("--rate", "20000", "--batch", "4")) for _ in "ab"]
        settings = before(engines)
        for table in settings["upstream"]:
            table["metrics"] = "/metrics"
        gateway = start(settings)

        async def homes(name: str) -> list[str | None]:
            asked = (chat("", f"{name} {i} " * 200) for i in range(12))
            return [(await ask(gateway, one)).get("x-upstream-node") for one in asked]

        def others(node: str) -> float:
            return gateway.total("hotprefix_engine_requests", node=node, kind="others")

        alone = await homes("before")
        long = chat("", "a long one " * 300_000)
        strangers = [asyncio.create_task(post(engines[0].port, KEY, long)) for _ in range(6)]
        await until(lambda: others("e0") == 6)
        beside = await homes("after")
        own = asyncio.create_task(ask(gateway, chat("", "another long one " * 20_000)))
        await asyncio.sleep(2.0)
        theirs = [others(node) for node in ("e0", "e1")]
        shown = decisions(gateway)[0]["considered"]
        for task in (own, *strangers):
            task.cancel()

    assert set(alone) == {"e0", "e1"}
    assert set(beside) == {"e1"}
    assert theirs == [6, 0]
    assert {one["node"]: one["running"] for one in shown} == {"e0": 6, "e1": 0}
