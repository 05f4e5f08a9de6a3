"""What can happen to a Redis that runs: it is full, or its slots move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import redis as driver

if TYPE_CHECKING:
    from tests.redis_fleet import Cluster
    from tests.redis_server import RedisServer


def limited(redis: RedisServer, policy: str, share: float = 1.05) -> None:
    """From now on there is room for so much of what there is."""
    with redis.client() as client:
        client.config_set("maxmemory-policy", policy)
        client.config_set("maxmemory", round(share * client.info("memory")["used_memory"]))


def unlimited(redis: RedisServer) -> None:
    with redis.client() as client:
        client.config_set("maxmemory", 0)


def refusals(redis: RedisServer, code: str) -> int:
    """How often it has answered this error."""
    with redis.client() as client:
        return int(client.info("errorstats").get(f"errorstat_{code}", {}).get("count", 0))


def fill(redis: RedisServer) -> None:
    """With what is nobody's, until it refuses more."""
    script = "for i = 1, 100 do redis.call('SET', ARGV[1] .. ':' .. i, i) end"
    limited(redis, "noeviction")
    with redis.client() as client:
        for number in range(10_000):
            try:
                client.eval(script, 0, f"fill{number}")
            except driver.RedisError:
                break
    # At the very edge something finds room now and then.
    limited(redis, "noeviction", 0.5)


def reshard(cluster: Cluster, most: int = 100) -> None:
    """So many slots of each master that have keys go to the next one."""
    held = {server.port: slots(server) for server in cluster.masters}
    for number, server in enumerate(cluster.masters):
        target = cluster.masters[(number + 1) % 3]
        for slot in held[server.port][:most]:
            cluster.begin_move(slot, target)
            cluster.move_keys(slot, target)
            cluster.end_move(slot, target)


def slots(server: RedisServer) -> list[int]:
    """Those that it has keys of."""
    with server.client() as client:
        return sorted({client.cluster("keyslot", name) for name in client.scan_iter(count=1000)})
