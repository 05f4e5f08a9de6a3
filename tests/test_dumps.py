"""What lies in the stores, read as a thief would: neither prompt nor answer nor credential."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import pytest
import zstandard
from blake3 import blake3

from proxy import config
from proxy.adapters.clock import SystemClock
from proxy.adapters.disk.store import Disk
from proxy.adapters.objects.store import Objects
from proxy.adapters.redis.link import Link
from proxy.adapters.redis.store import RedisStore
from proxy.adapters.vault.vault import Vault, coder
from proxy.adapters.vault.wrapper import Local
from proxy.coder import PLAIN, Coder
from proxy.core.entry import Tenant
from proxy.core.tenant import private
from proxy.ports import StoreError
from proxy.quantity import Timeout
from tests.redis_server import RedisServer
from tests.stored import alias, entry

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from proxy.core.entry import Stored
    from proxy.ports import Store

    Opened: TypeAlias = Callable[[Coder], AbstractAsyncContextManager[Store]]
    Dump: TypeAlias = Callable[[], bytes]

MASTER = b"m" * 31 + b"\xff"
CREDENTIAL = "sk-live-4f1d9"
WORDS = ("Wien", "refund-policy", "vip-tag", "secret-model", CREDENTIAL)
CLOCK = SystemClock()
"""Redis has a clock of its own, so these entries live in real time."""


def values() -> list[Stored]:
    """Small and large, with something to hide wherever there is text."""
    now = CLOCK.now()
    answer = {"choices": [{"message": {"content": "Die Hauptstadt ist Wien."}}]}
    small = entry(
        "a",
        now,
        tenant=private(b"p" * 32, [("authorization", CREDENTIAL)]),
        body=json.dumps(answer).encode(),
        tags=("vip-tag",),
        model="secret-model",
        headers=(("x-topic", "refund-policy"),),
    )
    large = msgspec.structs.replace(small, key=entry("b").key, body=small.body * 500)
    return [small, large, alias("c", "a", now)]


def words_in(dump: bytes) -> set[str]:
    """What can be read in it; of what is only packed, that there is such."""
    found = {word for word in WORDS if word.encode() in dump}
    return found | {"packed"} if zstandard.FRAME_HEADER in dump else found


@pytest.fixture(params=["disk", "folder", "redis"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Opened, Dump]]:
    """How the store is opened, and all bytes that are in it."""
    if request.param == "redis":
        with RedisServer(tmp_path) as server:
            yield in_redis(server), lambda: dumped(server)
    else:
        yield on_disk(request.param, tmp_path), lambda: read(tmp_path)


def on_disk(kind: str, folder: Path) -> Opened:
    @asynccontextmanager
    async def opened(how: Coder) -> AsyncIterator[Store]:
        if kind == "disk":
            disk = Disk(folder, 16 << 20, coder=how, clock=CLOCK, emit=lambda _: None)
            yield disk
            disk.close()
        else:
            url = f"file://{folder}/objects"
            yield Objects(url, how, timeout=5.0, clock=CLOCK, emit=lambda _: None)

    return opened


def read(folder: Path) -> bytes:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return b"".join(str(path).encode() + path.read_bytes() for path in files)


def in_redis(server: RedisServer) -> Opened:
    @asynccontextmanager
    async def opened(how: Coder) -> AsyncIterator[Store]:
        settings = config.Redis(url=server.url, timeout=Timeout(1.0))
        link = Link(settings, None, clock=CLOCK, emit=lambda _: None)
        task = asyncio.get_running_loop().create_task(link.run())
        yield RedisStore(link, how)
        task.cancel()
        await link.aclose()

    return opened


def dumped(server: RedisServer) -> bytes:
    with server.client() as client:
        keys = list(client.scan_iter())
        return b"".join(key + (client.get(key) or b"") for key in keys)


async def filled(store: Store) -> None:
    for value in values():
        async with asyncio.timeout(10.0):
            while True:
                with suppress(StoreError):  # a connection that is still being made
                    assert await store.put(value, CLOCK.now())
                    break
                await asyncio.sleep(0.01)


async def held(store: Store, value: Stored) -> Stored | None:
    async with asyncio.timeout(10.0):
        while True:
            with suppress(StoreError):
                return await store.get(value.key, CLOCK.now())
            await asyncio.sleep(0.01)


def sealed(master: bytes = MASTER) -> Coder:
    return coder(Vault([Local(master)], clock=CLOCK, emit=lambda _: None))


async def test_with_encryption_a_dump_tells_nothing(place: tuple[Opened, Dump]) -> None:
    opened, dump = place
    async with opened(sealed()) as store:
        await filled(store)

    assert len(dump()) > 1000
    assert words_in(dump()) == set()


async def test_without_encryption_the_search_finds_what_it_looks_for(
    place: tuple[Opened, Dump],
) -> None:
    """Else the test above could not fail. The credential is never there: only its keyed hash."""
    opened, dump = place
    async with opened(PLAIN) as store:
        await filled(store)

    assert words_in(dump()) == {*WORDS, "packed"} - {CREDENTIAL}


async def test_who_has_the_key_finds_all_of_it_and_others_nothing(
    place: tuple[Opened, Dump],
) -> None:
    opened, _ = place
    async with opened(sealed()) as store:
        await filled(store)

    async with opened(sealed()) as store:
        found = [await held(store, value) for value in values()]
        assert [one.key for one in found if one is not None] == [one.key for one in values()]
    for other in (sealed(b"o" * 31 + b"\xff"), PLAIN):
        async with opened(other) as store:
            assert [await held(store, value) for value in values()] == [None] * 3


async def test_what_was_stored_in_the_clear_is_a_miss_once_all_is_sealed(
    place: tuple[Opened, Dump],
) -> None:
    opened, _ = place
    async with opened(PLAIN) as store:
        await filled(store)

    async with opened(sealed()) as store:
        assert [await held(store, value) for value in values()] == [None] * 3
        await filled(store)
        assert None not in [await held(store, value) for value in values()]


def file_aside(folder: Path) -> None:
    (folder / "data.mdb.aside").write_bytes((folder / "data.mdb").read_bytes())


def folder_aside(folder: Path) -> None:
    """As is left where a folder lay in the file's place."""
    (folder / "data.mdb.aside").mkdir()


@pytest.mark.parametrize("aside", [file_aside, folder_aside])
async def test_a_disk_leaves_nothing_in_the_clear_once_all_is_sealed(
    tmp_path: Path, aside: Callable[[Path], None]
) -> None:
    """Also not in pages that are free, nor in a file that was set aside."""
    opened = on_disk("disk", tmp_path)
    async with opened(PLAIN) as store:
        await filled(store)
    aside(tmp_path)

    async with opened(sealed()) as store:
        await filled(store)

    assert words_in(read(tmp_path)) == set()


async def test_a_value_under_another_key_or_tenant_does_not_open(tmp_path: Path) -> None:
    """Both are bound to the ciphertext: whoever can write to a store can exchange nothing."""
    how = sealed()
    mine, theirs = entry("mine"), entry("theirs", tenant=Tenant(blake3(b"t").digest(16)))
    data = how.encode(mine)
    moved = data[:28] + theirs.tenant + data[44:-16]

    assert how.decode(data, mine.key) == mine
    assert how.decode(data, theirs.key) is None
    assert how.decode(moved + blake3(moved).digest(16), mine.key) is None
