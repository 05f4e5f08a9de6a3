"""Which server holds a key: there is one, or the servers of a cluster share the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from redis.asyncio.cluster import ClusterNode, NodesManager
from redis.crc import key_slot
from redis.exceptions import MovedError

from proxy.adapters.redis.lane import Lane, code_of
from proxy.adapters.redis.pools import ASK_ONE
from proxy.adapters.redis.url import Address

if TYPE_CHECKING:
    from collections.abc import Callable

    from redis.exceptions import AskError

    from proxy.adapters.redis.asked import Asked
    from proxy.adapters.redis.lane import Moved
    from proxy.adapters.redis.pools import Pools

_HOPS: Final = 4


class Route(Protocol):
    """Who holds what."""

    def lane(self, key: bytes) -> Lane | None:
        """To the server of a key; None as long as nobody has said which."""

    def lanes(self) -> list[Lane]:
        """To all servers that are known."""

    async def learn(self) -> str:
        """Find out anew, if there is reason to; the class of the error, if nothing is known."""


class Single:
    """One server, at a fixed address or at the one that the sentinels name."""

    def __init__(self, pools: Pools, turned: Callable[[], None]) -> None:
        sentinels = pools.target.kind == "sentinel"
        pool = pools.master() if sentinels else pools.server(pools.target.addresses[0])
        self._lane = Lane(pool, pools.limit, turned=turned)

    def lane(self, key: bytes) -> Lane:
        return self._lane

    def lanes(self) -> list[Lane]:
        return [self._lane]

    async def learn(self) -> str:
        return ""


class Cluster:
    """The driver keeps the table of slots. Commands go by lanes of our own: the driver's pipeline
    waits for the slowest server, follows redirections one by one, and closes all its connections
    to learn a new table."""

    def __init__(self, pools: Pools, turned: Callable[[], None]) -> None:
        settings = pools.settings(socket_timeout=ASK_ONE, socket_connect_timeout=ASK_ONE)
        nodes = [ClusterNode(*seed, **settings) for seed in pools.target.addresses]
        self._seeds = {node.name: node for node in nodes}
        self._nodes = NodesManager(nodes, False, settings, dynamic_startup_nodes=False)
        self._pools = pools
        self._turned = turned
        self._lanes: dict[Address, Lane] = {}
        self.stale = True
        """Whether something was seen that the table does not say."""

    def lane(self, key: bytes) -> Lane | None:
        nodes = self._nodes.slots_cache.get(key_slot(key))
        return self._at(nodes[0].host, nodes[0].port) if nodes else None

    def lanes(self) -> list[Lane]:
        return list(self._lanes.values())

    async def learn(self) -> str:
        if not self.stale and all(lane.sound for lane in self._lanes.values()):
            return ""
        self._nodes.startup_nodes = self._seeds | self._nodes.nodes_cache
        try:
            await self._nodes.initialize()
        except Exception as error:  # Whatever the driver makes of a table that is none.
            return "" if self._nodes.slots_cache else code_of(error)
        finally:
            await self._nodes.aclose("startup_nodes")
        self.stale = False
        masters = {nodes[0] for nodes in self._nodes.slots_cache.values()}
        held = {self._at(node.host, node.port) for node in masters}
        for address in [address for address, lane in self._lanes.items() if lane not in held]:
            await self._lanes.pop(address).aclose()
        return ""

    async def moved(self, source: Lane, moved: Moved, due: float) -> None:
        """Send these to where the server said."""
        batches: dict[Lane, list[Asked]] = {}
        for call, error in moved:
            call.hops += 1
            if call.hops > _HOPS:
                source.refused(call, code_of(error))
                continue
            call.asking = not isinstance(error, MovedError)
            batches.setdefault(await self._redirected(source, error), []).append(call)
        for lane, calls in batches.items():
            lane.send(calls, due)

    async def _redirected(self, source: Lane, error: AskError) -> Lane:
        if not error.host:
            # A server that does not know its own name is meant by where it was asked.
            known = (address for address, lane in self._lanes.items() if lane is source)
            error.host = next(known, Address("", 0)).host
        if isinstance(error, MovedError):
            self.stale = True
            await self._nodes.move_slot(error)
        return self._at(error.host, error.port)

    def _at(self, host: str, port: str | int) -> Lane:
        address = Address(host, int(port))
        if address not in self._lanes:
            pool, limit = self._pools.server(address), self._pools.limit
            self._lanes[address] = Lane(pool, limit, turned=self._turned, moved=self.moved)
        return self._lanes[address]
