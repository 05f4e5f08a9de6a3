"""How long a semantic process that starts takes to know what the disk tier has, and what it weighs.

python -m tests.bench.semantic_rebuild [--entries 100000]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import numpy as np

from proxy.adapters.clock import SystemClock
from proxy.adapters.disk.store import Disk
from proxy.comparing import compared
from proxy.config import parse
from proxy.core.entry import Key, Question
from semantic.form import Forms
from semantic.reading import read
from semantic.settings import Terms
from tests.e2e.meaning import semantic, until
from tests.gateway import Gateway, toml
from tests.stored import entry, key

SETTINGS = {
    "semantic": {"mode": "on", "min_similarity": 0.95, "max_entries_per_scope": 100_000},
    "cache": {"disk": {"max_bytes": "4GiB"}},
}
FORMS = Forms(compared(parse(toml(SETTINGS)), {}))
_SCOPES = 500
_PART = 1000


async def main(size: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        gateway = Gateway(Path(folder) / "gateway", "http://127.0.0.1:9/v1", SETTINGS)
        await filled(gateway.disk, size)
        start = time.perf_counter()
        gateway.start()
        served = time.perf_counter() - start
        try:
            await until(lambda: gateway.metrics()["hotprefix_semantic_entries"] >= size)
            taken = time.perf_counter() - start
            resident = await asyncio.to_thread(weighed, semantic(gateway))
        finally:
            gateway.stop()
    print(f"{size} questions: the gateway served after {served:.1f} s; its semantic process, model")
    print(f"loaded, knew all after {taken:.1f} s, and has {resident:.0f} MB resident")


def weighed(pid: int) -> float:
    """MB of memory that a process has resident."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


async def filled(path: Path, size: int) -> None:
    """A disk tier with so many answers to questions in some hundred scopes."""
    clock = SystemClock()
    disk = Disk(path, 4 << 30, clock=clock, emit=lambda event: None)
    now, draw = clock.now(), np.random.default_rng(1)
    for begin in range(0, size, _PART):
        rows = draw.standard_normal((_PART, 512)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        some = [
            entry(
                begin + n,
                now,
                ttl=86400.0,
                question=Question(
                    Key(key(f"scope {n % _SCOPES}")),
                    f"what is the best way to store number {begin + n}",
                    "use:0.2.1:512",
                    row.astype("<f2").tobytes(),
                    FORMS.of(read(f"what is the best way to store number {begin + n}", Terms())),
                ),
            )
            for n, row in enumerate(rows)
        ]
        await disk.put_all(some, now)
    disk.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    asyncio.run(main(parser.parse_args().entries))
