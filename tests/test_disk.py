"""The disk tier: what it does with damage, with other processes, and with its bounds."""

from __future__ import annotations

import asyncio
import random
import resource
import shutil
from typing import TYPE_CHECKING

import lmdb
import msgspec
import pytest
from blake3 import blake3

from proxy.adapters.disk import tree
from proxy.adapters.disk.store import Disk
from proxy.core import wire
from proxy.core.entry import Question
from proxy.core.events import Evicted, StoreReset, TierFailed
from proxy.ports import StoreError
from tests.fakes import FakeClock
from tests.stored import NOW, alias, entry, key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from proxy.core.entry import Entry, Key
    from proxy.core.events import Event

MIB = 1 << 20


class Desk:
    """Opens and closes disks in one directory and notes their events."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data = path / "data.mdb"
        self.clock = FakeClock(NOW)
        self.events: list[Event] = []
        self._open: list[Disk] = []

    def open(self, max_bytes: int = 16 * MIB) -> Disk:
        self._open.append(Disk(self.path, max_bytes, clock=self.clock, emit=self.events.append))
        return self._open[-1]

    def close(self) -> None:
        while self._open:
            assert self._open.pop().close()

    def resets(self) -> list[str]:
        return [event.reason for event in self.events if isinstance(event, StoreReset)]

    def evicted(self, reason: str) -> int:
        evictions = (event for event in self.events if isinstance(event, Evicted))
        return sum(event.count for event in evictions if event.reason == reason)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "deep" / "cache")
    yield desk
    desk.close()


def noise(name: object, length: int) -> bytes:
    """Bytes that do not compress."""
    return blake3(str(name).encode()).digest(length)


async def fill(disk: Disk, names: range, length: int = 2000, ttl: float = 60.0) -> None:
    puts = (disk.put(entry(n, body=noise(n, length), ttl=ttl), NOW) for n in names)
    await asyncio.gather(*puts)


async def test_entries_outlive_the_process(desk: Desk) -> None:
    await fill(desk.open(), range(100))
    desk.close()
    disk = desk.open()

    assert [disk.peek(key(n), NOW) is not None for n in range(100)] == [True] * 100
    assert desk.resets() == []


async def test_nobody_else_may_read_it(desk: Desk) -> None:
    await fill(desk.open(), range(1))

    assert desk.path.stat().st_mode & 0o777 == 0o700
    modes = {path.name: path.stat().st_mode & 0o777 for path in desk.path.iterdir()}
    assert set(modes.values()) == {0o600}, modes


def content(data: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(data)

    return damage


def overwrite(at: int, data: bytes) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(data)

    return damage


def cut(share: float) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        with path.open("r+b") as file:
            file.truncate(int(path.stat().st_size * share))

    return damage


def replaced_by_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGE: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "other bytes": (content(noise("x", 100_000)), {"foreign"}),
    "a text": (content(b"no cache here"), {"foreign"}),
    "zeros": (content(bytes(100_000)), {"foreign"}),
    "half of it": (cut(0.5), {"corrupt", "foreign"}),
    "a stub": (cut(0.001), {"foreign"}),
    "both heads lost": (overwrite(0, bytes(8192)), {"foreign"}),
    "pages overwritten": (overwrite(16 * 4096, noise("y", 20 * 4096)), {"corrupt"}),
    "pages zeroed": (overwrite(16 * 4096, bytes(20 * 4096)), {"corrupt"}),
    "a directory": (replaced_by_a_directory, {"foreign"}),
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_file_that_cannot_be_read_is_set_aside(desk: Desk, damage: str) -> None:
    await fill(desk.open(), range(200))
    desk.close()
    act, reasons = DAMAGE[damage]
    act(desk.data)
    disk = desk.open()
    await disk.put(entry("new"), NOW)

    assert disk.peek(key("new"), NOW) == entry("new")
    assert disk.peek(key(1), NOW) is None
    assert len(desk.resets()) == 1
    assert set(desk.resets()) <= reasons
    assert (desk.path / "data.mdb.aside").exists()


@pytest.mark.parametrize(
    ("record", "reason"),
    [((b"format", b"hotprefix-2"), "version"), ((b"somebody", b"else's"), "foreign")],
)
async def test_a_sound_file_of_another_kind_is_set_aside(
    desk: Desk, record: tuple[bytes, bytes], reason: str
) -> None:
    desk.path.mkdir(parents=True)
    with lmdb.open(str(desk.path)) as env, env.begin(write=True) as txn:
        txn.put(*record)
    await fill(desk.open(), range(1))

    assert desk.resets() == [reason]


async def test_a_file_where_the_directory_should_be_is_set_aside(desk: Desk) -> None:
    desk.path.parent.mkdir(parents=True)
    desk.path.write_text("mine")
    await fill(desk.open(), range(1))

    assert desk.path.with_name("cache.aside").read_text() == "mine"


def test_a_place_that_cannot_be_used_is_an_error_of_the_tier(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError):
        Disk(tmp_path / "file" / "cache", MIB, clock=FakeClock(), emit=lambda _: None)


@pytest.mark.parametrize("parts", [1, 2, 3, 10])
@pytest.mark.parametrize("more", [-1, 0, 1])
async def test_values_of_every_length_come_back_and_go_whole(
    desk: Desk, parts: int, more: int
) -> None:
    """Neighbours in the order of keys are left alone."""
    disk = desk.open()
    names = sorted(range(20), key=key)
    await fill(disk, range(20))
    around = len(wire.encode(entry("x", body=noise("x", 2000)))) - 2000
    long = entry(names[7], body=noise("long", parts * tree.PART - around + more), ttl=90.0)
    short = entry(names[7], NOW + 1.0)
    await disk.put(long, NOW)
    found = disk.peek(long.key, NOW)
    await disk.put(short, NOW)

    assert found == long
    assert disk.peek(long.key, NOW) == short
    assert all(disk.peek(key(n), NOW) is not None for n in names)
    await disk.put(msgspec.structs.replace(long, asked=NOW + 2.0), NOW)
    assert await disk.delete(long.key)
    assert disk.peek(long.key, NOW) is None
    assert disk.stats().entries == 19
    await disk.tend(NOW + 100.0)
    assert disk.stats().bytes <= 3 * 4096


async def test_what_is_large_is_not_unpacked_in_passing(desk: Desk) -> None:
    """Unpacking some megabytes takes a tenth of a second, in which nobody else is served."""
    disk, large = desk.open(), entry("large", body=noise("large", 2 * MIB))
    await disk.put(entry("small"), NOW)
    await disk.put(large, NOW)

    assert disk.peek(key("small"), NOW) == entry("small")
    assert disk.peek(key("large"), NOW) is None
    assert await disk.get(key("large"), NOW) == large


async def test_of_several_those_are_found_that_are_there_and_alive(desk: Desk) -> None:
    disk, large = desk.open(), entry("large", body=noise("large", 2 * MIB))
    await disk.put_all((entry("a"), large, alias("b", "a"), entry("old", ttl=1.0)), NOW)

    names = [key(name) for name in ("none", "large", "b", "old", "a")]
    found = await disk.get_all(names, NOW + 1.0)
    assert found == {large.key: large, key("b"): alias("b", "a"), key("a"): entry("a")}


async def test_values_that_do_not_prove_themselves_are_misses(desk: Desk) -> None:
    """An older version, bytes of nobody, nothing, and a whole entry under another's key."""
    good = wire.encode(entry("good"))
    values = {"old": b"\x00" + good[1:], "noise": noise("z", 300), "empty": b"", "other": good}
    await fill(desk.open(), range(3))
    desk.close()
    with lmdb.open(str(desk.path), max_dbs=2, map_size=16 * MIB) as env:
        entries = env.open_db(b"entries")
        with env.begin(write=True, db=entries) as txn:
            for name, data in values.items():
                txn.put(key(name), data)
    disk = desk.open()
    found = [disk.peek(key(name), NOW) for name in values]
    for name in values:
        await disk.put(entry(name), NOW)

    assert found == [None] * 4
    assert [disk.peek(key(name), NOW) for name in values] == [entry(name) for name in values]
    await disk.tend(NOW + 61.0)
    assert disk.stats().entries == 0


