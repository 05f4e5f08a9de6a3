"""What gateways tell each other of nodes through Redis: what they hold, and what waits there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.adapters.clock import SystemClock
from proxy.adapters.redis.routes import Routes
from proxy.core.prefix import Prompt, chained
from proxy.core.providers import Rule
from proxy.journey import Route
from proxy.node import Node
from proxy.router import Router
from proxy.wish import Wish
from tests.fakes import FakeClock, FakeUpstream
from tests.scripted import PREFIX, Direct

if TYPE_CHECKING:
    import redis as driver

    from proxy.core.events import Event
    from proxy.core.health import Sign

NEWS = f"{PREFIX}{{routes}}:news"
LOAD = f"{PREFIX}{{routes}}:load"


def turns(*texts: str) -> Prompt:
    made = chained((b"tenant",), [(b"user", text.encode()) for text in texts])
    assert made is not None
    return made


LONG = turns("x" * 8000)


async def _well() -> Sign:
    return "alive"


class Gateway:
    """A router that talks to others over a Redis."""

    def __init__(self, client: driver.Redis, names: str = "abc") -> None:
        self.clock = FakeClock()
        self.nodes = tuple(Node(name, FakeUpstream(), probe=_well) for name in names)
        self.events: list[Event] = []
        self.router = Router(self.nodes, self.clock, lambda event: None)
        self.link = Direct(client)
        self.routes = Routes(self.link, self.router, self.clock, self.events.append)

    def send(self, prompt: Prompt) -> tuple[str, str, Route]:
        """Where it would go and why; it goes there."""
        wish = Wish(self.nodes, "m", b"t", sticky=False, prompt=prompt)
        pick = self.router.pick(self.nodes, wish)
        pick.node.running += 1
        return pick.node.name, pick.reason, self.router.begin(pick, wish)


async def round_of(*gateways: Gateway) -> None:
    """Each tells, then each hears."""
    for _ in range(2):
        for one in gateways:
            await one.routes.round()


async def test_a_conversation_goes_on_at_another_gateway(client: driver.Redis) -> None:
    one, other = Gateway(client), Gateway(client)
    home, _, _ = one.send(LONG)
    await round_of(one, other)

    assert other.send(turns("x" * 8000, "and then?"))[:2] == (home, "hit")


async def test_a_gateway_that_starts_hears_what_was_told_before(client: driver.Redis) -> None:
    one = Gateway(client)
    sent = []
    for i in range(300):
        sent.append(one.send(turns(f"{i} " * 3000)))
        await one.routes.round()
    for _, _, route in sent:
        route.computed()
    for _ in range(200):
        one.send(turns("short"))[2].computed()
        await one.routes.round()
    new = Gateway(client)
    while await new.routes.round():
        pass

    for i, (home, _, _) in enumerate(sent):
        assert new.send(turns(f"{i} " * 3000, "x"))[:2] == (home, "hit")
        for node in new.nodes:
            node.queued = 0.0


async def test_what_waits_is_summed_over_the_others(client: driver.Redis) -> None:
    """And is gone a second after a gateway fell silent."""
    one, two, three = (Gateway(client) for _ in range(3))
    home, _, _ = one.send(LONG)
    two.send(LONG)
    await round_of(one, two, three)
    shown = three.router.pick(three.nodes, Wish(three.nodes, "m", b"", False, LONG)).considered
    queued = {node.node: (node.queued, node.running) for node in shown}
    assert queued.pop(home) == (4000, 2)
    assert set(queued.values()) == {(0, 0)}
    await SystemClock().sleep(1.2)
    await three.routes.round()
    shown = three.router.pick(three.nodes, Wish(three.nodes, "m", b"", False, LONG)).considered

    assert {(node.queued, node.running) for node in shown} == {(0, 0)}
    assert client.hlen(LOAD) == 1


async def test_what_a_provider_forgets_the_others_forget_too(client: driver.Redis) -> None:
    one, other = Gateway(client), Gateway(client)
    one.router.rule = lambda _node, _model: Rule(provider="p", as_of="", min_tokens=0, ttl=300.0)
    one.send(LONG)[2].computed()
    await round_of(one, other)
    seen = []
    for seconds in (299, 2):
        other.clock.advance(seconds)
        wish = Wish(other.nodes, "m", b"t", sticky=False, prompt=LONG)
        seen.append(other.router.pick(other.nodes, wish).reason)

    assert seen == ["hit", "cold"]


async def test_who_cannot_hear_the_others_says_so_until_it_can(client: driver.Redis) -> None:
    one, alone = Gateway(client), Gateway(client)
    await round_of(one, alone)
    assert alone.send(LONG)[1] == "cold"
    alone.link.down = True
    await alone.routes.round()
    assert alone.send(LONG)[1] == "hit"
    alone.clock.advance(1.1)
    await alone.routes.round()
    assert [alone.send(LONG)[1], alone.send(turns("z" * 8000))[1]] == ["island", "island"]
    alone.link.down = False
    await alone.routes.round()

    assert alone.send(LONG)[1] == "hit"


async def test_how_long_a_node_has_been_at_it_is_told(client: driver.Redis) -> None:
    """So that others know what it has computed meanwhile, by how fast they know it to be."""
    one, other = Gateway(client), Gateway(client)
    home, _, _ = one.send(LONG)
    one.clock.advance(1.5)
    await round_of(one, other)
    at = "abc".index(home)
    other.nodes[at].progress.took(10_000, 10.0)
    shown = other.router.pick(other.nodes, Wish(other.nodes, "m", b"", False, LONG)).considered

    assert shown[at].queued == 500


async def test_who_hears_nobody_does_not_tell_how_far_nodes_are(client: driver.Redis) -> None:
    """What others have sent there meanwhile may come first."""
    one = Gateway(client)
    home, _, _ = one.send(LONG)
    node = one.nodes["abc".index(home)]
    node.progress.took(10_000, 10.0)
    one.clock.advance(1.5)
    wish = Wish(one.nodes, "m", b"", False, LONG)

    def seen() -> int:
        return sum(known.queued for known in one.router.pick(one.nodes, wish).considered)

    assert seen() == 500
    one.link.down = True
    await one.routes.round()
    assert seen() == 2000
    one.link.down = False
    await one.routes.round()
    assert seen() == 500


async def test_a_node_that_began_anew_is_told_of(client: driver.Redis) -> None:
    one, other = Gateway(client), Gateway(client)
    one.send(LONG)
    await round_of(one, other)
    for node in one.nodes:
        one.router.void(node, tell=True)
    await round_of(one, other)

    assert other.send(LONG)[1] == "cold"


async def test_a_node_that_one_gateway_cannot_reach_is_known_to_the_others(
    client: driver.Redis,
) -> None:
    one, other = Gateway(client), Gateway(client)
    home, _, route = one.send(LONG)
    await round_of(one, other)
    route.lost()
    await round_of(one, other)

    assert one.router.prefixes.stats(home)[0] == 0
    assert other.send(turns("x" * 8000, "and then?"))[:2] == (home, "hit")


async def test_nobody_hears_itself(client: driver.Redis) -> None:
    one = Gateway(client)
    home, _, _ = one.send(LONG)
    one.router.void(next(node for node in one.nodes if node.name == home), tell=True)
    one.send(LONG)
    await round_of(one)
    await round_of(one)

    assert one.send(LONG)[1] == "hit"


async def test_nodes_that_another_gateway_does_not_have_are_passed_over(
    client: driver.Redis,
) -> None:
    one, other = Gateway(client, "xyz"), Gateway(client, "abx")
    home, _, _ = one.send(LONG)
    await round_of(one, other)

    assert other.send(LONG)[1] == ("hit" if home == "x" else "cold")


@pytest.mark.parametrize("junk", [b"", b"junk", b"\xc0", b"\x81\xa1a\x92\xa1x\xa1y", b"\x90"])
async def test_what_no_gateway_wrote_is_passed_over(client: driver.Redis, junk: bytes) -> None:
    one, other = Gateway(client), Gateway(client)
    client.xadd(NEWS, {b"stranger": junk})
    client.xadd(NEWS, {b"stranger": junk, b"more": b"of it"})
    client.hset(LOAD, "stranger", junk)
    client.hset(LOAD, "other stranger", b"99999999999999 " + junk)
    home, _, _ = one.send(LONG)
    await round_of(one, other)

    assert other.send(LONG)[:2] == (home, "hit")


def load(*told: object) -> bytes:
    return msgspec.msgpack.encode(dict.fromkeys("abc", told))


@pytest.mark.parametrize(
    ("queued", "running", "state"),
    [
        (float("inf"), 1, ()),
        (float("nan"), 1, ()),
        (-1e300, 1, ()),
        (1e300, 1, ()),
        (1.0, -5, ()),
        (1.0, 1 << 63, ()),
        (1.0, 1, ((-1.0, 1.0, 1.0),)),
        (1.0, 1, ((1.0, float("nan"), 1.0),)),
        (1.0, 1, ((1.0, 1.0, -1.0),)),
    ],
)
async def test_no_load_that_cannot_be_is_believed(
    client: driver.Redis, queued: float, running: int, state: tuple[object, ...]
) -> None:
    one = Gateway(client)
    home, _, _ = one.send(LONG)
    now = int(client.time()[0]) * 1000
    client.hset(LOAD, "stranger", b"%d " % now + load(queued, running, *state))
    await one.routes.round()
    shown = one.router.pick(one.nodes, Wish(one.nodes, "m", b"", False, LONG)).considered

    assert sum(node.queued for node in shown) == 2000
    assert sum(node.running for node in shown) == 1
    assert one.send(LONG)[:2] == (home, "hit")


@pytest.mark.parametrize(
    "chain",
    [
        [(b"short", 5)],
        [(b"x" * 17, 5)],
        [(b"x" * 16, -5)],
        [(b"x" * 16, 1 << 60)],
        [(i.to_bytes(16, "big"), i) for i in range(513)],
    ],
)
async def test_no_prompt_that_cannot_be_is_believed(
    client: driver.Redis, chain: list[tuple[bytes, int]]
) -> None:
    one = Gateway(client)
    client.xadd(NEWS, {b"stranger": msgspec.msgpack.encode([("a", chain)])})
    await one.routes.round()

    assert "<Prefixes 0 boundaries" in repr(one.router)


async def test_without_redis_everyone_routes_by_what_it_knows(client: driver.Redis) -> None:
    one, other = Gateway(client), Gateway(client)
    home, _, _ = one.send(LONG)
    await round_of(one, other)
    other.link.down = True
    await other.routes.round()
    assert (
        other.router.pick(other.nodes, Wish(other.nodes, "m", b"", False, LONG))
        .considered["abc".index(home)]
        .queued
    )
    other.clock.advance(1.1)
    await other.routes.round()

    assert other.send(LONG)[:2] == (home, "island")
    assert [node.queued for node in other.nodes] == [0, 0, 0]


async def test_what_redis_keeps_is_bounded_and_expires(client: driver.Redis) -> None:
    one = Gateway(client)
    for i in range(300):
        one.send(turns(str(i)))[2].computed()
        await one.routes.round()

    assert client.xlen(NEWS) <= 300
    assert 0 < client.pttl(NEWS) <= 3_600_000
    assert 0 < client.pttl(LOAD) <= 3_600_000
