"""The object tier, in a folder and on a real S3 endpoint."""

from __future__ import annotations

import asyncio
import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from proxy.adapters.objects.place import Place, Seen, checked
from proxy.adapters.objects.store import Objects
from proxy.coder import Coder, SealError
from proxy.config import ConfigError
from proxy.core import wire
from proxy.core.events import Evicted
from proxy.ports import StoreError
from tests.aws_server import AwsServer
from tests.fakes import FakeClock, settle
from tests.offspring import Offspring
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from proxy.core.entry import Entry
    from proxy.core.events import Event

PATIENCE = 10.0
HOUR = 3600.0


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsServer]:
    with AwsServer(tmp_path_factory.mktemp("aws")) as server:
        yield server


buckets = itertools.count()


@pytest.fixture
def bucket(aws: AwsServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """A fresh one on a real endpoint, that the environment leads to."""
    for name, value in aws.environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"bucket-{next(buckets)}"
    aws.client("s3").create_bucket(Bucket=bucket)
    return f"s3://{bucket}/some/where"


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.timeout(60))])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "folder":
        return f"file://{tmp_path}/some/where"
    found: str = request.getfixturevalue("bucket")
    return found


def objects(url: str, **changes: Any) -> Objects:
    return Objects(
        url,
        **{"timeout": PATIENCE, "clock": FakeClock(NOW), "emit": lambda _: None, **changes},
    )


async def names(url: str) -> list[str]:
    """Of all that lies there."""
    return sorted([name async for some in Place(url).names("", NOW * 2) for name in some])


