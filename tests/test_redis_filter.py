"""What the filter spares, and that it never denies for long what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from proxy import config
from proxy.adapters.redis.filter import Filter
from proxy.adapters.redis.link import Link
from proxy.quantity import Timeout
from tests.fakes import FakeClock
from tests.stored import NOW, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import redis as driver

    from tests.redis_server import RedisServer

SIZE = 1 << 17
LIFE = 1000.0
START = NOW - NOW % LIFE
"""When a generation begins."""


@pytest.fixture
def client(client: driver.Redis) -> driver.Redis:
    client.config_set("maxmemory", 0)
    client.config_resetstat()
    return client


@pytest.fixture
async def link(server: RedisServer, client: driver.Redis) -> AsyncIterator[Link]:
    settings = config.Redis(url=server.url, timeout=Timeout(1.0))
    link = Link(settings, None, clock=FakeClock(NOW), emit=lambda _: None)
    yield link
    await link.aclose()


async def test_it_says_look_until_it_knows(link: Link) -> None:
    filter = Filter(link, SIZE, LIFE, clock=FakeClock(START))

    assert filter.might_have(key("a"))
    await filter.exchange()
    assert not filter.might_have(key("a"))


async def test_what_this_gateway_stored_is_known_at_once(link: Link) -> None:
    filter = Filter(link, SIZE, LIFE, clock=FakeClock(START))
    await filter.exchange()
    filter.added(key("a"))

    assert filter.might_have(key("a"))


async def test_what_others_stored_is_known_soon(link: Link) -> None:
    """Whoever started when, and however much there is."""
    clock = FakeClock(START)
    first, second = (Filter(link, 8 * SIZE, LIFE, clock=clock) for _ in range(2))
    for number in range(3000):
        first.added(key(number))
    await first.exchange()
    await second.exchange()
    second.added(key("second"))
    await second.exchange()
    await first.exchange()
    late = Filter(link, 8 * SIZE, LIFE, clock=clock)
    await late.exchange()

    for filter in (first, second, late):
        assert all(filter.might_have(key(number)) for number in range(3000))
        assert filter.might_have(key("second"))
        assert sum(filter.might_have(key(f"other {number}")) for number in range(1000)) < 50


async def test_only_what_changed_is_read_again(link: Link, client: driver.Redis) -> None:
    first, second = (Filter(link, SIZE, LIFE, clock=FakeClock(START)) for _ in range(2))
    for number in range(3000):
        first.added(key(number))
    await first.exchange()
    await second.exchange()
    first.added(key("new"))
    await first.exchange()
    client.config_resetstat()
    await second.exchange()

    assert client.info("commandstats")["cmdstat_getrange"]["calls"] <= 2
    assert second.might_have(key("new"))


async def test_gateways_do_not_undo_each_other(link: Link) -> None:
    """Both change the same page before either has read the other's."""
    clock = FakeClock(START)
    filters = [Filter(link, 512, LIFE, clock=clock) for _ in range(3)]
    for turn in range(5):
        for number, filter in enumerate(filters):
            filter.added(key((turn, number)))
        for filter in filters:
            await filter.exchange()
    for filter in filters:
        await filter.exchange()
    fresh = Filter(link, 512, LIFE, clock=clock)
    await fresh.exchange()

    added = [key((turn, number)) for turn in range(5) for number in range(3)]
    assert all(filter.might_have(one) for filter in (*filters, fresh) for one in added)


async def test_a_key_is_known_for_a_whole_life_and_not_for_ever(link: Link) -> None:
    """So it is never full for good."""
    clock = FakeClock(START + LIFE - 10)
    filter = Filter(link, SIZE, LIFE, clock=clock)
    filter.added(key("a"))
    known = []
    for _ in range(25):
        await filter.exchange()
        known.append(filter.might_have(key("a")))
        clock.advance(LIFE / 10)
        assert filter.might_have(key("a"))  # nobody exchanged for long: look

    assert known == [True] * 11 + [False] * 14


async def test_after_a_long_sleep_both_generations_are_new(link: Link) -> None:
    clock = FakeClock(START)
    filter = Filter(link, SIZE, LIFE, clock=clock)
    filter.added(key("a"))
    await filter.exchange()
    clock.advance(5 * LIFE)
    await filter.exchange()

    assert not filter.might_have(key("a"))


async def test_a_full_one_says_look_until_it_is_rebuilt(link: Link) -> None:
    clock = FakeClock(START)
    filter = Filter(link, 512, LIFE, clock=clock)
    for number in range(500):
        filter.added(key(number))
    await filter.exchange()
    assert all(filter.might_have(key(f"other {number}")) for number in range(100))
    clock.advance(2 * LIFE)
    await filter.exchange()

    assert not any(filter.might_have(key(f"other {number}")) for number in range(100))


async def test_without_redis_it_says_look(
    link: Link, client: driver.Redis, server: RedisServer
) -> None:
    clock = FakeClock(START)
    filter = Filter(link, SIZE, LIFE, clock=clock)
    await filter.exchange()
    await link.aclose()
    await filter.exchange()
    clock.advance(2.9)
    assert not filter.might_have(key("a"))
    clock.advance(0.2)

    assert filter.might_have(key("a"))


async def test_a_full_redis_is_still_read(link: Link, client: driver.Redis) -> None:
    clock = FakeClock(START)
    first, second = (Filter(link, SIZE, LIFE, clock=clock) for _ in range(2))
    first.added(key("told"))
    await first.exchange()
    client.config_set("maxmemory", 1)
    second.added(key("untold"))
    await second.exchange()

    assert second.might_have(key("told"))
    assert not second.might_have(key("a"))
    client.config_set("maxmemory", 0)
    await second.exchange()
    await first.exchange()
    assert first.might_have(key("untold"))


async def test_what_redis_lost_is_no_news_and_hides_none(link: Link, client: driver.Redis) -> None:
    clock = FakeClock(START)
    first, second = (Filter(link, SIZE, LIFE, clock=clock) for _ in range(2))
    for number in range(100):
        first.added(key(number))
    await first.exchange()
    await second.exchange()
    client.flushall()
    first.added(key("after"))
    await first.exchange()
    await second.exchange()

    assert second.might_have(key("after"))
    assert second.might_have(key(0))


async def test_what_waits_to_be_told_is_bounded(link: Link, client: driver.Redis) -> None:
    filter = Filter(link, SIZE, LIFE, clock=FakeClock(START))
    for number in range(20_000):
        filter.added(key(number))
    await filter.exchange()

    assert client.info("commandstats")["cmdstat_eval"]["calls"] < 20_000 / 64
    assert all(filter.might_have(key(number)) for number in range(20_000))


async def test_it_expires_with_what_it_speaks_of(link: Link, client: driver.Redis) -> None:
    filter = Filter(link, SIZE, LIFE, clock=FakeClock(START + 400.0))
    filter.added(key("a"))
    await filter.exchange()
    lives = [int(client.pttl(name)) for name in client.scan_iter()]

    assert len(lives) == 3
    assert all(1_590_000 < life <= 1_600_000 for life in lives)