async def test_the_file_stays_within_its_bound_and_drops_what_expires_soonest(desk: Desk) -> None:
    disk = desk.open(8 * MIB)
    for batch in range(20):
        names = range(batch * 100, batch * 100 + 100)
        await fill(disk, names, length=10_000, ttl=10_000.0 - batch)
        assert desk.data.stat().st_size <= 8 * MIB
    survivors = [n for n in range(2000) if disk.peek(key(n), NOW) is not None]

    assert disk.stats().bytes <= 8 * MIB * 0.95
    assert desk.evicted("size") == 2000 - len(survivors)
    assert survivors[:450] == list(range(450))


async def test_a_bound_that_was_lowered_is_kept(desk: Desk) -> None:
    await fill(desk.open(16 * MIB), range(600), length=10_000)
    desk.close()
    disk = desk.open(4 * MIB)
    await fill(disk, range(600), length=10_000)

    assert desk.resets() == ["size"]
    assert desk.data.stat().st_size <= 4 * MIB
    assert not (desk.path / "data.mdb.aside").exists()


async def test_an_entry_too_large_for_the_file_is_refused_and_drives_out_nobody(
    desk: Desk,
) -> None:
    disk = desk.open(4 * MIB)
    await fill(disk, range(100))
    large = disk.put(entry("large", body=noise("l", 5 * MIB)), NOW)
    small = disk.put(entry("small"), NOW)
    results = await asyncio.gather(large, small, return_exceptions=True)

    assert isinstance(results[0], StoreError)
    assert results[1] is True
    assert disk.stats().entries == 101


