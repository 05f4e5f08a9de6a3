"""What Redis costs, working and in trouble: hits from it, and requests while it fails.

    python -m tests.bench.redis [--rounds N] [--seconds S] [--only NAME ...]

Two gateways with default settings (10 ms for an operation) but without a memory and a disk of their
own, so that every hit comes from Redis, before an upstream whose answers are a function of the
tenant and the question. Two more without Redis, for comparison.

- hits: 500 requests/s for what is stored. `x-overhead-ms` is the gateway's own time before the
  first byte, Redis included. Commands and reads (of a socket, so: round trips) are Redis' own
  counts, less what the gateways ask of it when nobody asks them.
- each fault: 200 requests/s, half of them new, for S seconds from the moment of the fault; at the
  same time as many to the gateways without Redis, so that other work on the machine falls on both.
  The added p99 is the difference in a round; the median of the rounds is reported.

Exit code 1: a request failed or got a wrong answer, or a target was missed.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple

import uvloop

from tests.bench.origin import Origin
from tests.bench.processes import Server
from tests.e2e import fleet
from tests.e2e.steady import FORGETFUL, Steady, truly
from tests.gateway import Gateway
from tests.redis_faults import fill, limited, reshard, unlimited
from tests.redis_fleet import Cluster, Sentinels
from tests.redis_server import RedisServer
from tests.reply import Seen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.e2e.steady import Outcome

RATE: Final = 200
HIT_RATE: Final = 500
BUDGET: Final = 0.010
MOST_ADDED: Final = BUDGET + 0.005
MOST_P50, MOST_P99, MOST_READS = 0.0015, 0.010, 1.0
KEY: Final = "sk-bench"


class Truth(Origin):
    """The upstream."""

    def answered(self, request: bytes) -> bytes:
        head, _, sent = request.partition(b"\r\n\r\n")
        key = re.search(rb"\r\nauthorization: *([^\r]+)", head, re.IGNORECASE)
        named = (("Authorization", key[1].decode() if key else ""),)
        reply = truly(Seen("", named, 0, bytearray(sent)))
        body = b"".join(piece for piece in reply.pieces if isinstance(piece, bytes))
        kind = dict(reply.headers)["Content-Type"]
        told = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        return told.encode() + body


class Fault(NamedTuple):
    """What happens to a Redis, and how it is undone."""

    name: str
    begin: Callable[[], object]
    end: Callable[[], object] = lambda: None


def percentile(values: Sequence[float], share: float) -> float:
    found = sorted(values)
    return found[min(len(found) - 1, int(share * len(found)))]


def _p99(outcomes: Sequence[Outcome]) -> float:
    return percentile([one.seconds for one in outcomes], 0.99)


class Bench:
    """The processes of a run, and what was found."""

    def __init__(self, stack: ExitStack, folder: Path, seconds: float) -> None:
        self._stack, self._folder, self._seconds = stack, folder, seconds
        self._made = 0
        self._upstream = stack.enter_context(Server("redis", "--upstream"))
        self.bad = 0
        self.plain = self.gateways("", stack)

    def folder(self) -> Path:
        self._made += 1
        return self._folder / str(self._made)

    def gateways(self, url: str, stack: ExitStack) -> list[Gateway]:
        """Two, over the Redis at `url`, or without any."""
        redis = {"cache": {"redis": {"url": url}}, "peers": {"secret_env": "PEER_SECRET"}}
        own = fleet.merged({"log": {"requests": False}, **FORGETFUL}, redis if url else {})
        made = []
        for _ in range(2):
            upstream = f"http://127.0.0.1:{self._upstream.port}/v1"
            one = Gateway(self.folder(), upstream, own, fleet.SECRET)
            one.start()
            stack.callback(one.stop)
            made.append(one)
        return made

    async def pair(self, gateways: list[Gateway], fault: Fault) -> tuple[list[Outcome], ...]:
        """The stream without Redis, and with the fault, side by side."""
        without, steady = Steady(self.plain, KEY, RATE), Steady(gateways, KEY, RATE)
        async with without.flowing(), steady.flowing():
            await asyncio.sleep(1.0)
            began = time.monotonic()
            await asyncio.to_thread(fault.begin)
            await asyncio.sleep(began + self._seconds - time.monotonic())
            ended = time.monotonic()
            await asyncio.to_thread(fault.end)
            await steady.until(seconds=60)
        self.bad += len(without.wrong) + len(steady.wrong)
        other, mine = (
            [one for one in each.since(began) if one.at < ended] for each in (without, steady)
        )
        return other, mine

    async def faults(
        self, gateways: list[Gateway], faults: Sequence[Fault], rounds: int
    ) -> list[float]:
        """The added p99 of each; prints them."""
        await Steady(gateways, KEY).until(seconds=60)
        added = []
        for fault in faults:
            pairs = [await self.pair(gateways, fault) for _ in range(rounds)]
            differences = [_p99(mine) - _p99(other) for other, mine in pairs]
            added.append(median(differences))
            print(_row(fault.name, pairs, differences), flush=True)
        return added

    async def hits(self, redis: RedisServer, gateways: list[Gateway]) -> bool:
        """Whether hits from Redis are within their targets; prints what they cost."""
        warm = Steady(gateways, KEY, RATE, known=True)
        async with warm.flowing():
            await asyncio.sleep(2)
        steady = Steady(gateways, KEY, HIT_RATE, known=True)
        idle = await _counted(redis, asyncio.sleep(self._seconds))
        async with steady.flowing():
            busy = await _counted(redis, asyncio.sleep(self._seconds))
        self.bad += len(steady.wrong)
        found = [one for one in steady.outcomes if one.tier == "redis"]
        own = [one.overhead for one in found]
        p50, p99 = percentile(own, 0.5), percentile(own, 0.99)
        commands, reads = ((b - i) / len(steady.outcomes) for b, i in zip(busy, idle, strict=True))
        print(
            f"hits from Redis, {HIT_RATE}/s: {len(found)} of {len(steady.outcomes)}; overhead p50 "
            f"{1000 * p50:.2f} ms, p99 {1000 * p99:.2f} ms; for each {commands:.2f} commands in "
            f"{reads:.2f} reads",
            flush=True,
        )
        return p50 <= MOST_P50 and p99 <= MOST_P99 and reads <= MOST_READS


def _row(name: str, pairs: list[tuple[list[Outcome], ...]], differences: Sequence[float]) -> str:
    without, during = ([one for pair in pairs for one in pair[side]] for side in (0, 1))
    found = {one.tier or one.cache for one in during}
    shares = {
        tier: sum((one.tier or one.cache) == tier for one in during) / len(during)
        for tier in sorted(found)
    }
    told = " ".join(f"{tier} {100 * share:.0f}%" for tier, share in shares.items())
    each = " ".join(f"{1000 * one:.1f}" for one in differences)
    return (
        f"{name:<22} p99 {1000 * _p99(without):6.1f} -> {1000 * _p99(during):6.1f} ms, longest "
        f"{1000 * max(one.seconds for one in during):6.1f} ms, added p99 "
        f"{1000 * median(differences):5.1f} ms ({each}); {len(during)} answers: {told}"
    )


async def _counted(redis: RedisServer, meanwhile: object) -> tuple[int, int]:
    """Commands and socket reads of Redis in that time."""

    def counts() -> tuple[int, int]:
        with redis.client() as client:
            stats = client.info("stats")
            return stats["total_commands_processed"], stats["total_reads_processed"]

    before = counts()
    await meanwhile  # type: ignore[misc]
    after = counts()
    return after[0] - before[0], after[1] - before[1]


def single(redis: RedisServer) -> list[Fault]:
    """What may happen to one server."""

    def restart() -> None:
        redis.kill()
        redis.start()

    return [
        Fault("none", lambda: None),
        Fault("killed", redis.kill, redis.start),
        Fault("frozen", redis.freeze, redis.thaw),
        Fault("restarted empty", restart),
        Fault("full, refuses", lambda: fill(redis), lambda: unlimited(redis)),
        Fault("full, evicts", lambda: limited(redis, "allkeys-lru"), lambda: unlimited(redis)),
    ]


def run(options: argparse.Namespace, stack: ExitStack) -> bool:
    """Whether all targets were met."""
    folder = Path(stack.enter_context(TemporaryDirectory()))
    bench = Bench(stack, folder, options.seconds)
    added: list[float] = []
    good = True

    def wanted(faults: Sequence[Fault]) -> list[Fault]:
        return [one for one in faults if not options.only or one.name in options.only]

    with RedisServer(bench.folder()) as redis, ExitStack() as inner:
        gateways = bench.gateways(redis.url, inner)
        asyncio.run(Steady(gateways, KEY).until())
        if not options.only or "hits" in options.only:
            good = asyncio.run(bench.hits(redis, gateways))
        added += asyncio.run(bench.faults(gateways, wanted(single(redis)), options.rounds))
    if faults := wanted([Fault("sentinel: master dies", lambda: None)]):
        with Sentinels(bench.folder()) as sentinels, ExitStack() as inner:
            gateways = bench.gateways(sentinels.url, inner)
            faults = [Fault(faults[0].name, sentinels.master.kill)]
            added += asyncio.run(bench.faults(gateways, faults, 1))
    if faults := wanted([Fault("cluster: slots move", lambda: None)]):
        with Cluster(bench.folder()) as cluster, ExitStack() as inner:
            gateways = bench.gateways(cluster.url, inner)
            faults = [Fault(faults[0].name, lambda: reshard(cluster))]
            added += asyncio.run(bench.faults(gateways, faults, options.rounds))
    print(f"{bench.bad} failed or wrong answers")
    return good and not bench.bad and all(one <= MOST_ADDED for one in added)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Truth, "127.0.0.1", port)
    await server.serve_forever()


def main() -> int:
    if sys.argv[1:2] == ["--upstream"]:
        uvloop.run(_serve(int(sys.argv[2])))
    parser = argparse.ArgumentParser(prog="python -m tests.bench.redis", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--only", nargs="*", default=[])
    with ExitStack() as stack:
        return 0 if run(parser.parse_args(), stack) else 1


if __name__ == "__main__":
    sys.exit(main())
