"""What the semantic tier costs a request, end to end: hits by meaning, and longer misses.

    python -m tests.bench.semantic_live [--rate 50] [--seconds 20] [--rounds 3]

Two gateways in front of the mock upstream, one with the tier and one without, are asked the same
new questions in turn, so that a busy machine is busy for both; then questions that hit by their
canonical form or as the nearest neighbour, at a fixed rate. Besides, the longest time that the
event loop of a semantic process stands still is watched from inside it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from semantic.budget import Budget
from semantic.embed.batch import Batcher
from semantic.embed.choose import embedder
from semantic.forgetting import Forgetting
from semantic.index.local import Local
from semantic.lessons import Lessons
from semantic.lookup import Lookup
from semantic.memory import Memory
from semantic.protocol import Learn, Nearest, Record
from semantic.service import Service
from semantic.settings import Settings
from semantic.space import Space
from tests.client import Connection, answer, spelled
from tests.e2e.meaning import asked, entries, ready, until
from tests.gateway import Gateway
from tests.upstream import Server

if TYPE_CHECKING:
    from tests.upstream import Channel

ON = {"semantic": {"mode": "on", "min_similarity": 0.9, "sample_rate": 0.0, "profile": "balanced"}}
PLACES = ("Lisbon", "Oslo", "Prague", "Seville", "Turin", "Utrecht", "Vienna", "Warsaw")
THINGS = ("flat", "boat", "horse", "piano", "garden", "camera", "bicycle", "violin")


def questions(number: int) -> list[tuple[str, str]]:
    """Questions and others that mean the same."""
    found = []
    for n in range(number):
        place, thing = PLACES[n % 8], THINGS[n // 8 % 8]
        what = f"a {thing} in {place} for case {n}"
        start = "What do I have to know before"
        found.append((f"{start} I rent {what}", f"{start} renting {what}"))
    return found


async def main(rate: float, seconds: float, rounds: int) -> None:
    server = Server()
    server.start()
    with tempfile.TemporaryDirectory() as folder:
        on = Gateway(Path(folder) / "on", server.url, ON)
        off = Gateway(Path(folder) / "off", server.url, {})
        for gateway in (on, off):
            gateway.start()
        try:
            await ready(on)
            channel = server.channel()
            await misses(on, off, channel, rounds)
            await hits(on, channel, rate, seconds)
        finally:
            on.stop()
            off.stop()
    server.stop()


async def misses(on: Gateway, off: Gateway, channel: Channel, rounds: int) -> None:
    """New questions, one after the other, to both in turn."""
    print("a miss, ms: p50 with and without the tier, and the difference")
    differences = []
    for turn in range(rounds):
        taken: dict[bool, list[float]] = {True: [], False: []}
        for number in range(150):
            text = f"Which of the {turn} rivers near hill {number} is the longest of all"
            for tier, gateway in ((True, on), (False, off)):
                taken[tier].append((await timed(gateway, channel, text))[0])
        with_it, without = (statistics.median(taken[tier]) for tier in (True, False))
        differences.append(with_it - without)
        print(f"  {with_it:6.2f} {without:6.2f} {with_it - without:+6.2f}")
    print(f"  median of the differences: {statistics.median(differences):.2f}")


async def timed(gateway: Gateway, channel: Channel, text: str) -> tuple[float, bool]:
    """Milliseconds of one request on a connection that is open, and whether it was a hit."""
    async with await Connection.to(gateway.port) as connection:
        given = [("Authorization", f"Bearer {channel.key}"), ("Content-Type", "application/json")]
        data = spelled("POST", "/v1/chat/completions", given, json.dumps(asked(text)).encode())
        start = time.perf_counter()
        await connection.send(data)
        got = await answer(connection)
        taken = time.perf_counter() - start
    assert got.status == 200
    return taken * 1000, got.get("x-cache") == "HIT"


async def hits(gateway: Gateway, channel: Channel, rate: float, seconds: float) -> None:
    """Questions that mean the same as stored ones, at a fixed rate."""
    pairs = questions(round(rate * seconds))
    before = entries(gateway)
    for stored, _ in pairs:
        await timed(gateway, channel, stored)
    await until(lambda: entries(gateway) >= before + len(pairs))
    start, tasks = time.perf_counter(), []
    for number, (_, same) in enumerate(pairs):
        await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
        tasks.append(asyncio.create_task(timed(gateway, channel, same)))
    asked = await asyncio.gather(*tasks)
    taken = sorted(milliseconds for milliseconds, hit in asked if hit)
    p50, p99 = taken[len(taken) // 2], taken[int(len(taken) * 0.99)]
    kinds = {k: gateway.total("hotprefix_semantic_lookups_total", result=k) for k in KINDS}
    print(f"a hit by meaning at {rate:.0f}/s, ms: p50 {p50:.2f}, p99 {p99:.2f}; ", end="")
    print(f"{len(taken)} hits of {len(asked)}: {kinds}")


KINDS = ("canonical", "semantic")


async def watched() -> None:
    """The longest time that the loop stands still while it does all that a process does, and the
    longest that it itself works meanwhile: the rest is what others on the machine take."""
    settings = Settings(mode="on", min_similarity=0.9)
    chosen = await embedder("use", {})
    batchers = (Batcher(chosen, limit=32), Batcher(chosen))
    space = Space(chosen, *batchers, Local(chosen.dimension))
    lessons = Lessons(
        settings, Budget(settings), None, space.similarity, lambda: 0.5, lambda: b"n" * 16
    )
    memory = Memory(100_000)
    lookup = Lookup(settings, memory, space, lessons, time.time)
    forgetting = Forgetting(memory, space, lessons, time.time)
    service = Service(settings, memory, space, lookup, lessons, forgetting, time.time)
    running = asyncio.create_task(space.vectors.run())
    late, own, over = [0.0], [0.0], asyncio.Event()

    async def watch() -> None:
        while not over.is_set():
            start, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.001)
            late.append(time.perf_counter() - start - 0.001)
            own.append(time.thread_time() - worked)

    watching = asyncio.create_task(watch())
    for number, (stored, same) in enumerate(questions(500)):
        key = number.to_bytes(32, "big")
        # Each in a task of its own, as the server has it.
        learn = Learn((Record(key, b"s" * 32, stored, time.time() + 999),))
        await asyncio.create_task(service.answer(learn))
        await asyncio.create_task(service.answer(Nearest(b"s" * 32, "m", same, 60.0)))
    over.set()
    await watching
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    for what, looks in (("it stood still", late), ("it worked without a pause", own)):
        ranked = sorted(looks)
        print(f"the loop, ms: {what} p99 {1000 * ranked[int(len(ranked) * 0.99)]:.2f}, ", end="")
        print(f"at most {1000 * ranked[-1]:.2f}, of {len(ranked)} looks")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--watched", action="store_true", help="only the event loop")
    args = parser.parse_args()
    if args.watched:
        asyncio.run(watched())
    else:
        asyncio.run(main(args.rate, args.seconds, args.rounds))
        # As numpy has it in a semantic process, which reads this where it is loaded.
        command = [sys.executable, "-m", "tests.bench.semantic_live", "--watched"]
        subprocess.run(command, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}, check=True)