async def test_a_full_file_takes_a_large_value_without_losing_all_others(desk: Desk) -> None:
    disk = desk.open(8 * MIB)
    for n in range(26):
        await fill(disk, range(n * 100, n * 100 + 100), length=3000 + 700 * (n % 7))
        await disk.put(entry(("large", n), body=noise(n, 2 * MIB)), NOW)
        assert await disk.get(key(("large", n)), NOW) is not None
        assert disk.stats().bytes > (4 * MIB if n > 8 else 0)

    assert desk.data.stat().st_size <= 8 * MIB


async def test_a_file_of_somebody_else_is_not_deleted_for_its_size(desk: Desk) -> None:
    desk.path.mkdir(parents=True)
    desk.data.write_bytes(b"precious" * MIB)
    desk.open(4 * MIB)

    assert (desk.path / "data.mdb.aside").read_bytes() == b"precious" * MIB


async def test_what_has_expired_is_swept(desk: Desk) -> None:
    disk = desk.open()
    await fill(disk, range(600))
    await fill(disk, range(600, 700), ttl=61.5)
    await disk.tend(NOW + 61.0)

    assert disk.stats().entries == 100
    assert desk.evicted("expired") == 600
    await disk.tend(NOW + 62.0)
    assert disk.stats().entries == 0


async def test_nothing_is_swept_before_its_time(desk: Desk) -> None:
    disk = desk.open()
    await disk.put(entry("a", ttl=60.0007), NOW)
    await disk.tend(NOW + 60.0005)

    assert disk.stats().entries == 1


async def test_an_entry_stored_anew_is_not_swept_by_its_former_expiry(desk: Desk) -> None:
    disk = desk.open()
    await disk.put(entry("a"), NOW)
    await disk.put(entry("a", NOW + 30.0), NOW + 30.0)
    await disk.tend(NOW + 61.0)

    assert disk.peek(key("a"), NOW + 61.0) == entry("a", NOW + 30.0)
    assert desk.evicted("expired") == 0


async def test_an_entry_that_replaced_a_torn_one_is_not_swept_by_that_ones_expiry(
    desk: Desk,
) -> None:
    await desk.open().put(entry("a"), NOW)
    desk.close()
    with lmdb.open(str(desk.path), max_dbs=2, map_size=16 * MIB) as env:
        entries = env.open_db(b"entries")
        with env.begin(write=True, db=entries) as txn:
            txn.put(key("a"), b"torn")
    disk = desk.open()
    await disk.put(entry("a", NOW + 30.0), NOW + 30.0)
    await disk.tend(NOW + 61.0)

    assert disk.peek(key("a"), NOW + 61.0) == entry("a", NOW + 30.0)


async def test_the_loop_sweeps_and_outlives_a_failure(desk: Desk) -> None:
    disk = desk.open()
    await fill(disk, range(10))
    async with asyncio.TaskGroup() as group:
        loop = group.create_task(disk.run())
        await asyncio.sleep(0)
        desk.clock.advance(61.0)
        async with asyncio.timeout(5):
            while disk.stats().entries:  # noqa: ASYNC110  # a thread does it, which sets no event
                await asyncio.sleep(0.001)
            desk.close()
            while not any(isinstance(event, TierFailed) for event in desk.events):
                desk.clock.advance(1.0)
                await asyncio.sleep(0)
        assert not loop.done()
        loop.cancel()


async def test_a_directory_deleted_under_us_is_made_anew(desk: Desk) -> None:
    disk = desk.open()
    await fill(disk, range(10))
    shutil.rmtree(desk.path)
    await disk.tend(NOW)
    await disk.put(entry("new"), NOW)

    assert disk.peek(key("new"), NOW) == entry("new")
    assert desk.data.exists()


