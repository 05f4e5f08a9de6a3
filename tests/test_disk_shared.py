"""The disk tier used by several processes at once, some of which die."""

from __future__ import annotations

import asyncio
import fcntl
import threading
from typing import TYPE_CHECKING

import pytest
from blake3 import blake3

from proxy.adapters.disk.store import Disk
from proxy.core.events import StoreReset
from proxy.ports import StoreError
from tests.fakes import FakeClock
from tests.offspring import Offspring
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from pathlib import Path

MIB = 1 << 20

PRELUDE = """
import asyncio, sys
from blake3 import blake3
from proxy.adapters.disk.store import Disk
from proxy.core.events import StoreReset
from tests.fakes import FakeClock
from tests.stored import NOW, entry, key

def said(event):
    if isinstance(event, StoreReset):
        print("reset", event.reason, flush=True)

def noise(name, length):
    return blake3(str(name).encode()).digest(length)

def opened(mib=64):
    return Disk(sys.argv[1], mib << 20, clock=FakeClock(NOW), emit=said)
"""

WRITES_WITHOUT_END = (
    PRELUDE
    + """
async def main():
    disk, n = opened(), 0
    while True:
        puts = (disk.put(entry(m, body=noise(m, 3000)), NOW) for m in range(n, n + 200))
        await asyncio.gather(*puts)
        n += 200
        print(n, flush=True)

asyncio.run(main())
"""
)

OPENS_AND_WRITES = (
    PRELUDE
    + """
async def main():
    disk = opened()
    await asyncio.gather(*(disk.put(entry((sys.argv[2], m)), NOW) for m in range(100)))
    assert all(disk.peek(key((sys.argv[2], m)), NOW) for m in range(100))
    assert disk.close()

asyncio.run(main())
"""
)

FILLS = (
    PRELUDE
    + """
async def main():
    disk = opened()
    for n in range(0, 2000, 200):
        puts = (disk.put(entry(m, body=noise(m, 10_000)), NOW) for m in range(n, n + 200))
        await asyncio.gather(*puts)
    print("filled", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""
)

HOLDS_THE_WRITE_LOCK = (
    PRELUDE
    + """
import lmdb
env = lmdb.open(sys.argv[1], map_size=64 << 20, max_dbs=2)
txn = env.begin(write=True)
txn.put(b"half", b"done")
print("holding", flush=True)
sys.stdin.read()
"""
)

READS_FOR_EVER = (
    PRELUDE
    + """
import lmdb
env = lmdb.open(sys.argv[1], map_size=64 << 20, max_dbs=2)
txn = env.begin()
print("reading", flush=True)
sys.stdin.read()
"""
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def opened(path: Path, resets: list[str] | None = None, max_bytes: int = 64 * MIB) -> Disk:
    def said(event: object) -> None:
        if isinstance(event, StoreReset) and resets is not None:
            resets.append(event.reason)

    return Disk(path, max_bytes, clock=FakeClock(NOW), emit=said)


@pytest.mark.parametrize("kill", range(3))
def test_a_process_killed_while_it_writes_leaves_the_file_whole(path: Path, kill: int) -> None:
    resets: list[str] = []
    with Offspring(WRITES_WITHOUT_END, path) as child:
        written = [int(child.line()) for _ in range(2 + kill)][-1]
        child.kill()
    disk = opened(path, resets)

    assert [disk.peek(key(n), NOW) is not None for n in range(written)] == [True] * written
    assert resets == []
    disk.close()


async def test_a_process_killed_while_it_holds_the_write_lock_stops_nobody(path: Path) -> None:
    disk = opened(path)
    with Offspring(HOLDS_THE_WRITE_LOCK, path) as child:
        assert child.line() == "holding"
        waiting = asyncio.ensure_future(disk.put(entry("a"), NOW))
        await asyncio.sleep(0.01)
        assert disk.peek(key("a"), NOW) is None
        child.kill()
        await waiting

    assert disk.peek(key("a"), NOW) == entry("a")
    disk.close()


async def test_what_a_killed_process_was_reading_does_not_fill_the_file(path: Path) -> None:
    disk = opened(path, max_bytes=8 * MIB)
    await disk.put(entry("first"), NOW)
    with Offspring(READS_FOR_EVER, path) as child:
        assert child.line() == "reading"
        child.kill()
    for now in range(60):
        body = blake3(bytes([now])).digest(20_000)
        puts = (disk.put(entry(n, NOW + now, body=body), NOW + now) for n in range(50))
        await asyncio.gather(*puts)

    assert (path / "data.mdb").stat().st_size <= 8 * MIB
    assert disk.peek(key(49), NOW + 59) is not None
    disk.close()


@pytest.mark.parametrize("before", ["nothing", "damage"])
def test_several_processes_may_open_it_at_once(path: Path, before: str) -> None:
    if before == "damage":
        path.mkdir()
        (path / "data.mdb").write_bytes(b"damage" * 10_000)
    children = [Offspring(OPENS_AND_WRITES, path, n) for n in range(4)]
    said = [child.line() for child in children]
    codes = [child.finish() for child in children]
    disk = opened(path)

    assert codes == [0] * 4
    assert sorted(said) == (["", "", "", "reset foreign"] if before == "damage" else [""] * 4)
    assert disk.stats().entries == 400
    disk.close()


def test_who_opens_waits_for_who_is_opening(path: Path) -> None:
    """So that nobody sets aside what another one has just begun."""
    path.mkdir()
    made: list[Disk] = []
    with (path / "opening").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        thread = threading.Thread(target=lambda: made.append(opened(path)))
        thread.start()
        thread.join(0.2)
        assert not made
    thread.join()

    assert made[0].close()


def test_all_processes_find_what_one_has_put(path: Path) -> None:
    disk = opened(path)
    with Offspring(OPENS_AND_WRITES, path, "other") as child:
        assert child.finish() == 0

    assert disk.peek(key(("other", 7)), NOW) == entry(("other", 7))
    disk.close()


async def test_a_file_that_another_process_made_larger_is_followed(path: Path) -> None:
    disk = opened(path, max_bytes=4 * MIB)
    with Offspring(FILLS, path) as child:
        assert child.line() == "filled"
        with pytest.raises(StoreError):
            disk.peek(key(1999), NOW)
        with pytest.raises(StoreError):
            await disk.put(entry("a"), NOW)
        await disk.tend(NOW)

        assert disk.peek(key(1999), NOW) is not None
    disk.close()
