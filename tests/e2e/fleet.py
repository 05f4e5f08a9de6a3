"""Several gateways over one Redis, as on several machines: with ports and disks of their own."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.client import post
from tests.e2e.crowd import ASKED
from tests.redis_server import free_port
from tests.relay import Relay

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from tests.answers import Json
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway, Settings
    from tests.redis_server import RedisServer
    from tests.upstream import Channel

SECRET = {"PEER_SECRET": "0123456789abcdef0123456789abcdef"}

PATIENT: Settings = {"cache": {"redis": {"timeout": "2s"}}}
"""For what must not depend on how busy the machine is."""


def settings(url: str, **redis: Any) -> Settings:
    """What gateways of one fleet have in common."""
    return {
        "cache": {"redis": {"url": url, "timeout": "200ms", **redis}},
        "peers": {"secret_env": "PEER_SECRET"},
    }


def gateways(start: Start, url: str, size: int, *more: Settings) -> Sequence[Gateway]:
    """A fleet over the Redis at `url`."""
    together = settings(url)
    for one in more:
        together = merged(together, one)
    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(lambda _: start(together, SECRET), range(size)))


def merged(low: Settings, high: Settings) -> Settings:
    """Settings with tables laid over each other."""
    both = dict(low)
    for name, value in high.items():
        under = both.get(name)
        both[name] = merged(under, value) if isinstance(under, dict) else value
    return both


async def said(gateway: Gateway, upstream: Channel, asked: Json = ASKED) -> tuple[str, str]:
    """What one more client is told, and how the cache came by it."""
    got = await post(gateway.port, upstream.key, asked)
    assert got.status == 200
    return str(got.json()["choices"][0]["message"]["content"]), str(got.get("x-cache"))


async def stored(gateway: Gateway, upstream: Channel) -> None:
    """Until nothing flies here any more, so that what is kept lies in all tiers."""
    await upstream.until(lambda: gateway.total("hotprefix_singleflight_flights") == 0)


@dataclass
class Island:
    """A gateway, and the ways by which it reaches Redis and the others reach it."""

    gateway: Gateway
    redis: Relay
    peers: Relay

    def cut_from_others(self) -> None:
        self.peers.cut()

    def cut_off(self) -> None:
        """From all there is, but the upstream and its own clients."""
        self.peers.cut()
        self.redis.cut()

    def mend(self) -> None:
        self.peers.mend()
        self.redis.mend()


@asynccontextmanager
async def islands(start: Start, redis: RedisServer, size: int) -> AsyncIterator[list[Island]]:
    """Gateways whose ways to each other and to Redis can be interrupted."""
    async with AsyncExitStack() as stack:
        ways, both = [], []
        for _ in range(size):
            port = free_port()
            # The gateway listens on one loopback address and is known to the others by another.
            peers = await stack.enter_async_context(Relay(port, at=("127.0.0.2", port)))
            way = await stack.enter_async_context(Relay(redis.port))
            own: Settings = {"peers": {"port": port, "advertise": "127.0.0.2"}}
            url = f"redis://127.0.0.1:{way.port}/0"
            both.append(merged(settings(url, timeout="2s"), own))
            ways.append((way, peers))
        starting = (asyncio.to_thread(start, one, SECRET) for one in both)
        found = await asyncio.gather(*starting)
        yield [Island(one, *way) for one, way in zip(found, ways, strict=True)]