async def test_a_file_is_read_while_it_is_opened_anew(desk: Desk) -> None:
    """By the loop and the writer's thread at once: between the two files there is none."""
    disk, one = desk.open(), entry("one")
    await disk.put(one, NOW)

    def renew() -> None:
        for _ in range(50):
            disk._file.renew()

    anew, found = asyncio.create_task(asyncio.to_thread(renew)), []
    while not anew.done():
        found.append(disk.peek(one.key, NOW))
        await asyncio.sleep(0)
    await anew

    assert set(found) == {one}


async def test_a_disk_that_takes_no_more_is_an_error_until_it_does(desk: Desk) -> None:
    disk = desk.open()
    await fill(disk, range(10))
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (desk.data.stat().st_size, hard))
    try:
        with pytest.raises(StoreError):
            await disk.put(entry("a", body=noise("a", MIB)), NOW)
        assert disk.peek(key(1), NOW) is not None
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await disk.put(entry("a", body=noise("a", MIB)), NOW)

    assert await disk.get(key("a"), NOW) is not None


async def test_a_value_without_an_encoding_fails_alone(desk: Desk) -> None:
    disk = desk.open()
    bad = disk.put(entry("bad", headers=(("x", "\udcff"),)), NOW)
    results = await asyncio.gather(bad, disk.put(entry("good"), NOW), return_exceptions=True)

    assert isinstance(results[0], StoreError)
    assert disk.peek(key("good"), NOW) == entry("good")


async def test_more_than_may_wait_is_refused(desk: Desk) -> None:
    disk = desk.open()
    body = bytes(10 * MIB)
    puts = [disk.put(entry(n, body=body), NOW) for n in range(10)]
    results = await asyncio.gather(*puts, return_exceptions=True)

    assert [isinstance(result, StoreError) for result in results] == [False] * 6 + [True] * 4
    await disk.put(entry("later"), NOW)


async def test_a_put_given_up_on_leaves_the_others_alone(desk: Desk) -> None:
    disk = desk.open()
    first = asyncio.ensure_future(disk.put(entry(1), NOW))
    second = asyncio.ensure_future(disk.put(entry(2), NOW))
    await asyncio.sleep(0)
    first.cancel()
    await second

    assert disk.peek(key(2), NOW) == entry(2)


async def test_what_waits_when_it_is_closed_is_still_written(desk: Desk) -> None:
    disk = desk.open()
    waiting = asyncio.ensure_future(disk.put(entry("a"), NOW))
    await asyncio.sleep(0)
    desk.close()
    await waiting
    with pytest.raises(StoreError):
        await disk.put(entry("b"), NOW)

    assert desk.open().peek(key("a"), NOW) == entry("a")


async def test_several_are_put_at_once_each_with_its_own_result(desk: Desk) -> None:
    disk = desk.open()
    await disk.put(entry(2, NOW + 1.0), NOW)
    together = disk.put_all([entry(n) for n in (1, 2, 3)], NOW)
    kept, alone = await asyncio.gather(together, disk.put(entry(4), NOW))

    assert (kept, alone) == ([True, False, True], True)
    assert [disk.peek(key(n), NOW) for n in (1, 2)] == [entry(1), entry(2, NOW + 1.0)]


async def test_any_number_is_put_at_once(desk: Desk) -> None:
    disk = desk.open()

    assert await disk.put_all([], NOW) == []
    assert await disk.put_all([entry(n) for n in range(600)], NOW) == [True] * 600
    assert disk.stats().entries == 600


ASKED = Question(key("scope"), "how do I get a refund", "use:1", b"\0" * 1024)


async def scanned(disk: Disk) -> dict[Key, Entry]:
    return {one.key: one async for some in disk.scan.questions(NOW) for one in some}


@pytest.mark.parametrize("size", [10, 20_000])
async def test_entries_with_questions_are_found_among_all_others(desk: Desk, size: int) -> None:
    """Also where a value takes several pages, and beyond one portion."""
    disk = desk.open(64 * MIB)
    asked = [entry(n, question=ASKED, body=random.Random(n).randbytes(size)) for n in range(300)]
    others = [entry(f"plain {n}") for n in range(300)]
    aliases = [alias(f"alias {n}", n) for n in range(10)]
    await disk.put_all([*asked, *others, *aliases], NOW)

    assert await scanned(disk) == {one.key: one for one in asked}


async def test_what_has_expired_is_not_among_them(desk: Desk) -> None:
    disk = desk.open()
    await disk.put(entry("old", NOW - 30, question=ASKED, ttl=10.0), NOW - 30)
    await disk.put(entry("new", question=ASKED), NOW)

    assert list(await scanned(disk)) == [key("new")]


async def test_an_empty_disk_has_none(desk: Desk) -> None:
    assert await scanned(desk.open()) == {}
