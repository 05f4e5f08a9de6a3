"""Encryption through whole gateways: nothing to be read anywhere, nothing lost by a rotation."""

from __future__ import annotations

import asyncio
import base64
import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests import answers
from tests.aws_server import AwsServer
from tests.client import post
from tests.e2e import fleet
from tests.e2e.stores import CHEAP, Place, asked, dumped, files, forget_ours, keys
from tests.redis_server import RedisServer, free_port
from tests.reply import Reply, Seen, body

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from tests.client import Got
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway, Settings
    from tests.upstream import Channel

pytestmark = pytest.mark.timeout(60)
ALIAS = "alias/hotprefix"
PROMPT, ANSWER = "prompt-zebra", "answer-walrus"


def secret(number: int) -> bytes:
    """Key material that is easy to find again."""
    return bytes(range(number, number + 32))


def text(material: bytes) -> str:
    return base64.b64encode(material).decode()


@dataclass
class House:
    """A fleet's stores, and where its wrapping keys are."""

    start: Start
    redis: RedisServer
    place: Place
    key: str = ""
    env: dict[str, str] = field(default_factory=dict)
    material: Sequence[bytes] = ()
    """What may show up nowhere."""

    def gateway(self, *more: Settings) -> Gateway:
        """On a new machine: its disk is empty."""
        settings = fleet.merged(fleet.settings(self.redis.url), self.place.settings)
        own: Settings = {"cache": {"encryption": {"key": self.key}}}
        for one in (own, *more):
            settings = fleet.merged(settings, one)
        return self.start(settings, {**self.env, **fleet.SECRET})


@pytest.fixture
def house(start: Start, redis: RedisServer, tmp_path: Path) -> House:
    place = Place(f"file://{tmp_path}/objects", {}, folder=tmp_path / "objects")
    return House(start, redis, place)


def named(name: str, material: bytes, house: House) -> None:
    """A key in the environment."""
    house.key = f"env:{name}"
    house.env = {**house.env, name: text(material)}
    house.material = [*house.material, material]


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsServer]:
    with AwsServer(tmp_path_factory.mktemp("aws")) as server:
        made(server)
        yield server


def made(server: AwsServer) -> None:
    """A key under the name that the gateways are given."""
    client = server.client("kms")
    key = client.create_key()["KeyMetadata"]["KeyId"]
    client.create_alias(AliasName=ALIAS, TargetKeyId=key)


@pytest.fixture(params=["env", "kms"])
def sealed(request: pytest.FixtureRequest, house: House) -> House:
    if request.param == "env":
        named("CACHE_KEY", secret(0), house)
    else:
        aws: AwsServer = request.getfixturevalue("aws")
        house.key, house.env = f"aws-kms:{ALIAS}", aws.environment
    return house


def says(words: str) -> Any:
    def script(seen: Seen) -> Reply:
        return body(answers.chat(f"{words} {seen.number}"))

    return script


async def ask(one: Gateway, upstream: Channel, words: str, *more: tuple[str, str]) -> Got:
    return await post(one.port, upstream.key, asked(words), *more)


async def hit(one: Gateway, upstream: Channel, words: str) -> Got:
    """A stored answer, once it can be read: a data key of another process is first unwrapped."""
    for _ in range(200):
        got = await ask(one, upstream, words, ("Cache-Control", "only-if-cached"))
        if got.status == 200:
            return got
        await asyncio.sleep(0.02)
    raise TimeoutError("it is stored nowhere")


async def sealing(one: Gateway, house: House, upstream: Channel) -> None:
    """Until answers are stored outside of the process: the keeper of keys was asked."""
    for number in range(400):
        if keys(house.redis):
            return
        await post(one.port, upstream.key, asked(f"{PROMPT} {number}", CHEAP))
        await asyncio.sleep(0.05)
    raise TimeoutError("nothing is stored")


