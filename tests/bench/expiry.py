"""What an expiry costs the upstream: a hot set that was filled at one moment, at several gateways.

    python -m tests.bench.expiry               # 1,000 keys, 3 gateways over one Redis, 4 settings
    python -m tests.bench.expiry --keys 200    # the same with fewer keys

All keys are asked for again and again at every gateway for some lifetimes. The calls that renew one
key within half a lifetime belong to one expiry; more than 1.1 of them a key is an error.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests import answers
from tests.client import Connection, answer, spelled
from tests.e2e.fleet import SECRET, merged, settings
from tests.gateway import Gateway
from tests.redis_server import RedisServer
from tests.reply import JSON_TYPE, body
from tests.upstream import Server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.gateway import Settings
    from tests.reply import Reply, Seen
    from tests.upstream import Channel

MOST = 1.1
"""Calls for one key and expiry."""
CASES: dict[str, Settings] = {
    "as it comes": {},
    "all at once": {"jitter": 0.0},
    "no grace": {"stale_while_revalidate": 0},
    "all at once, no grace, none early": {
        "jitter": 0.0,
        "stale_while_revalidate": 0,
        "early_refresh": 0.0,
    },
}
"""What is set differently from the defaults."""


class Costs(NamedTuple):
    """What was asked and called during the lifetimes; times are seconds."""

    answers: int
    wrong: int
    """Answers other than 200."""
    outcomes: dict[str, int]
    """By `x-cache`."""
    longest: float
    p99: float
    keys: int
    """Those that were renewed."""
    expiries: int
    """Of all keys together."""
    calls: int

    @property
    def ratio(self) -> float:
        """Calls for one key and expiry."""
        return self.calls / max(1, self.expiries)

    @property
    def stored(self) -> int:
        """Answers that nobody waited for."""
        return self.outcomes.get("HIT", 0) + self.outcomes.get("STALE", 0)

    def __str__(self) -> str:
        seen = " ".join(f"{name} {count}" for name, count in sorted(self.outcomes.items()))
        return (
            f"{self.answers} answers, {self.wrong} wrong ({seen}); "
            f"p99 {1000 * self.p99:.0f} ms, longest {1000 * self.longest:.0f} ms; "
            f"{self.keys} keys renewed, {self.calls} calls in {self.expiries} expiries: "
            f"{self.ratio:.3f}"
        )


class HotSet:
    """Keys that every gateway is asked for all the time, and the calls that this makes."""

    def __init__(
        self, gateways: Sequence[Gateway], upstream: Channel, keys: int, latency: float
    ) -> None:
        self._gateways = gateways
        self._requests = [_request(upstream.key, number) for number in range(keys)]
        self._latency = latency
        self._called: dict[str, list[float]] = defaultdict(list)
        """When each key was called for."""
        self._waits: list[float] = []
        self._outcomes: Counter[str] = Counter()
        self._wrong = 0
        self._chance = random.Random(1)
        upstream.default = self._answered

    def _answered(self, seen: Seen) -> Reply:
        text = str(seen.json()["messages"][0]["content"])
        self._called[text].append(time.monotonic())
        return body(answers.chat(f"about {text}"), hold=self._latency)

    async def fill(self) -> None:
        """Every key once at each gateway: called for once, held everywhere."""
        for gateway in self._gateways:
            await asyncio.gather(*(self._ask(gateway, start, 50) for start in range(50)))

    async def live(self, seconds: float, ttl: float, connections: int = 16) -> Costs:
        """Ask for all of them at all gateways for so long."""
        self._called.clear()
        self._waits.clear()
        self._outcomes.clear()
        until = time.monotonic() + seconds
        await asyncio.gather(
            *(
                self._ask(gateway, start, connections, until)
                for gateway in self._gateways
                for start in range(connections)
            )
        )
        # What was asked for last may be on its way still.
        await asyncio.sleep(4 * self._latency + 0.2)
        return self._costs(ttl)

    async def _ask(self, gateway: Gateway, start: int, step: int, until: float = 0.0) -> None:
        """On one connection, every so manieth key; once, or again and again until then, each time
        in another order: gateways in step would ask for one key at the same moment only."""
        requests = self._requests[start::step]
        async with await Connection.to(gateway.port) as connection:
            while True:
                self._chance.shuffle(requests)
                for request in requests:
                    asked = time.monotonic()
                    if until and asked > until:
                        return
                    await connection.send(request)
                    got = await answer(connection)
                    self._waits.append(time.monotonic() - asked)
                    self._outcomes[got.get("x-cache") or "none"] += 1
                    self._wrong += got.status != 200
                if not until:
                    return

    def _costs(self, ttl: float) -> Costs:
        waits = sorted(self._waits)
        expiries = sum(_expiries(times, ttl / 2) for times in self._called.values())
        return Costs(
            answers=len(waits),
            wrong=self._wrong,
            outcomes=dict(self._outcomes),
            longest=waits[-1],
            p99=waits[len(waits) * 99 // 100],
            keys=len(self._called),
            expiries=expiries,
            calls=sum(map(len, self._called.values())),
        )


def _expiries(times: Sequence[float], apart: float) -> int:
    """How often it was renewed: calls that are nearer to each other than this are for one."""
    count, last = 0, float("-inf")
    for moment in times:
        if moment - last > apart:
            count, last = count + 1, moment
    return count


def _request(key: str, number: int) -> bytes:
    headers = [("Authorization", f"Bearer {key}"), JSON_TYPE]
    asked = {"model": "m-small", "messages": [{"role": "user", "content": f"hot {number}"}]}
    return spelled("POST", "/v1/chat/completions", headers, answers.dumps(asked))


def configured(url: str, ttl: float, **cache: object) -> Settings:
    """A gateway of a fleet over the Redis at `url`, with these settings of the cache."""
    return merged(settings(url), {"cache": {"ttl": ttl, **cache}, "log": {"requests": False}})


async def measured(
    folder: Path, upstream: Channel, options: argparse.Namespace, cache: Settings
) -> Costs:
    """One setting, with a fleet and a Redis of its own."""
    with RedisServer(folder / "redis") as redis:
        made = configured(redis.url, options.ttl, **cache)
        gateways = [
            Gateway(folder / f"gateway{number}", upstream.url, made, SECRET)
            for number in range(options.gateways)
        ]
        try:
            for gateway in gateways:
                gateway.start()
            hot = HotSet(gateways, upstream, options.keys, options.latency)
            await hot.fill()
            return await hot.live(options.lifetimes * options.ttl, options.ttl)
        finally:
            for gateway in gateways:
                gateway.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--keys", type=int, default=1000)
    parser.add_argument("--gateways", type=int, default=3)
    parser.add_argument("--ttl", type=float, default=10.0)
    parser.add_argument("--latency", type=float, default=0.1)
    parser.add_argument("--lifetimes", type=float, default=3.5)
    parser.add_argument("--case", choices=sorted(CASES), default="")
    options = parser.parse_args()
    server, failed = Server(), False
    server.start()
    for name, cache in CASES.items():
        if options.case not in ("", name):
            continue
        with tempfile.TemporaryDirectory() as directory:
            costs = asyncio.run(measured(Path(directory), server.channel(), options, cache))
        print(f"{name}: {costs}", flush=True)
        well = costs.ratio <= MOST and not costs.wrong and costs.keys == options.keys
        failed = failed or not well or costs.stored < costs.answers / 2
    server.stop()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
