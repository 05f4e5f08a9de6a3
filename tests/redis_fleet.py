"""Real Redis servers that belong together: a cluster whose slots move, a master with sentinels."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import redis as driver

from tests.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SLOTS: Final = 16384
_PATIENCE: Final = 15.0
"""Seconds; a busy machine elects slowly."""
_POLL: Final = 0.02


def until(true: Callable[[], bool]) -> None:
    """Wait for what other processes do."""
    end = time.monotonic() + _PATIENCE
    while not true():
        if time.monotonic() > end:
            raise RuntimeError("the servers did not get there")
        time.sleep(_POLL)


class Cluster:
    """Three masters that share all slots, and as many replicas if wanted."""

    def __init__(self, folder: Path, *, replicas: bool = False) -> None:
        count = 6 if replicas else 3
        # Milliseconds after which a silent master is given up: without a replica in its place that
        # is the end of the whole cluster, which a slow machine must not bring about.
        patience = "1000" if replicas else "10000"
        self.servers = [
            RedisServer(
                folder / str(number),
                *("--cluster-enabled", "yes", "--cluster-node-timeout", patience),
                *("--cluster-config-file", f"nodes-{number}.conf"),
                *("--repl-diskless-sync-delay", "0"),
            )
            for number in range(count)
        ]
        self._replicas = replicas
        self._stack = ExitStack()

    @property
    def masters(self) -> list[RedisServer]:
        """Those that were made masters."""
        return self.servers[:3]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{one.port}" for one in self.servers)

    def __enter__(self) -> Cluster:
        with ExitStack() as stack:
            for server in self.servers:
                stack.enter_context(server)
            self._meet()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def ask(self, server: RedisServer, *command: str | int | bytes) -> Any:
        """What one server says."""
        with server.client() as client:
            return client.execute_command(*command)

    def node(self, server: RedisServer) -> str:
        """The name of a server inside the cluster."""
        return _text(self.ask(server, "CLUSTER MYID"))

    def holder(self, slot: int) -> RedisServer:
        """The master of a slot."""
        for server in self.servers:
            for first, last, master, *_ in self._slots(server):
                if first <= slot <= last:
                    return next(one for one in self.servers if one.port == master)
        raise LookupError(slot)

    def begin_move(self, slot: int, to: RedisServer) -> None:
        """From now on keys that are not there any more are asked for at the other server."""
        source = self.holder(slot)
        self.ask(to, "CLUSTER SETSLOT", slot, "IMPORTING", self.node(source))
        self.ask(source, "CLUSTER SETSLOT", slot, "MIGRATING", self.node(to))

    def move_keys(self, slot: int, to: RedisServer) -> None:
        """Move what is there by now."""
        source = self.holder(slot)
        for key in self.ask(source, "CLUSTER GETKEYSINSLOT", slot, 1000):
            self.ask(source, "MIGRATE", "127.0.0.1", to.port, key, 0, 1000)

    def end_move(self, slot: int, to: RedisServer) -> None:
        """The slot belongs to the other server."""
        for server in (to, *(one for one in self.masters if one is not to)):
            self.ask(server, "CLUSTER SETSLOT", slot, "NODE", self.node(to))

    def _slots(self, server: RedisServer) -> list[tuple[int, int, int]]:
        try:
            found = self.ask(server, "CLUSTER SLOTS")
        except driver.RedisError:
            return []
        return [(first, last, master[1]) for first, last, master, *_ in found]

    def _meet(self) -> None:
        first = self.servers[0]
        for number, server in enumerate(self.masters):
            start, end = number * SLOTS // 3, (number + 1) * SLOTS // 3 - 1
            self.ask(server, "CLUSTER ADDSLOTSRANGE", start, end)
        for server in self.servers[1:]:
            self.ask(first, "CLUSTER MEET", "127.0.0.1", server.port)
        until(lambda: all(self._known(server) == len(self.servers) for server in self.servers))
        if self._replicas:
            for master, replica in zip(self.masters, self.servers[3:], strict=True):
                self.ask(replica, "CLUSTER REPLICATE", self.node(master))
            until(lambda: all(_follows(replica) for replica in self.servers[3:]))
        until(lambda: all(self._sound(server) for server in self.servers))

    def _known(self, server: RedisServer) -> int:
        return int(self._info(server)["cluster_known_nodes"])

    def _sound(self, server: RedisServer) -> bool:
        return self._info(server)["cluster_state"] == "ok"

    def _info(self, server: RedisServer) -> dict[str, str]:
        found = self.ask(server, "CLUSTER INFO")
        return {_text(name): _text(value) for name, value in found.items()}


class Sentinels:
    """A master, a replica of it, and three sentinels that make the one the other's successor."""

    def __init__(self, folder: Path) -> None:
        self.service = "mymaster"
        self.master = RedisServer(folder / "master")
        master = ("--replicaof", f"127.0.0.1 {self.master.port}")
        self.replica = RedisServer(folder / "replica", *master, "--repl-diskless-sync-delay", "0")
        self.sentinels = [
            RedisServer(folder / f"sentinel{number}", sentinel=self._rules()) for number in range(3)
        ]
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{one.port}" for one in self.sentinels)
        return f"redis+sentinel://{hosts}/{self.service}/0"

    def __enter__(self) -> Sentinels:
        with ExitStack() as stack:
            for server in (self.master, self.replica):
                stack.enter_context(server)
            until(lambda: _follows(self.replica))
            for sentinel in self.sentinels:
                stack.enter_context(sentinel)
            until(lambda: all(self._ready(sentinel) for sentinel in self.sentinels))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _rules(self) -> str:
        name, port = self.service, self.master.port
        return (
            f"sentinel monitor {name} 127.0.0.1 {port} 2\n"
            f"sentinel down-after-milliseconds {name} 500\n"
            f"sentinel failover-timeout {name} 3000\n"
        )

    def _ready(self, sentinel: RedisServer) -> bool:
        with sentinel.client() as client:
            state = client.sentinel_master(self.service)
        return bool(state["num-other-sentinels"] == 2 and state["num-slaves"] == 1)


def _follows(replica: RedisServer) -> bool:
    with replica.client() as client:
        return bool(client.info("replication").get("master_link_status") == "up")


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
