"""What gateways keep in a Redis that they share with others, and what they make of it."""

from __future__ import annotations

import asyncio
import os
import statistics
import struct
import threading
from typing import TYPE_CHECKING, Any

import msgspec
from blake3 import blake3

from tests.e2e.checks.registry import case
from tests.e2e.stores import DEAR, PRICES, keys, names, purge

if TYPE_CHECKING:
    from redis import Redis

    from tests.e2e.steps import Run, Step
    from tests.gateway import Settings
    from tests.upstream import Channel

HEAD, DIGEST = 44, 16
"""Of a stored value: what stands before its payload, and what proves all of it."""


def whole(value: bytes) -> bytes:
    """With the digest that belongs to it."""
    return value + blake3(value).digest(DIGEST)


def spoilt(value: bytes) -> dict[str, bytes]:
    """What another version, or nobody, would have left in its place."""
    head, payload = value[:HEAD], value[HEAD:-DIGEST]
    fields = msgspec.msgpack.decode(payload)
    far = struct.pack(">BBBBddQ", value[0], 1, 0, 0, 1e300, 1e301, 9)
    return {
        "older": whole(bytes([value[0] - 1]) + value[1:-DIGEST]),
        "longer": whole(head + msgspec.msgpack.encode([*fields, {"new": 1}])),
        "shorter": whole(head + msgspec.msgpack.encode(fields[:-1])),
        "empty": b"",
        "cut": value[:-1],
        "random": os.urandom(500),
        "from the future": far + os.urandom(500),
    }


def far_only(upstream: Channel) -> Settings:
    """Nothing but Redis holds anything."""
    return {"cache": {"memory": {"max_bytes": 0}, "disk": {"path": "off"}, "normalize": "none"}}


def ask_first(steps: list[Step]) -> None:
    """There is something to be spoilt by then; the steps are taken for each way in which it is."""
    steps[:] = [steps[1], steps[0]]


async def spoil(run: Run, step: Step) -> None:
    assert run.redis is not None
    redis = run.redis
    await run.upstream.until(lambda: len(keys(redis)) == 1)
    (name,) = (name for name in names(redis) if name.endswith(b":e"))
    with redis.client() as client:
        good: Any = client.get(name)
        for what, value in spoilt(good).items():
            client.set(name, value, px=600_000)
            answers = [await run.chat("p") for _ in range(2)]
            found = [(one.status, one.x_cache, one.text) for one in answers]
            told = f"#{run.calls}"
            assert found == [(200, "MISS", told), (200, "HIT", told)], what
            run.outputs.append(what)


@case("store-old-format", redis=True, settings=far_only, change=ask_first, act=spoil)
async def what_is_none_of_ours_is_a_miss_and_written_over(run: Run) -> None:
    assert run.calls == 1 + len(run.outputs) == 8


def dear(upstream: Channel) -> Settings:
    """Everything that touches Redis is at work."""
    limits = {"requests_per_minute": 100_000, "tokens_per_minute": 100_000_000}
    redis = {"prefix": "envA:"}
    return {**PRICES, "limits": limits, "cache": {"ttl": "2s", "jitter": 0.0, "redis": redis}}


class Monitor:
    """Every command that a Redis gets, but for this test's own."""

    def __init__(self, client: Redis) -> None:
        self.commands: list[list[str]] = []
        self._client = client
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Monitor:
        # redis-py leaves its monitor without types.
        self._monitor = self._client.monitor().__enter__()  # type: ignore[no-untyped-call]
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._client.echo("the end")
        self._thread.join(10)
        self._monitor.__exit__(None, None, None)

    def _watch(self) -> None:
        while True:
            words = str(self._monitor.next_command()["command"]).split(" ")
            if words[:3] == ["ECHO", "the", "end"]:
                return
            self.commands.append(words)


WITHOUT_KEYS = {"PING", "HELLO", "CLIENT", "INFO", "ROLE", "SELECT", "TIME", "AUTH", "READONLY"}
EVERYTHING = {"FLUSHALL", "FLUSHDB", "KEYS", "SCAN", "RANDOMKEY", "SWAPDB"}


def touched(commands: list[list[str]]) -> set[str]:
    """The keys in them: those of a script are its own commands, which are shown as well."""
    found: set[str] = set()
    for command, *rest in commands:
        word = command.upper()
        assert word not in EVERYTHING
        if word not in WITHOUT_KEYS | {"EVAL", "EVALSHA", "SCRIPT"}:
            found.add(rest[0])
    return found


