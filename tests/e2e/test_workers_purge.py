"""What is purged through one worker of a machine is served by none of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.e2e import fleet
from tests.e2e.fleet import said, stored
from tests.e2e.stores import keys, purge
from tests.redis_server import free_port

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

pytestmark = pytest.mark.timeout(60)


async def test_a_redis_that_takes_no_deletion(
    start: Start, redis: RedisServer, upstream: Channel
) -> None:
    """A replica that nobody has promoted yet is read by all of them, also by those that did not
    purge."""
    settings = fleet.merged(fleet.settings(redis.url, timeout="2s"), {"server": {"workers": 3}})
    gateway = start(fleet.merged(settings, {"cache": {"disk": {"path": "off"}}}), fleet.SECRET)
    assert (await said(gateway, upstream))[0] == "#1"
    await stored(gateway, upstream)
    with redis.client() as client:
        client.replicaof("127.0.0.1", free_port())
    for key in keys(redis):
        purge(gateway, {"key": key})
    seen = set()
    for _ in range(40):
        seen.add((await said(gateway, upstream))[0])
        await asyncio.sleep(0.05)

    assert keys(redis)
    assert "#1" not in seen
