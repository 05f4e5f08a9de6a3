"""What every store promises, for each of them and for the fake."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from proxy import config
from proxy.adapters.disk.store import Disk
from proxy.adapters.memory import Memory
from proxy.adapters.objects.store import Objects
from proxy.adapters.redis.link import Link
from proxy.adapters.redis.store import RedisStore
from proxy.adapters.vault.vault import Vault, coder
from proxy.adapters.vault.wrapper import Local
from proxy.core.entry import Question
from proxy.quantity import Timeout
from tests.fakes import FakeClock, FakeStore
from tests.stored import NOW, alias, entry, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from proxy.core.entry import Key
    from proxy.ports import Store
    from tests.redis_server import RedisServer

MIB = 1 << 20
ASKED = Question(key("scope"), "how do I get a refund")


TIERS = [
    "memory",
    "disk",
    "sealed disk",
    "folder",
    "sealed folder",
    "redis",
    "sealed redis",
    "fake",
]


@pytest.fixture(params=TIERS)
async def store(
    request: pytest.FixtureRequest, tmp_path: Path, server: RedisServer
) -> AsyncIterator[Store]:
    clock = FakeClock(NOW)
    seals = Vault([Local(b"m" * 32)], clock=clock, emit=lambda _: None)
    how = coder(seals if request.param.startswith("sealed") else None)
    match request.param.split()[-1]:
        case "disk":
            disk = Disk(tmp_path, 16 * MIB, coder=how, clock=clock, emit=lambda _: None)
            yield disk
            disk.close()
        case "folder":
            url = f"file://{tmp_path}/objects"
            yield Objects(url, how, timeout=10.0, clock=clock, emit=lambda _: None)
        case "redis":
            settings = config.Redis(url=server.url, prefix=tmp_path.name, timeout=Timeout(5))
            link = Link(settings, None, clock=clock, emit=lambda _: None)
            yield RedisStore(link, how)
            await link.aclose()
        case "memory":
            yield Memory(16 * MIB, ttl=300.0)
        case _:
            yield FakeStore()


async def test_what_was_put_is_found(store: Store) -> None:
    await store.put(entry("a"), NOW)
    await store.put(alias("b", "a"), NOW)

    assert await store.get(key("a"), NOW) == entry("a")
    assert await store.get(key("b"), NOW) == alias("b", "a")
    assert await store.get(key("c"), NOW) is None


async def test_it_says_what_it_holds_that_answers_others_without_giving_it(store: Store) -> None:
    """Of 200 keys, among which are answers without a question, aliases, and what has expired."""
    names = [f"{number}" for number in range(200)]
    for number, name in enumerate(names[:40]):
        await store.put(entry(name, NOW - number, question=ASKED, body=b"x" * 9000), NOW)
    await store.put(entry(names[50]), NOW)
    await store.put(alias(names[51], names[0]), NOW)
    await store.put(entry(names[52], question=ASKED), NOW)
    await store.delete(key(names[52]))

    told = await held(store, [key(name) for name in names], NOW + 30.0)

    assert told == {key(name): NOW - number for number, name in enumerate(names[:30])}


async def held(store: Store, keys: list[Key], now: float) -> dict[Key, float]:
    if isinstance(store, Disk):
        return await store.scan.holds(keys, now)
    assert isinstance(store, Memory | Objects | RedisStore | FakeStore)
    return await store.holds(keys, now)


async def test_a_large_body_comes_back_as_it_was(store: Store) -> None:
    large = entry("large", body=b"event: \xff\x00 " * 80_000)
    await store.put(large, NOW)

    assert await store.get(key("large"), NOW) == large


async def test_an_entry_is_gone_when_it_expires_and_not_before(store: Store) -> None:
    await store.put(entry("a", stale_while_revalidate=30.0, stale_if_error=10.0), NOW)

    assert await store.get(key("a"), NOW + 99.9) is not None
    assert await store.get(key("a"), NOW + 100.0) is None


async def test_reading_does_not_prolong_a_life(store: Store) -> None:
    await store.put(entry("a"), NOW)
    for second in range(60):
        assert await store.get(key("a"), NOW + second) is not None

    assert await store.get(key("a"), NOW + 60.0) is None


async def test_an_answer_asked_for_earlier_does_not_replace_a_later_one(store: Store) -> None:
    later, earlier = entry("a", body=b"later"), entry("a", body=b"earlier", asked=NOW - 1.0)
    await store.put(later, NOW)
    await store.put(earlier, NOW)

    assert await store.get(key("a"), NOW) == later


async def test_an_answer_asked_for_later_replaces_the_earlier_one(store: Store) -> None:
    await store.put(entry("a", body=b"earlier"), NOW)
    later = entry("a", NOW + 1.0, body=b"later")
    await store.put(later, NOW + 1.0)

    assert await store.get(key("a"), NOW + 1.0) == later


async def test_an_expired_entry_does_not_keep_out_others_though_it_was_asked_later(
    store: Store,
) -> None:
    """As after a clock that ran ahead was put right."""
    await store.put(entry("a", asked=NOW + 3600.0), NOW)
    after = entry("a", NOW + 61.0)
    await store.put(after, NOW + 61.0)

    assert await store.get(key("a"), NOW + 61.0) == after


async def test_what_was_deleted_is_gone_once(store: Store) -> None:
    await store.put(entry("a"), NOW)

    assert await store.delete(key("a")) is True
    assert await store.delete(key("a")) is False
    assert await store.get(key("a"), NOW) is None


async def test_many_puts_at_once_all_arrive(store: Store) -> None:
    await asyncio.gather(*(store.put(entry(n), NOW) for n in range(1000)))

    found = [await store.get(key(n), NOW) for n in range(1000)]
    assert found == [entry(n) for n in range(1000)]