async def watched(run: Run, step: Step) -> None:
    """A full run: what the case has, and purges, limits, refreshes, and leases of three kinds."""
    assert run.redis is not None
    with run.redis.client() as client, Monitor(client) as monitor:
        await asyncio.sleep(1.2)  # the filters' and the feed's first rounds
        gateway = run.gateways[1]
        for _ in range(2):
            await run.chat("n", model=DEAR)
        await run.step(step)
        await asyncio.sleep(2.0)  # until what was stored is stale
        await run.chat("n", model=DEAR)
        read = {words[1] for words in monitor.commands if words[0] == "GET"}
        for name in sorted(name for name in read if name.endswith(":e"))[:3]:
            purge(gateway, {"key": name.partition("{")[2].partition("}")[0]})
        assert purge(gateway, {"scope": "all"}) == 200
        await asyncio.sleep(1.2)
    run.outputs = sorted(touched(monitor.commands))


def under_watch(steps: list[Step]) -> None:
    steps[2]["step"]["of"][1]["via"] = "gw2"
    steps[:] = [{"do": "fault", "what": "watch", "of": steps[2]}]


async def watch(run: Run, step: Step) -> None:
    await watched(run, step["of"])


@case(
    "rd-namespace-everywhere",
    gateways=2,
    redis=True,
    settings=dear,
    change=under_watch,
    act=watch,
)
async def every_key_has_the_prefix(run: Run) -> None:
    assert run.redis is not None
    kinds = {name.rpartition(":")[2].rstrip("0123456789") for name in run.outputs}

    assert not [name for name in run.outputs if not name.startswith("envA:{")]
    assert {"e", "l", "t", "epoch", "purges", "bits", "pages", "version", "b"} <= kinds
    assert all(name.startswith(b"envA:{") for name in names(run.redis))
    with run.redis.client() as client:
        assert all(int(str(client.pttl(name))) > 0 for name in names(run.redis))


FOREIGN = [f"queue:{i}" for i in range(500)]


async def foreign(run: Run, step: Step) -> None:
    """Other systems' keys, then the purge."""
    assert run.redis is not None
    with run.redis.client() as client:
        if step["do"] == "admin":
            with Monitor(run.redis.client()) as monitor:
                assert purge(run.gateway, {"scope": "all"}) == 200
                await asyncio.sleep(0.5)
            touched(monitor.commands)
            return
        client.mset(dict.fromkeys(FOREIGN, "kept"))
        client.execute_command("SELECT", 1)
        client.mset(dict.fromkeys(FOREIGN, "kept"))
        client.execute_command("SELECT", 0)


@case("ad-flush-scope", redis=True, act=foreign)
async def a_purge_of_all_leaves_other_systems_alone(run: Run) -> None:
    assert run.redis is not None
    assert (await run.chat("f0")).x_cache == "MISS"
    with run.redis.client() as client:
        for number in (0, 1):
            client.execute_command("SELECT", number)
            assert client.mget(FOREIGN) == [b"kept"] * 500


def fewer(steps: list[Step]) -> None:
    steps[0]["n"] = 150


def spread(upstream: Channel) -> Settings:
    plain = {"stale_while_revalidate": 0, "stale_if_error": 0, "early_refresh": 0.0}
    times = {"ttl": "100s", "jitter": 0.1, "max_ttl": "105s", "normalize": "none"}
    return {"cache": {**times, **plain}}


async def read_left(run: Run, step: Step) -> None:
    """What Redis says, and what a hit in memory says of the same answer."""
    assert run.redis is not None
    redis = run.redis
    await run.upstream.until(lambda: len(keys(redis)) == 150)
    with run.redis.client() as client:
        left = {
            name.decode(): client.pttl(name) for name in names(run.redis) if name.endswith(b":e")
        }
    for i in range(150):
        hit = await run.chat(f"batch {i}")
        told = dict(
            part.strip().partition("=")[::2]
            for part in (hit.head.get("cache-status") or "").split(";")
        )
        key, age = hit.head.get("x-cache-key") or "?", int(hit.head.get("age") or 0)
        (far,) = (int(str(ms)) / 1000 for name, ms in left.items() if "{" + key in name)
        run.outputs.append(f"{int(told['ttl']) + age} {far}")


@case("tt-jitter-herd", redis=True, settings=spread, change=fewer, act=read_left)
async def lifetimes_are_spread_below_the_ceiling(run: Run) -> None:
    near, far = zip(*(map(float, line.split()) for line in run.outputs), strict=True)
    for left in (near, far):
        assert statistics.pstdev(left) > 2
        assert 101 < max(left) <= 105
    assert 85 <= min(near) < 97
    # Redis' are those of one moment: the first ones had been there for as long as it all took.
    assert max(abs(one - other) for one, other in zip(near, far, strict=True)) < 15
    assert run.calls == 150
