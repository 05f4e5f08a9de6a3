"""What it costs to look after all that a semantic process knows, once round.

    python -m tests.bench.semantic_audit [--entries 100000]

Seven in ten answers lie on the disk, a quarter in Redis alone, the others nowhere. Both sides of
the line run in this process: what is measured is the time that they work together, and how long the
loop of a worker would have stood still. The pauses between the portions are left out.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from proxy import config
from proxy.adapters.clock import SystemClock
from proxy.adapters.disk.store import Disk
from proxy.adapters.meaning import Meaning
from proxy.adapters.redis.link import Link
from proxy.adapters.redis.store import RedisStore
from proxy.auditing import EVERY, PORTION, Auditing
from proxy.coder import PLAIN
from proxy.core.entry import Question
from proxy.core.want import EVER
from proxy.holdings import Holdings
from proxy.ports import UpstreamError
from proxy.quantity import Timeout
from proxy.tier import Tier
from semantic.server import Server
from semantic.vector import packed
from tests.redis_server import RedisServer
from tests.semantic.company import company
from tests.stored import entry, key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from proxy.core.entry import Entry, Key

_PART: Final = 1000
_SCOPES: Final = 500


class Nobody:
    """There is no other worker."""

    async def unheld(self, owner: str, keys: Sequence[Key]) -> Sequence[Key]:
        raise UpstreamError("", "gone", owner)


def parts(size: int, now: float) -> Iterator[list[Entry]]:
    """Answers to questions in some hundred scopes."""
    draw = np.random.default_rng(1)
    for begin in range(0, size, _PART):
        rows = draw.standard_normal((_PART, 64)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield [
            entry(begin + n, now, ttl=86400.0, question=question(begin + n, packed(row)))
            for n, row in enumerate(rows)
        ]


def question(number: int, vector: bytes) -> Question:
    text = f"what is the best way to store number {number}"
    return Question(key(f"scope {number % _SCOPES}"), text, "fake:1:64", vector)


async def main(size: int) -> None:
    clock = SystemClock()
    with tempfile.TemporaryDirectory() as name, RedisServer(Path(name) / "redis") as redis:
        disk = Disk(Path(name) / "disk", 4 << 30, clock=clock, emit=print)
        settings = config.Redis(url=redis.url, timeout=Timeout(2))
        link = Link(settings, None, clock=clock, emit=lambda event: None)
        far = RedisStore(link, PLAIN)
        async with company() as there:
            there.now, there.memory._limit = clock.now(), size
            server, line = Server(Path(name) / "s", there.service.answer), Meaning(Path(name) / "s")
            await server.start()
            for number, some in enumerate(parts(size, clock.now())):
                await line.learn(some)
                if number % 20 < 14:
                    await disk.put_all(some, clock.now())
                elif number % 20 < 19:
                    await asyncio.gather(*(far.put(one, clock.now()) for one in some))
            tiers = [
                Tier("disk", disk, holds=disk.scan.holds),
                Tier("redis", far, holds=far.holds, shared=True),
            ]
            how = (lambda: EVER, Nobody(), list, clock, lambda event: None)
            auditing = Auditing(line, Holdings(tiers, *how).gone, clock, print)
            await measured(auditing, size)
            print(f"{there.forgotten()} forgotten, {len(there.memory)} stay")
            await line.aclose()
            await server.aclose()
        await link.aclose()
        disk.close()


async def measured(auditing: Auditing, size: int) -> None:
    late, rounds = [0.0], -(-size // PORTION)
    watching = asyncio.create_task(watched(late))
    worked, start = time.process_time(), time.perf_counter()
    for _ in range(rounds):
        await auditing.round()
    worked, taken = time.process_time() - worked, time.perf_counter() - start
    watching.cancel()
    share = worked / (rounds * EVERY)
    print(f"{size} questions: {rounds} portions in {rounds * EVERY / 60:.0f} minutes")
    print(f"worked {worked:.2f} s in {taken:.2f} s, {100 * share:.2f} % of a core over the round;")
    print(f"the loop stood still for {1000 * max(late):.1f} ms at most")


async def watched(late: list[float]) -> None:
    while True:
        start = time.perf_counter()
        await asyncio.sleep(0.001)
        late.append(time.perf_counter() - start - 0.001)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    asyncio.run(main(parser.parse_args().entries))
