"""A gateway without an upstream, as a newcomer starts it: in front of the demo."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.client import post

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.upstream import Channel

QUESTION = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hello"}]}


async def test_what_the_demo_answered_is_no_hit_once_there_is_a_real_upstream(
    start: Start, upstream: Channel
) -> None:
    gateway = start({"upstream": []})
    demo = [await post(gateway.port, upstream.key, QUESTION) for _ in range(2)]
    gateway.stop()
    gateway.settings["upstream"] = [{"name": "real", "url": upstream.url}]
    gateway.start()
    real = await post(gateway.port, upstream.key, QUESTION)

    assert [one.get("x-cache") for one in demo] == ["MISS", "HIT"]
    assert demo[0].get("x-upstream-node") == "demo"
    assert (real.get("x-cache"), real.get("x-upstream-node")) == ("MISS", "real")
    assert upstream.calls == 1
