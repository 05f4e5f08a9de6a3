"""What embedder and index take of memory, and how fast the index is filled and searched.

    python -m tests.bench.semantic_memory                 # about two minutes
    python -m tests.bench.semantic_memory --scopes 100000

Three processes, one after the other: 100,000 vectors in few large scopes, the same in many small
ones, and a million scopes that come and go. Each has the default embedder loaded.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from blake3 import blake3

from semantic.embed.use import Use
from semantic.index.local import Local
from semantic.vector import unit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semantic.vector import Vectors

DIMENSION: Final = Use.dimension
PART: Final = 1000
"""Vectors that are added at once."""
LIMIT: Final = 400.0
"""MB that the process may have, with the embedder and 100,000 vectors."""


def name(number: int) -> bytes:
    return blake3(number.to_bytes(8)).digest()


def parts(total: int) -> Iterator[tuple[list[bytes], Vectors]]:
    """Keys and vectors, as they would come from the store: a part at a time."""
    chance = np.random.default_rng(0)
    for start in range(0, total, PART):
        size = min(PART, total - start)
        rows = chance.standard_normal((size, DIMENSION), dtype=np.float32)
        yield [name(start + number) for number in range(size)], unit(rows, DIMENSION)


def memory(field: str = "VmRSS") -> float:
    """MB that this process has now; `VmHWM`: that it had at most."""
    lines = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024 / 1e6


async def searched(index: Local, scope: bytes) -> str:
    """How long a search takes: the quickest and the median of some."""
    wanted = unit(np.random.default_rng(1).standard_normal((200, DIMENSION)), DIMENSION)
    took = []
    for vector in wanted:
        start = time.perf_counter()
        await index.search(scope, vector, 5)
        took.append((time.perf_counter() - start) * 1000)
    took.sort()
    return f"{took[0]:.3f} ms at best, {took[len(took) // 2]:.3f} ms median"


async def filled(total: int, each: int) -> None:
    """`total` vectors, `each` of them in a scope."""
    index = Local(DIMENSION, max_entries_per_scope=each)
    before, spent = memory(), 0.0
    for number, (keys, rows) in enumerate(parts(total)):
        start = time.perf_counter()
        step = min(each, PART)
        for at in range(0, len(keys), step):
            scope = name((number * PART + at) // each)
            await index.add(scope, keys[at : at + step], rows[at : at + step])
        spent += time.perf_counter() - start
    found = await searched(index, name(0))
    grown = memory() - before
    print(f"{total:,} vectors, {each:,} in a scope: added in {spent:.2f} s")
    print(f"  process {memory():.0f} MB (at most {memory('VmHWM'):.0f}), index {grown:.0f} MB;")
    print(f"  it says {index.figures()}")
    print(f"  search {found}")
    await index.aclose()
    if memory() > LIMIT:
        sys.exit(f"more than {LIMIT:.0f} MB")


async def passing(total: int) -> None:
    """`total` scopes, of which the bound is held."""
    gone = 0

    def evicted(scope: bytes, keys: Sequence[bytes]) -> None:
        nonlocal gone
        gone += len(keys)

    index = Local(DIMENSION, evicted=evicted)
    _, rows = next(parts(PART))
    start, before = time.perf_counter(), memory()
    for number in range(total):
        row = number % PART
        await index.add(name(number), [name(number)], rows[row : row + 1])
        if number == total // 10:
            before = memory()
    took = (time.perf_counter() - start) / total * 1e6
    print(f"{total:,} scopes, one after the other: {took:.0f} µs each")
    print(f"  process {before:.0f} MB after a tenth of them, {memory():.0f} MB after all")
    print(f"  it says {index.figures()}, {gone:,} vectors evicted")
    await index.aclose()


def main(arguments: argparse.Namespace) -> None:
    if not arguments.part:
        for part in ("large", "small", "passing"):
            command = [sys.executable, "-m", "tests.bench.semantic_memory", "--part", part]
            subprocess.run([*command, "--scopes", str(arguments.scopes)], check=True)
        return
    model = Use()
    model.encode(["how do I get a refund", "怎么退货"])
    print(f"embedder loaded: {memory():.0f} MB")
    if arguments.part == "passing":
        asyncio.run(passing(arguments.scopes))
    else:
        asyncio.run(filled(100_000, 20_000 if arguments.part == "large" else 20))
    del model


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scopes", type=int, default=1_000_000)
    parser.add_argument("--part", choices=("large", "small", "passing"))
    main(parser.parse_args())
