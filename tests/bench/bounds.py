"""A million distinct tenants, keys, models and flights: does what remembers them stay bounded?

    python -m tests.bench.bounds                    # about five minutes
    python -m tests.bench.bounds --names 100000

One line for each class: how many it holds in the end, how many it may, and by how much the
process has grown. The growth of a later line is smaller where an earlier one has left room.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from blake3 import blake3

from proxy.adapters.door.lane import Known, Lane
from proxy.adapters.log import MAX_WAITING, Log
from proxy.adapters.memory import Memory
from proxy.adapters.redis.filter import Filter
from proxy.adapters.redis.leases import RedisLeases
from proxy.adapters.redis.purges import MOST, Teller
from proxy.backlog import LIMIT, Backlog
from proxy.config import Breaker
from proxy.core.breaker import Breakers
from proxy.core.debts import Debts
from proxy.core.entry import Key, Tenant
from proxy.core.events import BreakerMoved, Served
from proxy.core.fair import Fair
from proxy.core.limiter import Limiter
from proxy.core.quota import Quota
from proxy.core.resting import Resting
from proxy.demand import Demand
from proxy.flights import Flights
from proxy.marks import Marks
from proxy.memo import Memo
from proxy.ports import StoreError
from proxy.quotas import Quotas
from proxy.renders import Renders
from proxy.sharing import Sharing
from proxy.tier import Tier
from tests import answers
from tests.asking import RULES, arrival, chat, lookup
from tests.fakes import FakeClock, FakeLeases, FakePeers, FakeStore
from tests.stored import NOW, entry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from proxy.core.events import Event
    from proxy.flight import Flight

LOOKUP: Final = lookup(arrival(chat()))
STREAMED: Final = lookup(arrival(chat(stream=True)))
EVENTS: Final = b"".join(answers.chat_events(["hello"], usage=answers.USAGE))
_MOST: Final = 65536


class Redis:
    """A Redis that takes everything and keeps nothing; or takes nothing."""

    def __init__(self, *, working: bool = True) -> None:
        self.working = working
        self.token = 0

    silent = False

    def name(self, tag: bytes | str, kind: str) -> bytes:
        return b"%b:%b" % (tag.encode() if isinstance(tag, str) else tag, kind.encode())

    async def script(
        self,
        text: str,
        keys: Sequence[bytes],
        args: Sequence[bytes | str | int | float],
        *,
        write: bool = False,
    ) -> Any:
        if not self.working:
            raise StoreError("redis", "is away")
        self.token += 1
        return self.token


def named(number: int) -> Key:
    return Key(number.to_bytes(32, "big"))


def _unheard(event: Event) -> None:
    """Nobody listens."""


async def memo(names: int) -> tuple[int, int]:
    known = Memo(RULES, 16384)
    for number in range(names):
        known.put(named(number), LOOKUP)
    return len(known._known), 16384


async def lane(names: int) -> tuple[int, int]:
    reports: Any = None  # nothing is answered
    fast = Lane(lambda *_: None, reports, 16384, lambda *_: None)
    for number in range(names):
        fast.learn(named(number), Known(LOOKUP, "chat/completions", None, 100))
    return len(fast._known), 16384


async def marks(names: int) -> tuple[int, int]:
    marked = Marks(_MOST, FakeClock(), 120.0)
    for number in range(names):
        marked.set(named(number))
    return len(marked), _MOST


async def quotas(names: int) -> tuple[int, int]:
    """Tenants' buckets of both kinds, and what is to be told of them while nobody can be told."""
    clock = FakeClock()
    limits = Quotas(Quota(60, 1000), {}, clock=clock, emit=_unheard)
    for number in range(names):
        tenant = Tenant(number.to_bytes(16, "big"))
        limits.ask(tenant)
        limits.settle(tenant, limits.reserve(tenant, 10), 20)
    return len(limits._buckets) + len(limits._spent), 400_000


async def breakers(names: int) -> tuple[int, int]:
    """Each model fails until its breaker opens."""
    kept = Breakers(Breaker(min_calls=1), lambda *_: None)
    for number in range(names):
        model = f"model-{number}"
        kept.end("gpu", model, kept.begin("gpu", model), "failure", slow=False, mono=1.0)
        kept.end("gpu", model, kept.begin("gpu", model), "failure", slow=False, mono=1.0)
    return len(kept._kept) + len(kept._tripped), 2 * 4096


async def resting(names: int) -> tuple[int, int]:
    rests = Resting()
    for number in range(names):
        rests.rest("gpu", f"model-{number}", b"", 60.0)
    return len(rests._until), 4096


async def limiter(names: int) -> tuple[int, int]:
    limit = Limiter(100, adaptive=True)
    for number in range(names):
        limit.sample(f"model-{number}", 0.1, 1, float(number))
    return len(limit._usual), 64


