"""What a miss costs besides its HTTP, at the least, beside all that a bare proxy costs.

    python -m tests.bench.miss_floor [--rounds N] [--requests N]

In one process, without sockets: requests that nobody has asked before are understood and keyed,
looked for in memory and in LMDB, and their answers judged and stored in both. Single-flight, the
choice of a node, limits, metrics and the log are left out. In the same minutes a bare proxy of the
same framework passes such requests over loopback. All figures are CPU in us a request, medians of
the rounds. The last line tells how many requests a gateway could pass at most, as a share of the
bare proxy's, if its HTTP cost what the bare proxy's does and all that was left out cost nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import uvloop

from proxy.adapters.clock import SystemClock
from proxy.adapters.disk.store import Disk
from proxy.adapters.memory import Memory
from proxy.backlog import Backlog
from proxy.config import Config
from proxy.core.endpoint import Endpoint
from proxy.core.entry import Alias, Entry
from proxy.core.keeping import Arrived, Keeping, kept
from proxy.core.message import Arrival, Head
from proxy.core.request import Lookup
from proxy.core.rules import rules
from proxy.memo import Memo
from proxy.tier import Tier
from proxy.tiers import Tiers
from tests.bench import traffic
from tests.bench.client import Job
from tests.bench.processes import Client, Server, cpu

if TYPE_CHECKING:
    from proxy.core.events import Event

_TOGETHER: Final = 32
"""Answers that are stored at once: as many as the client of the bare proxy has connections."""
_PARTS: Final = ("understood and keyed", "looked for", "judged", "stored")


class Parts:
    """The parts of a miss, in a worker's settings, each for many requests."""

    def __init__(self, folder: Path) -> None:
        config, clock = Config(), SystemClock()
        self._clock = clock
        self._memo = Memo(rules(config, {}), config.cache.memory.memo_entries)
        near = Memory(config.cache.memory.max_bytes, config.cache.memory.ttl)
        disk = Disk(folder, 1 << 32, clock=clock, emit=_unheard)
        held = (
            Tier("memory", near, peek=near.peek, keep=near.keep, get_all=near.get_all),
            Tier("disk", disk, peek=disk.peek, get_all=disk.get_all, put_all=disk.put_all),
        )
        self.close = disk.close
        self._tiers = Tiers(held, clock, _unheard, Backlog(_unheard))

    async def taken(self, arrivals: list[Arrival]) -> list[float]:
        """CPU of each part in us a request, in the order of `_PARTS`."""
        times = [time.process_time()]
        intents = [await self._memo.intent(one, Endpoint.CHAT) for one in arrivals]
        lookups = [one for one in intents if isinstance(one, Lookup)]
        times.append(time.process_time())
        for lookup in lookups:
            assert self._tiers.near(lookup) is None
            assert await self._tiers.find(lookup) is None
        times.append(time.process_time())
        entries = [self._judged(lookup) for lookup in lookups]
        times.append(time.process_time())
        for start in range(0, len(entries), _TOGETHER):
            some = slice(start, start + _TOGETHER)
            await asyncio.gather(*map(self._stored, entries[some], lookups[some]))
        times.append(time.process_time())
        assert len(entries) == len(arrivals)
        return [1e6 * (end - start) / len(arrivals) for start, end in pairwise(times)]

    def _judged(self, lookup: Lookup) -> Entry:
        now = self._clock.now()
        arrived = Arrived(_HEAD, traffic.ANSWER, "default", now, now, 0.0, 0)
        entry = kept(arrived, lookup, Keeping())
        assert isinstance(entry, Entry)
        return entry

    async def _stored(self, entry: Entry, lookup: Lookup) -> None:
        assert lookup.normalized is not None
        alias = Alias(lookup.normalized, entry.tenant, entry.key, entry.asked, entry.expires)
        await self._tiers.put(entry, alias)


_HEAD: Final = Head(200, (("content-type", "application/json"),))


def _unheard(event: Event) -> None:
    """Nobody listens."""


class Asked:
    """Requests as the bare proxy gets them, none twice."""

    def __init__(self) -> None:
        self._shape, self._number = traffic.unseen(), 0

    def next(self, number: int) -> list[Arrival]:
        return [self._one() for _ in range(number)]

    def _one(self) -> Arrival:
        self._number += 1
        whole = b"%b%012d%b" % (self._shape.before, self._number, self._shape.after)
        head, _, body = whole.partition(b"\r\n\r\n")
        lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
        headers = tuple((name, value) for name, _, value in lines)
        return Arrival("POST", traffic.PATH, "", headers, body)


def bare(client: Client, server: Server) -> float:
    """CPU of a bare proxy, in us a request."""
    before = cpu(server.pids)
    found = client.measure(Job(server.port, traffic.unseen(), _TOGETHER, 0.5, ""))
    return 1e6 * (cpu(server.pids) - before) / found.answers


async def main(rounds: int, requests: int) -> None:
    asked, passing, parts = Asked(), [], []
    with ExitStack() as stack:
        origin = stack.enter_context(Server("origin"))
        server = stack.enter_context(Server("rivals", "proxy", str(origin.port)))
        client = stack.enter_context(Client())
        measured = Parts(Path(stack.enter_context(TemporaryDirectory())))
        stack.callback(measured.close)
        for _ in range(rounds):
            passing.append(bare(client, server))
            parts.append(await measured.taken(asked.next(requests)))
    costs = [median(part) for part in zip(*parts, strict=True)]
    for name, cost in zip(_PARTS, costs, strict=True):
        print(f"{name:<24}{cost:>6.0f} us")
    alone = median(passing)
    print(f"{'a bare proxy, all of it':<24}{alone:>6.0f} us")
    print(f"at most {alone / (alone + sum(costs)):.2f} of the bare proxy's requests per second")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--requests", type=int, default=2000)
    args = parser.parse_args()
    uvloop.run(main(args.rounds, args.requests))