async def filled(one: Gateway, house: House, upstream: Channel) -> None:
    """A short and a long answer in every tier."""
    await sealing(one, house, upstream)
    upstream.default = says(ANSWER)
    await ask(one, upstream, PROMPT)
    upstream.default = says(f"{ANSWER} " * 2000)
    await ask(one, upstream, f"{PROMPT} long")
    for words in (PROMPT, f"{PROMPT} long"):
        assert (await ask(one, upstream, words)).get("x-cache") == "HIT"
    await upstream.until(lambda: len(house.place.objects()) == 2)
    await upstream.until(lambda: bool(house.place.epoch()))


def seen_in(house: House, gateways: Sequence[Gateway]) -> dict[str, bytes]:
    """All that anybody could lay hands on."""
    objects = b"".join(name.encode() + data for name, data in house.place.all().items())
    found = {"redis": dumped(house.redis), "objects": objects}
    for number, one in enumerate(gateways):
        disk = files(one.disk)
        found[f"disk {number}"] = b"".join(name.encode() + data for name, data in disk.items())
        found[f"metrics {number}"] = one.admin("/metrics")[1].encode()
        found[f"stats {number}"] = one.admin("/admin/stats")[1].encode()
        found[f"log {number}"] = (one.stdout() + one.stderr()).encode()
    return found


def told(places: dict[str, bytes], house: House, upstream: Channel) -> set[tuple[str, str]]:
    """Which secrets are to be read where."""
    words = {"prompt": PROMPT.encode(), "answer": ANSWER.encode(), "key": upstream.token.encode()}
    shapes = [
        shape
        for one in house.material
        for shape in (one, one.hex().encode(), text(one).rstrip("=").encode(), one[:16])
    ]
    found = {
        (name, place)
        for name, word in words.items()
        for place, data in places.items()
        if word in data
    }
    return found | {
        ("material", place) for shape in shapes for place, data in places.items() if shape in data
    }


async def test_every_tier_serves_what_no_dump_tells(sealed: House, upstream: Channel) -> None:
    first = sealed.gateway()
    await filled(first, sealed, upstream)
    calls = upstream.calls
    first.stop()
    first.start()
    from_disk = await hit(first, upstream, PROMPT)
    second = sealed.gateway()
    from_redis = await hit(second, upstream, PROMPT)
    places = seen_in(sealed, [first, second])
    forget_ours(sealed.redis)
    for one in (first, second):
        one.stop()
    first.disk.rename(first.folder / "lost")
    first.start()
    from_objects = await hit(first, upstream, f"{PROMPT} long")

    assert from_disk.get("x-cache-tier") == "disk"
    assert from_redis.get("x-cache-tier") == "redis"
    assert from_objects.get("x-cache-tier") == "objects"
    assert ANSWER in from_objects.body.decode()
    assert upstream.calls == calls
    assert told(places, sealed, upstream) == set()
    assert min(len(places[name]) for name in ("redis", "objects", "disk 0")) > 1000


async def test_without_encryption_the_search_finds_the_answer(
    house: House, upstream: Channel
) -> None:
    """Else the test above could not fail. Of the question and of who asked nothing is stored."""
    one = house.gateway()
    await filled(one, house, upstream)
    one.stop()
    one.start()

    found = told(seen_in(house, [one]), house, upstream)

    assert found == {("answer", place) for place in ("redis", "objects", "disk 0")}


async def test_with_another_key_all_is_a_miss(house: House, upstream: Channel) -> None:
    named("ONE", secret(0), house)
    one = house.gateway()
    await ask(one, upstream, "a")
    await upstream.until(lambda: len(keys(house.redis)) >= 1)
    named("OTHER", secret(50), house)
    other = house.gateway()

    got = [await ask(other, upstream, "a") for _ in range(2)]

    assert [one.get("x-cache") for one in got] == ["MISS", "HIT"]
    assert [one.status for one in got] == [200, 200]
    assert upstream.calls == 2


