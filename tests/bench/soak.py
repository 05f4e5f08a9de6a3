"""A day of puts and expiry at a simulated clock: do the tiers stay within their bounds?

    python -m tests.bench.soak                    # ten million puts, about ten minutes
    python -m tests.bench.soak --puts 100000      # the same day with fewer puts

One line is printed for each simulated hour. Any breach of a bound ends it with an error.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from blake3 import blake3

from proxy.adapters.disk.store import Disk
from proxy.adapters.memory import Memory
from proxy.core.events import Evicted
from tests.fakes import FakeClock
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.entry import Entry
    from proxy.core.events import Event

DAY = 86_400
STEP = 30
"""Simulated seconds from sweep to sweep; the gateway sweeps every second."""
TTLS = (60.0, 600.0, 3600.0, 6 * 3600.0, 24 * 3600.0)
HEAD = f"{'hour':>4} {'puts':>9} | {'entries':>7} {'MiB':>6} {'evicted':>9} | {'entries':>7} " + (
    f"{'used MiB':>8} {'file MiB':>8} {'expired':>9} {'evicted':>9} | {'found':>6} {'own MiB':>7}"
)


class BreachError(AssertionError):
    """A bound that was not kept, or an entry that should not have been found."""


class Hour(NamedTuple):
    """The state at the end of a simulated hour: bytes, and counts from the start."""

    hour: int
    puts: int
    memory_entries: int
    memory_bytes: int
    memory_evicted: int
    disk_entries: int
    disk_bytes: int
    file_bytes: int
    expired: int
    evicted: int
    found: int
    anonymous: int

    def __str__(self) -> str:
        mib = 1 << 20
        return (
            f"{self.hour:4} {self.puts:9} | {self.memory_entries:7} {self.memory_bytes / mib:6.1f} "
            f"{self.memory_evicted:9} | {self.disk_entries:7} {self.disk_bytes / mib:8.1f} "
            f"{self.file_bytes / mib:8.1f} {self.expired:9} {self.evicted:9} | {self.found:6} "
            f"{self.anonymous / mib:7.1f}"
        )


class Day:
    """Puts spread evenly over a day, under keys that return, with bodies and lives of all sizes."""

    def __init__(
        self, path: Path, puts: int, memory_bytes: int, disk_bytes: int, step: int = STEP
    ) -> None:
        """`step` divides an hour."""
        self._puts = puts
        self._step = step
        self._names = max(1, puts // 5)
        self._bounds = memory_bytes, disk_bytes
        self._data = path / "data.mdb"
        self._clock = FakeClock(NOW)
        self._gone = {"expired": 0, "size": 0}
        self._memory = Memory(memory_bytes, ttl=300.0)
        self._disk = Disk(path, disk_bytes, clock=self._clock, emit=self._note)
        self._chance = random.Random(1)
        self._done = self._found = 0

    async def pass_by(self, say: Callable[[Hour], None]) -> list[Hour]:
        """The whole day, then another in which nothing is put. Raises: BreachError."""
        hours = []
        for second in range(0, DAY, self._step):
            await self._put(second)
            if (second + self._step) % 3600 == 0:
                hours.append(self._look((second + self._step) // 3600))
                say(hours[-1])
        self._clock.advance(DAY + self._step)
        self._memory.keep(self._entry(), self._clock.now())
        await self._disk.tend(self._clock.now())
        hours.append(self._look(48))
        say(hours[-1])
        if hours[-1].disk_entries or not self._disk.close():
            raise BreachError("what had expired was not swept")
        return hours

    async def _put(self, second: int) -> None:
        target = self._puts * (second + self._step) // DAY
        while self._done < target:
            count = min(256, target - self._done)
            now = self._clock.now()
            batch = [self._entry() for _ in range(count)]
            for one in batch:
                self._memory.keep(one, now)
            await asyncio.gather(*(self._disk.put(one, now) for one in batch))
            self._done += count
            self._check(now)
        self._clock.advance(self._step)
        await self._disk.tend(self._clock.now())

    def _entry(self) -> Entry:
        name = self._chance.randrange(self._names)
        body = _body(name, int(self._chance.paretovariate(1.2) * 300) % 60_000)
        return entry(name, self._clock.now(), body=body, ttl=self._chance.choice(TTLS))

    def _check(self, now: float) -> None:
        """A few look-ups: what is found is alive and what was put."""
        for _ in range(8):
            name = self._chance.randrange(self._names)
            for found in (self._memory.peek(key(name), now), self._disk.peek(key(name), now)):
                if found is None:
                    continue
                self._found += 1
                body = getattr(found, "body", b"")
                if found.expires <= now or body != _body(name, len(body)):
                    raise BreachError(f"a wrong entry for {name}")

    def _look(self, hour: int) -> Hour:
        memory, disk = self._memory.stats(), self._disk.stats()
        size = self._data.stat().st_size
        if memory.bytes > self._bounds[0] or size > self._bounds[1]:
            raise BreachError(f"memory {memory.bytes}, file {size}")
        return Hour(
            hour,
            self._done,
            memory_entries=memory.entries,
            memory_bytes=memory.bytes,
            memory_evicted=memory.evictions,
            disk_entries=disk.entries,
            disk_bytes=disk.bytes,
            file_bytes=size,
            expired=self._gone["expired"],
            evicted=self._gone["size"],
            found=self._found,
            anonymous=_anonymous(),
        )

    def _note(self, event: Event) -> None:
        if isinstance(event, Evicted):
            self._gone[event.reason] += event.count


def _anonymous() -> int:
    """Bytes of this process's own memory; the mapped file's pages are the kernel's to take."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) * 1024


def _body(name: int, length: int) -> bytes:
    """Half of it shrinks, as texts do."""
    half = blake3(name.to_bytes(8, "big")).digest(length - length // 2)
    return (
        half
        + b"the same words again and again. "[:32] * (length // 64)
        + bytes(length // 2 - 32 * (length // 64))
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--puts", type=int, default=10_000_000)
    parser.add_argument("--memory-mib", type=int, default=64)
    parser.add_argument("--disk-mib", type=int, default=512)
    options = parser.parse_args()
    print(HEAD)
    with tempfile.TemporaryDirectory() as directory:
        day = Day(
            Path(directory) / "cache",
            options.puts,
            options.memory_mib << 20,
            options.disk_mib << 20,
        )
        asyncio.run(day.pass_by(lambda hour: print(hour, flush=True)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
