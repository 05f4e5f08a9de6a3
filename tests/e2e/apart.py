"""Redis on another machine, as far as the network can tell, and a network that loses everything.

Run as `python -m tests.e2e.apart FOLDER` inside a network namespace of its own, which has nothing
but what is made here: prints what became of a stream of requests as one line of JSON.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.e2e import fleet
from tests.e2e.steady import FORGETFUL, Steady, truly
from tests.gateway import Gateway
from tests.redis_server import RedisServer
from tests.upstream import Server

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE: Final = "10.83.0.1"
THERE: Final = "10.83.0.2"
OPEN: Final = ("--protected-mode", "no")
"""To others than this machine, without a password."""
_FAULT: Final = 1.5


class Network:
    """Another namespace, with a cable to it."""

    def __init__(self, pid: int) -> None:
        """`pid`: of a process that lives there."""
        self.via = ("nsenter", "--target", str(pid), "--net")

    def connect(self, pid: int) -> None:
        _run("ip", "link", "set", "lo", "up")
        _run("ip", "link", "add", "here", "type", "veth", "peer", "name", "there")
        _run("ip", "link", "set", "there", "netns", str(pid))
        _run("ip", "address", "add", f"{HERE}/24", "dev", "here")
        _run("ip", "link", "set", "here", "up")
        for command in (
            ("link", "set", "lo", "up"),
            ("address", "add", f"{THERE}/24", "dev", "there"),
            ("link", "set", "there", "up"),
        ):
            _run(*self.via, "ip", *command)

    def cut(self) -> None:
        """From now on what is sent there, or back, is lost, and nobody is told."""
        _run(*self.via, "ip", "route", "add", "blackhole", HERE)

    def mend(self) -> None:
        _run(*self.via, "ip", "route", "delete", "blackhole", HERE)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)


@contextmanager
def network() -> Iterator[Network]:
    """The other namespace, as long as somebody is there."""
    with subprocess.Popen(["unshare", "--net", "sleep", "600"]) as holder:
        try:
            here = Path("/proc/self/ns/net").readlink()
            while Path(f"/proc/{holder.pid}/ns/net").readlink() == here:
                time.sleep(0.01)
            made = Network(holder.pid)
            made.connect(holder.pid)
            yield made
        finally:
            holder.kill()


async def stream(steady: Steady, net: Network) -> dict[str, object]:
    """The network is lost twice: for longer than a probe waits, and for a moment."""
    await steady.until()
    cuts = []
    async with steady.flowing():
        for seconds in (2 * _FAULT, 0.2):
            await asyncio.sleep(_FAULT)
            net.cut()
            cuts.append(time.monotonic())
            await asyncio.sleep(seconds)
            net.mend()
            await steady.until()
        recovered = time.monotonic()
        await asyncio.sleep(_FAULT)
    return {
        "answers": len(steady.outcomes),
        "wrong": len(steady.wrong),
        "longest": max(one.seconds for one in steady.since(cuts[0])),
        "hits": steady.tiers(recovered).get("redis", 0),
        "lines": [
            len([line for line in gateway.log() if line["event"] != "request"])
            for gateway in steady.gateways
        ],
    }


async def main(folder: Path) -> None:
    server = Server()
    with network() as net, RedisServer(folder / "redis", *OPEN, host=THERE, via=net.via) as redis:
        server.start()
        upstream = server.channel()
        settings = fleet.merged(fleet.settings(redis.url), FORGETFUL)
        gateways = [
            Gateway(folder / f"gateway{number}", upstream.url, settings, fleet.SECRET)
            for number in range(2)
        ]
        upstream.default = truly
        steady = Steady(gateways, upstream.key)
        try:
            for gateway in gateways:
                gateway.start()
            sys.stdout.write(json.dumps(await stream(steady, net)))
        finally:
            await steady.over()
            for gateway in gateways:
                gateway.stop()
            server.stop()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