async def until_gone(url: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            if not await names(url):
                return
            await asyncio.sleep(0.01)


async def test_what_one_gateway_stored_another_finds(url: str) -> None:
    await objects(url).put(entry("a"), NOW)

    assert await objects(url).get(key("a"), NOW) == entry("a")
    assert await objects(url).get(key("b"), NOW) is None


async def test_the_later_asked_answer_stays(url: str) -> None:
    one, other = objects(url), objects(url)

    assert await one.put(entry("a", asked=NOW + 1), NOW) is True
    assert await other.put(entry("a", asked=NOW), NOW) is False
    assert await other.put(entry("a", asked=NOW + 2), NOW) is True
    assert await one.get(key("a"), NOW) == entry("a", asked=NOW + 2)


async def test_an_owner_that_lost_its_lease_writes_nothing(url: str) -> None:
    store = objects(url)
    await store.put(entry("a", fence=7), NOW)

    assert await store.put(entry("a", asked=NOW + 1, fence=6), NOW) is False
    assert await store.put(entry("a", asked=NOW + 1, fence=8), NOW) is True


async def test_the_same_answer_is_not_sent_twice(url: str) -> None:
    store = objects(url)
    await store.put(entry("a", body=b"first"), NOW)

    assert await store.put(entry("a", body=b"again"), NOW) is True
    assert await store.get(key("a"), NOW) == entry("a", body=b"first")


@pytest.mark.parametrize("rubbish", [b"", b"x", b"x" * 5000])
async def test_rubbish_in_its_place_is_a_miss_and_is_overwritten(url: str, rubbish: bytes) -> None:
    store = objects(url)
    await store.put(entry("a"), NOW)
    (name,) = await names(url)
    place = Place(url)
    assert await place.write(name, rubbish, await place.see(name))

    assert await store.get(key("a"), NOW) is None
    assert await store.put(entry("a"), NOW) is True
    assert await store.get(key("a"), NOW) == entry("a")


async def test_what_was_cut_is_a_miss(url: str) -> None:
    store, place = objects(url), Place(url)
    await store.put(entry("a"), NOW)
    (name,) = await names(url)
    data = wire.encode(entry("a"))

    for cut in (1, 17, 60):
        assert await place.write(name, data[:-cut], await place.see(name))
        assert await store.get(key("a"), NOW) is None


async def test_an_answer_in_anothers_place_is_a_miss(url: str) -> None:
    store, place = objects(url), Place(url)
    await store.put(entry("a"), NOW)
    (name,) = await names(url)

    assert await place.write(name, wire.encode(entry("b")), await place.see(name))

    assert await store.get(key("a"), NOW) is None


async def test_names_tell_neither_key_nor_order(url: str) -> None:
    one, other = objects(url), objects(url, secret=b"ours")
    await one.put(entry("a"), NOW)
    await other.put(entry("a"), NOW)

    found = await names(url)

    assert len(found) == 2
    assert not any(key("a").hex()[:8] in name.replace("/", "") for name in found)
    assert {name.count("/") for name in found} == {2}


async def test_an_expired_object_is_deleted_behind_the_miss(url: str) -> None:
    store = objects(url)
    await store.put(entry("a"), NOW)

    assert await store.get(key("a"), NOW + 60.0) is None
    await until_gone(url)
    await store.aclose()


@pytest.fixture
def today(tmp_path: Path) -> float:
    """When files are written now: a folder has times of its own."""
    return tmp_path.stat().st_mtime


async def test_a_sweep_deletes_what_has_expired_and_nothing_else(
    tmp_path: Path, today: float
) -> None:
    url, now = f"file://{tmp_path}/objects", today
    events: list[Event] = []
    store = objects(url, longest=HOUR, emit=events.append)
    await store.put(entry("a", now), now)
    await store.put(entry("pinned", now, ttl=1e9), now)
    shards = {int(name[:2], 16) for name in await names(url)}
    (shard,) = (tmp_path / "objects").glob(f"{min(shards):02x}")
    (shard / "notes.txt").write_text("not ours")

    for one in shards:
        await store.tend(one, now + HOUR - 60)
    assert len(await names(url)) == 3
    for one in shards:
        await store.tend(one, now + HOUR + 60)

    assert await store.get(key("pinned"), now) is not None
    assert len(await names(url)) == 2
    assert events == [Evicted("objects", "expired", 1)]


async def test_a_sweep_comes_to_each_shard(tmp_path: Path) -> None:
    url = f"file://{tmp_path}/objects"
    await objects(url).put(entry("a"), NOW)
    (name,) = await names(url)
    begins = (NOW * 2 // (256 * 600)) * 256 * 600 + int(name[:2], 16) * 600
    clock = FakeClock(begins - 600)
    task = asyncio.get_running_loop().create_task(objects(url, clock=clock).run())
    await settle()
    clock.advance(599.0)
    await settle()
    assert await names(url) == [name]

    clock.advance(2.0)
    await until_gone(url)
    task.cancel()


async def test_a_sweep_deletes_values_of_another_version_once_they_are_old(url: str) -> None:
    store, place = objects(url), Place(url)
    await store.put(entry("a"), NOW)
    (name,) = await names(url)
    assert await place.write(name, b"\x01" + bytes(80), await place.see(name))

    await store.tend(int(name[:2], 16), NOW * 2)

    assert await names(url) == []


@pytest.mark.timeout(60)
async def test_many_writers_of_one_object_leave_the_latest(bucket: str) -> None:
    stores = [objects(bucket) for _ in range(4)]
    later = [entry("a", asked=NOW + number / 10) for number in range(4)]

    async def put(store: Objects, one: Entry) -> None:
        for _ in range(10):
            try:
                await store.put(one, NOW)
                return
            except StoreError:  # the others were faster each time
                await asyncio.sleep(0.01)

    await asyncio.gather(*(put(*pair) for pair in zip(stores, later, strict=True)))

    assert await stores[0].get(key("a"), NOW) == later[-1]


async def test_what_is_there_is_not_created(url: str) -> None:
    place, name = Place(url), "aa/bb/object"
    assert await place.write(name, b"one", Seen(None, {}))
    assert not await place.write(name, b"two", Seen(None, {}))
    assert await place.write(name, b"three", await place.see(name))
    assert await place.read(name) == b"three"


@pytest.mark.timeout(60)
async def test_a_writer_that_saw_another_version_is_refused(bucket: str) -> None:
    place, name = Place(bucket), "aa/bb/object"
    await place.write(name, b"one", Seen(None, {}))
    seen = await place.see(name)
    assert await place.write(name, b"two", seen)
    assert not await place.write(name, b"three", seen)
    await place.delete(name)
    assert not await place.write(name, b"four", seen)


async def test_a_store_out_of_reach_is_an_error_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "access-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-key")
    store = objects("s3://bucket/path", timeout=0.05)
    start = asyncio.get_running_loop().time()

    with pytest.raises(StoreError) as error:
        await store.get(key("a"), NOW)

    assert asyncio.get_running_loop().time() - start < 1.0
    assert str(error.value).split(": ")[:2] == ["objects", "cannot read"]
    assert not any(word in str(error.value) for word in ("bucket", "127.0.0.1", "secret-key"))


@pytest.mark.timeout(60)
async def test_a_frozen_store_is_an_error_in_time_and_heals(aws: AwsServer, bucket: str) -> None:
    store = objects(bucket, timeout=0.5)
    await store.put(entry("a"), NOW)
    aws.freeze()
    try:
        with pytest.raises(StoreError, match="TimeoutError"):
            await store.get(key("a"), NOW)
    finally:
        aws.thaw()

    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                assert await store.get(key("a"), NOW) == entry("a")
                return
            except StoreError:
                await asyncio.sleep(0.01)


@pytest.mark.timeout(60)
async def test_a_version_that_was_seen_and_is_gone_is_not_written_over(bucket: str) -> None:
    """S3 says the same of that as of a bucket that was never there."""
    place = Place("s3://never-made")

    assert not await place.write("name", b"data", Seen(None, {"e_tag": '"seen"'}))
    with pytest.raises(FileNotFoundError):
        await place.write("name", b"data", Seen(None, {}))


async def test_an_object_beyond_reason_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(wire.LARGEST + 1)

    assert await Place(f"file://{tmp_path}").read("huge") is None


@pytest.mark.timeout(60)
async def test_a_place_that_is_not_there_takes_nothing(bucket: str) -> None:
    store = objects("s3://never-made")

    assert await store.get(key("a"), NOW) is None
    with pytest.raises(StoreError, match="cannot write: FileNotFoundError"):
        await store.put(entry("a"), NOW)


async def test_without_a_key_to_seal_with_nothing_is_written(tmp_path: Path) -> None:
    def closed(payload: bytes, bound: bytes) -> bytes:
        raise SealError("no data key yet")

    url = f"file://{tmp_path}/objects"
    with pytest.raises(StoreError, match="SealError"):
        await objects(url, coder=Coder(closed, None)).put(entry("a"), NOW)

    assert await names(url) == []


async def test_no_more_is_under_way_than_memory_allows(tmp_path: Path) -> None:
    store = objects(f"file://{tmp_path}/objects")
    large = [entry(number, body=bytes(20 << 20)) for number in range(4)]

    results = await asyncio.gather(*(store.put(one, NOW) for one in large), return_exceptions=True)

    assert [result for result in results if isinstance(result, StoreError)] == results[3:]
    assert await store.put(large[3], NOW) is True


def test_a_folder_that_cannot_be_made_is_an_error_and_not_the_end(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    store = objects(f"file://{tmp_path}/file/below")

    with pytest.raises(StoreError):
        asyncio.run(store.get(key("a"), NOW))


FORKED = """
import asyncio, os, sys, uvloop
from proxy.adapters.objects.store import Objects
from tests.fakes import FakeClock, settle
from tests.stored import NOW, entry, key

def made():
    return Objects(sys.argv[1], timeout=5.0, clock=FakeClock(NOW), emit=print)

async def work(name):
    store = made()
    await store.put(entry(name), NOW)
    return await store.get(key(name), NOW) == entry(name)

made()
children = []
for number in range(3):
    pid = os.fork()
    if not pid:
        os._exit(0 if uvloop.run(work(number)) else 1)
    children.append(pid)
print([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children])
"""


def test_made_before_a_fork_it_works_in_each_process(tmp_path: Path) -> None:
    with Offspring(FORKED, f"file://{tmp_path}/objects") as process:
        assert process.line() == "[0, 0, 0]"


@pytest.mark.parametrize(
    "url", ["", "s3:", "s3://", "ftp://host/x", "file://relative/x", "/a/path", "s3://b/x?y=1"]
)
def test_an_impossible_address_is_said_at_the_start(url: str) -> None:
    with pytest.raises(ConfigError, match=r"expected s3://.*cache.objects.url"):
        checked(url)


@pytest.mark.parametrize("url", ["s3://b", "s3://b/x/y", "gs://b/x", "az://c/x", "file:///a/b"])
def test_these_addresses_are_possible(url: str) -> None:
    assert checked(url) == url


def test_nothing_is_asked_for_before_the_first_use() -> None:
    """Also no client made: it could not be taken through a fork."""
    before = set(os.listdir("/proc/self/task"))

    objects("s3://bucket/path")

    assert set(os.listdir("/proc/self/task")) == before
