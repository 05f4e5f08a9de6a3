"""The fleet's table in Redis: who starts, or missed news, knows what the others know."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.core.events import RowsMoved
from proxy.core.providers import Rule
from proxy.core.table import Row, packed
from proxy.holders import holders
from tests.scripted import PREFIX, names
from tests.test_redis_routes import LONG, NEWS, Gateway, round_of, turns

if TYPE_CHECKING:
    import redis as driver


def held(node: str) -> str:
    return f"{PREFIX}{{routes}}:held:{node}"


def row(client: driver.Redis, node: str) -> dict[str, str]:
    found = client.hgetall(f"{PREFIX}{{routes}}:node:{node}")
    assert isinstance(found, dict)
    return {
        name.decode(): value.decode()
        for name, value in found.items()
        if isinstance(name, bytes) and isinstance(value, bytes)
    }


def rows(client: driver.Redis, node: str) -> list[bytes]:
    found = client.zrange(held(node), 0, -1)
    assert isinstance(found, list)
    return [data for data in found if isinstance(data, bytes)]


async def read(gateway: Gateway) -> None:
    """All that it wants to read."""
    reading = asyncio.create_task(gateway.routes.reading.read())
    while not reading.done():
        gateway.clock.advance(0.001)
        await asyncio.sleep(0)
    await reading


async def started(client: driver.Redis) -> Gateway:
    """One that has read the table."""
    one = Gateway(client)
    await read(one)
    return one


def knows(gateway: Gateway, node: str) -> list[bytes]:
    """What it takes the node to hold, the boundary used last at the end."""
    return list(gateway.router.prefixes._held[node].boundaries)


def conversation(number: int) -> str:
    return f"{number} " * 3000


async def used(gateway: Gateway, count: int) -> list[str]:
    """Where so many conversations are at home."""
    homes = []
    for i in range(count):
        home, _, route = gateway.send(turns(conversation(i)))
        route.computed()
        homes.append(home)
        await gateway.routes.round()
    return homes


async def test_who_starts_when_the_news_are_gone_knows_the_same(client: driver.Redis) -> None:
    one = await started(client)
    homes = await used(one, 60)
    client.delete(NEWS)
    new = await started(client)

    for node in "abc":
        assert knows(new, node) == knows(one, node)
        assert new.router.prefixes.stats(node)[1] == one.router.prefixes.stats(node)[1]
    for i, home in enumerate(homes):
        node, reason, route = new.send(turns(conversation(i), "and then?"))
        route.computed()
        assert (node, reason) == (home, "hit")
    written = sum(e.rows for e in one.events if isinstance(e, RowsMoved) and e.way == "written")
    shared = sum(e.rows for e in new.events if isinstance(e, RowsMoved) and e.way == "read")
    assert written == shared == sum(len(knows(one, node)) for node in "abc")


async def test_more_than_a_portion_is_read_in_the_order_of_its_use(client: driver.Redis) -> None:
    one = await started(client)
    await used(one, 600)
    new = await started(client)

    assert max(len(knows(one, node)) for node in "abc") > 512
    assert [knows(new, node) for node in "abc"] == [knows(one, node) for node in "abc"]


async def test_a_restarted_node_holds_nothing_for_who_starts_later(client: driver.Redis) -> None:
    one = await started(client)
    home, _, route = one.send(LONG)
    route.computed()
    await round_of(one)
    assert client.zcard(held(home)) > 0
    one.router.void(next(node for node in one.nodes if node.name == home), tell=True)
    await round_of(one)
    new = await started(client)
    await new.routes.round()  # the news of before are there still

    assert client.zcard(held(home)) == 0
    assert (row(client, home)["epoch"], row(client, home)["status"]) == ("1", "COLD")
    assert new.send(LONG)[1] == "cold"


async def test_who_missed_a_restart_cannot_write_what_it_knew_before(
    client: driver.Redis,
) -> None:
    """And learns of it, even if the news of it is gone."""
    one, late = await started(client), await started(client)
    home, _, _ = one.send(LONG)
    await round_of(one, late)
    late.link.down = True
    one.router.void(next(node for node in one.nodes if node.name == home), tell=True)
    one.send(turns("another " * 1000))
    for node in one.nodes:
        one.router.warmed(node, turns("a third one " * 1000).chain, "m")
    await round_of(one)
    client.delete(NEWS)
    late.link.down = False
    node = next(node for node in late.nodes if node.name == home)
    late.router.warmed(node, turns("of the old life " * 1000).chain, "m")
    await late.routes.round()
    await late.routes.round()

    assert (row(client, home)["epoch"], late.router.gossip.table.epoch(home)) == ("1", 1)
    told = {data[:16] for data in rows(client, home)}
    assert told.isdisjoint(one.digest for one in turns("of the old life " * 1000).chain)
    assert late.router.prefixes.depths([home], LONG.chain) == [0]


async def test_two_who_see_the_same_restart_void_once(client: driver.Redis) -> None:
    one, other = await started(client), await started(client)
    one.send(LONG)
    await round_of(one, other)
    for gateway in (one, other):
        for node in gateway.nodes:
            gateway.router.void(node, tell=True)
    home, _, _ = one.send(LONG)
    await round_of(one, other)
    await round_of(one, other)

    assert other.send(LONG)[:2] == (home, "hit")
    assert row(client, home)["epoch"] == "1"
    assert client.zcard(held(home)) == len(LONG.chain)


async def test_who_was_silent_while_the_news_ran_on_reads_what_it_missed(
    client: driver.Redis,
) -> None:
    one, late = await started(client), await started(client)
    await used(one, 3)
    await round_of(late)
    before = late.routes._last
    late.link.down = True
    for i in range(3, 40):
        one.send(turns(conversation(i)))[2].computed()
        await one.routes.round()
    client.xtrim(NEWS, maxlen=2, approximate=False)
    late.link.down = False
    await late.routes.round()
    assert sum(len(knows(late, node)) for node in "abc") < sum(
        len(knows(one, node)) for node in "abc"
    )
    await read(late)

    assert late.routes._last > before
    assert [set(knows(late, node)) for node in "abc"] == [set(knows(one, node)) for node in "abc"]
    assert "over" in repr(late.routes.reading)


async def test_who_finds_its_place_in_the_news_reads_nothing_again(client: driver.Redis) -> None:
    one, late = await started(client), await started(client)
    await used(one, 3)
    await round_of(late)
    late.link.down = True
    await used(one, 5)
    await late.routes.round()
    late.link.down = False
    await late.routes.round()

    assert "over" in repr(late.routes.reading)
    assert [knows(late, node) for node in "abc"] == [knows(one, node) for node in "abc"]


async def test_what_is_learned_while_the_table_is_read_wins(client: driver.Redis) -> None:
    """Its use is the last, and of a node that begins anew meanwhile nothing old comes in."""
    one = await started(client)
    await used(one, 60)
    await round_of(one)
    new = Gateway(client)
    new.link.door.clear()
    reading = asyncio.create_task(new.routes.reading.read())
    await asyncio.sleep(0)  # a portion is on its way
    for node in new.nodes:
        new.router.warmed(node, LONG.chain, "m")
    new.router.void(new.nodes[0], tell=True)
    new.link.door.set()
    while not reading.done():
        new.clock.advance(0.001)
        await asyncio.sleep(0)

    assert knows(new, "a") == []
    for name in "bc":
        assert knows(new, name)[-len(LONG.chain) :] == [b.digest for b in reversed(LONG.chain)]
        assert len(knows(new, name)) == len(LONG.chain) + len(knows(one, name))


async def test_a_redis_that_fails_while_it_is_read_is_waited_for(client: driver.Redis) -> None:
    one = await started(client)
    homes = await used(one, 20)
    new = Gateway(client)
    new.link.down = True
    reading = asyncio.create_task(new.routes.reading.read())
    await asyncio.sleep(0)
    assert new.send(LONG)[1] == "cold"
    new.clock.advance(10)
    new.link.down = False
    while not reading.done():
        new.clock.advance(0.6)
        await asyncio.sleep(0)

    assert new.send(turns(conversation(0), "x"))[:2] == (homes[0], "hit")


async def test_a_redis_that_was_emptied_is_filled_by_what_is_used(client: driver.Redis) -> None:
    one = await started(client)
    await used(one, 5)
    client.flushall()
    await one.routes.round()
    assert not client.exists(held("a"), held("b"), held("c"))
    home, reason, _ = one.send(turns(conversation(0), "and then?"))
    await one.routes.round()
    await read(one)
    new = await started(client)

    assert reason == "hit"
    assert new.send(turns(conversation(0), "and now?"))[:2] == (home, "hit")


async def test_a_node_is_warming_until_its_first_token(client: driver.Redis) -> None:
    """For every gateway, and in the table."""
    one, other = await started(client), await started(client)
    home, _, route = one.send(LONG)
    await round_of(one, other)
    seen = [{h.node: h.status for h in holders(g.router, LONG, "m")} for g in (one, other)]
    away = {h.status for h in holders(other.router, turns("unlike " * 1000), "m")}
    stated = [row(client, home)["status"]]
    route.computed()
    await round_of(one, other)
    stated.append(row(client, home)["status"])
    later = [{h.node: h.status for h in holders(g.router, LONG, "m")} for g in (one, other)]

    cold = dict.fromkeys("abc", "COLD")
    assert seen == [{**cold, home: "WARMING"}] * 2
    assert away == {"COLD"}
    assert later == [{**cold, home: "HOT"}] * 2
    assert stated == ["WARMING", "HOT"]


async def test_a_row_says_what_an_operator_wants_to_know(client: driver.Redis) -> None:
    one = Gateway(client)
    one.router.rule = lambda node, _: Rule(provider=f"p-{node}", as_of="", min_tokens=0, ttl=0.0)
    await read(one)
    home, _, route = one.send(LONG)
    route.computed()
    await round_of(one)
    told = row(client, home)
    seconds, _ = client.time()

    assert 0 <= int(told.pop("expires")) - 1000 * (seconds + 3600) < 5000
    assert told == {
        "node": home,
        "provider": f"p-{home}",
        "zone": "local",
        "status": "HOT",
        "depth": str(len(LONG.chain)),
        "epoch": "0",
    }
    assert client.hgetall(f"{PREFIX}{{routes}}:node:none") == {}


async def test_what_a_provider_forgets_is_not_read(client: driver.Redis) -> None:
    one = Gateway(client)
    one.router.rule = lambda _node, _model: Rule(provider="p", as_of="", min_tokens=0, ttl=300.0)
    await read(one)
    home, _, route = one.send(LONG)
    route.computed()
    await round_of(one)
    new = await started(client)
    (first,) = [h for h in holders(new.router, LONG, "m") if h.node == home]
    # As if the last use had been four minutes and 59 seconds ago, and then five minutes.
    left = []
    for seconds in (299, 301):
        now = client.time()
        at = now[0] * 1e6 + now[1] - seconds * 1e6
        client.zadd(held(home), dict.fromkeys(rows(client, home), at))
        left.append((await started(client)).router.prefixes.stats(home)[0])

    assert 295 < (first.expires or 0) <= 300
    assert left == [len(LONG.chain), 0]


async def test_the_table_is_bounded_and_expires(client: driver.Redis) -> None:
    one = await started(client)
    one.router.prefixes.each = 7
    await used(one, 60)

    for node in "abc":
        assert 0 < client.zcard(held(node)) <= 7
        assert 0 < client.pttl(held(node)) <= 3_600_000
        assert 0 < client.pttl(f"{PREFIX}{{routes}}:node:{node}") <= 3_600_000
    assert all(b"{routes}" in name for name in names(client))


@pytest.mark.parametrize("junk", [b"", b"junk", b"x" * 25, msgspec.msgpack.encode([1])])
async def test_what_no_gateway_wrote_into_the_table_is_passed_over(
    client: driver.Redis, junk: bytes
) -> None:
    one = await started(client)
    home, _, route = one.send(LONG)
    route.computed()
    await round_of(one)
    client.zadd(held(home), {junk: 1e18, b"more " + junk: float("inf")})
    client.hset(f"{PREFIX}{{routes}}:node:{home}", "epoch", junk)
    new = await started(client)

    assert new.send(LONG)[:2] == (home, "hit")


async def test_no_text_of_a_tenant_is_in_the_table(client: driver.Redis) -> None:
    one = await started(client)
    one.send(turns("a secret of the tenant's " * 400))
    await round_of(one)

    for node in "abc":
        for data in rows(client, node):
            assert len(data) == 24
            assert b"secret" not in data
    assert packed(Row(b"x" * 16, 5, 0)) == b"x" * 16 + b"\0\0\0\5" + b"\0" * 4