class Traffic:
    """Clients that ask on and on, of whichever gateways are up."""

    def __init__(self, upstream: Channel, questions: list[str]) -> None:
        self.up: list[Gateway] = []
        self.questions = questions
        self.got: list[Got] = []
        self._upstream = upstream
        self._over = False

    async def run(self) -> None:
        turns = itertools.count()
        while not self._over:
            turn = next(turns)
            one = self.up[turn % len(self.up)]
            words = self.questions[turn % len(self.questions)]
            self.got.append(await ask(one, self._upstream, words))
            await asyncio.sleep(0.005)

    def end(self) -> None:
        self._over = True


async def restarted(one: Gateway, traffic: Traffic, encryption: Settings) -> None:
    """With other settings, and out of the balancer meanwhile."""
    traffic.up.remove(one)
    await asyncio.to_thread(one.stop)
    one.settings = {**one.settings, "cache": {**one.settings["cache"], "encryption": encryption}}
    await asyncio.to_thread(one.start)
    traffic.up.append(one)


async def test_a_rotation_of_two_live_gateways_loses_nothing(
    house: House, upstream: Channel, tmp_path: Path
) -> None:
    """Memory holds nothing here, so that each hit is opened anew."""
    named("OLD", secret(0), house)
    (tmp_path / "new").write_text(secret(50).hex())
    old, new = house.key, f"file:{tmp_path}/new"
    steps: list[Settings] = [{"key": old, "old_keys": [new]}, {"key": new, "old_keys": [old]}]
    bare: Settings = {"cache": {"memory": {"max_bytes": 0}}}
    both = [house.gateway(bare) for _ in range(2)]
    questions = [f"question {number}" for number in range(6)]
    for words in questions:
        await ask(both[0], upstream, words)
    await upstream.until(lambda: len(keys(house.redis)) >= 6)
    traffic = Traffic(upstream, questions)
    traffic.up += both
    task = asyncio.create_task(traffic.run())
    stored = 6
    for step in steps:
        for one in both:
            await restarted(one, traffic, step)
            # What each of them seals now, the other one opens.
            for writer, reader in (both, both[::-1]):
                words = f"stored {stored}"
                stored += 1
                assert (await ask(writer, upstream, words)).get("x-cache") == "MISS"
                assert (await hit(reader, upstream, words)).get("x-cache-tier") == "redis"
    calls = upstream.calls
    await restarted(both[0], traffic, {"key": new})
    after = await ask(both[0], upstream, "stored 13")
    traffic.end()
    await task

    assert {got.status for got in traffic.got} == {200}
    assert calls == stored
    assert after.get("x-cache") == "HIT"
    assert upstream.calls <= calls + len(questions)  # what the former key alone could open
    assert len(traffic.got) > 50


async def test_without_its_keeper_nothing_is_stored_in_the_clear_until_it_is_back(
    house: House, upstream: Channel, tmp_path: Path
) -> None:
    server = AwsServer(tmp_path, free_port())
    house.key, house.env = f"aws-kms:{ALIAS}", server.environment
    one = house.gateway()
    upstream.default = says(ANSWER)
    got = [await ask(one, upstream, PROMPT) for _ in range(2)]
    await asyncio.sleep(0.3)

    assert [one.status for one in got] == [200, 200]
    assert got[1].get("x-cache-tier") == "memory"
    assert keys(house.redis) == set()
    assert house.place.objects() == {}
    assert told(seen_in(house, [one]), house, upstream) == set()
    with server:
        made(server)
        await sealing(one, house, upstream)
        assert told(seen_in(house, [one]), house, upstream) == set()
        await upstream.until(lambda: turns(one) == [False, True])


def turns(one: Gateway) -> list[bool]:
    """The log's lines on whether there is a key."""
    found = (line for line in one.log() if line.get("tier") == "encryption")
    return [line["working"] for line in found if "working" in line]