async def queue(names: int) -> tuple[int, int]:
    waiting = Fair[int](1000)
    for number in range(names // 10):
        waiting.push(number.to_bytes(16, "big"), number)
    return len(waiting) + len(waiting._lines), 2000


async def flights(names: int) -> tuple[int, int]:
    """Each flies, is read by one, and is over."""
    flying = Flights(_unheard, limit=1 << 20)

    async def fly(flight: Flight) -> None:
        flight.land()

    for start in range(0, names // 10, 100):
        readers = [flying.join((named(number), 0), fly)[0] for number in range(start, start + 100)]
        await flying.drain()
        for reader in readers:
            await reader.aclose()
    return len(flying) + len(flying._tasks), 0


async def leases(names: int) -> tuple[int, int]:
    """Taken and given back; and taken while Redis is away, so that nobody knows."""
    held = RedisLeases(Redis(), "here:1", FakeLeases({}, "here", FakeClock()), clock=FakeClock())
    away = RedisLeases(
        Redis(working=False), "here:1", FakeLeases({}, "here", FakeClock()), clock=FakeClock()
    )
    for number in range(names // 10):
        name = named(number) + bytes(8)
        for one in (held, away):
            await one.acquire(name)
            await one.release(name)
    kept = [len(one._held) + len(one._strays) for one in (held, away)]
    return sum(kept), 2 * 4096


async def owners(names: int) -> tuple[int, int]:
    sharing = Sharing(FakeLeases({}, "here", FakeClock()), FakePeers(None), FakeClock())
    for number in range(names):
        sharing._estrange(f"10.0.0.1:{number}")
    return len(sharing._estranged), 256


async def renders(names: int) -> tuple[int, int]:
    """Bytes."""
    made = Renders(1 << 20, zero_usage=False)
    for number in range(names // 10):
        kept = entry(number, key=named(number), form="events", body=EVENTS)
        made.get(kept, LOOKUP.request)
    return made._bytes, 1 << 20


async def memory(names: int) -> tuple[int, int]:
    """Bytes."""
    held = Memory(16 << 20, ttl=300.0)
    for number in range(names):
        held.keep(entry(0, key=named(number)), NOW)
    return held.stats().bytes, 16 << 20


async def demand(names: int) -> tuple[int, int]:
    """Keys that a demanding tier is known to have been given or asked for."""
    clock = FakeClock(NOW)
    tier = Tier("objects", FakeStore(), worthy=lambda _: True)
    wanted = Demand(tier, (), clock, _unheard, Backlog(_unheard, 0))
    for number in range(names // 10):
        key = named(number)
        wanted.used(entry(0, key=key))
        await wanted.read([key], [key], NOW, sure=True)
    return len(wanted._uses) + len(wanted._absent) + len(wanted._looked), 3 * _MOST


async def debts(names: int) -> tuple[int, int]:
    owed = Debts(10_000)
    for number in range(names):
        owed.owe(named(number), NOW)
    return len(owed), 10_000


async def sieve(names: int) -> tuple[int, int]:
    """Keys that are still to be told to the fleet; the filter's bits are as many as ever."""
    link: Any = Redis(working=False)
    known = Filter(link, 1 << 20, 3600.0, tag="entries", clock=FakeClock(NOW))
    for number in range(names):
        known.added(Key(blake3(named(number)).digest()))
    return len(known._untold), 16384


async def purges(names: int) -> tuple[int, int]:
    """While Redis is away, and while it takes them."""
    told, untold = (
        Teller(Redis(working=working), b"purges", FakeClock()) for working in (True, False)
    )
    for number in range(names // 10):
        told.add((named(number), NOW))
        untold.add((named(number), NOW))
        await told.tell()
    return sum(len(one._told) + len(one._waiting) + len(one._unread) for one in (told, untold)), (
        4 * MOST
    )


async def backlog(names: int) -> tuple[int, int]:
    behind = Backlog(_unheard)
    stuck = asyncio.Event()

    async def work() -> None:
        await stuck.wait()

    for _ in range(names // 10):
        behind.add(work())
    most = len(behind)
    await behind.aclose()
    return most + len(behind), LIMIT


async def log(names: int) -> tuple[int, int]:
    """Models and request ids that clients chose, and nobody who reads."""
    lines = Log(os.open(os.devnull, os.O_WRONLY), lambda: NOW)
    for number in range(names // 10):
        lines(Served(model=f"model-{number}", request_id=f"req-{number}"))
        lines(BreakerMoved("gpu", f"model-{number}", "open"))
    return len(lines._waiting) + len(lines._lines) + len(lines._told), MAX_WAITING + 100


CASES: Final[dict[str, Callable[[int], Awaitable[tuple[int, int]]]]] = {
    case.__name__: case
    for case in (
        *(memo, lane, marks, quotas, breakers, resting, limiter, queue, flights, leases, owners),
        *(renders, memory, demand, debts, sieve, purges, backlog, log),
    )
}
"""Each takes how many names there are, a tenth of them where one costs more than the others; and
tells how much it holds, and how much it may."""


def resident() -> int:
    """Bytes of memory that this process has resident now."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--names", type=int, default=1_000_000)
    options = parser.parse_args()
    failed = False
    for name, case in CASES.items():
        gc.collect()
        before, began = resident(), time.perf_counter()
        held, most = asyncio.run(_called(case, options.names))
        grown, seconds = (resident() - before) / (1 << 20), time.perf_counter() - began
        print(f"{name:9} {held:8} of {most:8} {grown:+7.1f} MiB {seconds:6.1f} s", flush=True)
        failed = failed or held > most
    return int(failed)


async def _called(case: Callable[[int], Awaitable[tuple[int, int]]], names: int) -> tuple[int, int]:
    return await case(names)


if __name__ == "__main__":
    sys.exit(main())
