"""The object tier behind whole gateways, in a folder and on a real S3 endpoint."""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import TYPE_CHECKING

import pytest

from tests.aws_server import AwsServer
from tests.client import post
from tests.e2e import fleet
from tests.e2e.stores import CHEAP, Place, asked, forget_ours, keys, purge
from tests.reply import Reply, numbered

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.client import Got
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.redis_server import RedisServer
    from tests.reply import Seen
    from tests.upstream import Channel

pytestmark = pytest.mark.timeout(60)
numbers = itertools.count()


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AwsServer]:
    with AwsServer(tmp_path_factory.mktemp("aws")) as server:
        yield server


@pytest.fixture
def s3(aws: AwsServer) -> Place:
    bucket = f"bucket-{next(numbers)}"
    aws.client("s3").create_bucket(Bucket=bucket)
    return Place(f"s3://{bucket}/answers", aws.environment, aws=aws)


@pytest.fixture
def folder(tmp_path: Path) -> Place:
    return Place(f"file://{tmp_path}/objects", {}, folder=tmp_path / "objects")


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest) -> Place:
    found: Place = request.getfixturevalue(request.param)
    return found


def gateway(start: Start, place: Place, redis: RedisServer) -> Gateway:
    """A new machine of the fleet: its disk is empty."""
    settings = fleet.merged(fleet.settings(redis.url), place.settings)
    return start(settings, {**place.env, **fleet.SECRET})


def alone(start: Start, place: Place, **objects: object) -> Gateway:
    settings = fleet.merged(place.settings, {"cache": {"objects": objects}})
    return start(settings, place.env)


async def ask(one: Gateway, upstream: Channel, text: str, *more: tuple[str, str]) -> Got:
    return await post(one.port, upstream.key, asked(text), *more)


async def lies_there(place: Place, upstream: Channel, count: int) -> None:
    await upstream.until(lambda: len(place.objects()) == count)


def shown(got: Got) -> tuple[str | None, str | None, str]:
    """The outcome, the tier and the text."""
    text = got.json()["choices"][0]["message"]["content"]
    return got.get("x-cache"), got.get("x-cache-tier"), text


async def test_a_dear_answer_is_found_where_all_else_is_lost(
    start: Start, place: Place, redis: RedisServer, upstream: Channel
) -> None:
    first = gateway(start, place, redis)
    got = [await ask(first, upstream, "prompt-zebra") for _ in range(3)]
    for _ in range(3):
        await post(first.port, upstream.key, asked("cheap", CHEAP))
    await ask(first, upstream, "dear, and not asked for again")
    await lies_there(place, upstream, 1)
    await upstream.until(lambda: bool(place.epoch()))
    first.kill()
    forget_ours(redis)

    second = gateway(start, place, redis)
    again = await ask(second, upstream, "prompt-zebra")
    await upstream.until(lambda: len(keys(redis)) >= 1)
    third = gateway(start, place, redis)

    assert [shown(one)[:2] for one in got] == [("MISS", None), ("HIT", "memory"), ("HIT", "memory")]
    assert shown(again) == ("HIT", "objects", "#1")
    assert shown(await ask(second, upstream, "prompt-zebra")) == ("HIT", "memory", "#1")
    assert shown(await ask(third, upstream, "prompt-zebra")) == ("HIT", "redis", "#1")
    assert upstream.calls == 3
    tell_nothing(place, got[0].get("x-cache-key") or "", upstream)


def tell_nothing(place: Place, key: str, upstream: Channel) -> None:
    """Names hold no part of a key; and no answer holds its question, or who asked it."""
    ((name, data),) = place.objects().items()
    for secret in (key[:8], "zebra", upstream.token):
        assert secret
        assert secret not in name.replace("/", "")
    for secret in ("zebra", upstream.token):
        assert secret.encode() not in data


async def test_after_a_refresh_by_request_the_older_answer_never_comes_up_again(
    start: Start, s3: Place, redis: RedisServer, upstream: Channel
) -> None:
    """Also where another gateway had it, on a disk of its own."""
    one, other = gateway(start, s3, redis), gateway(start, s3, redis)
    for at in (one, other, other):
        await ask(at, upstream, "a")
    await lies_there(s3, upstream, 1)
    renewed = await ask(one, upstream, "a", ("Cache-Control", "no-cache"))
    await lies_there(s3, upstream, 0)
    other.stop()
    other.start()  # it has forgotten what it wrote
    old = [shown(await ask(other, upstream, "a")) for _ in range(2)]
    for at in (one, other):
        at.stop()  # which waits for what is being written
    forget_ours(redis)
    after = await ask(gateway(start, s3, redis), upstream, "a")

    assert shown(renewed) == ("REFRESH", None, "#2")
    assert {text for _, _, text in old} <= {"#1", "#2"}  # whether it has heard of it yet
    assert shown(after)[2] in ("#2", "#3")


async def test_a_purge_reaches_it_from_any_gateway(
    start: Start, folder: Place, redis: RedisServer, upstream: Channel
) -> None:
    one, other = gateway(start, folder, redis), gateway(start, folder, redis)
    got = [await ask(one, upstream, "a") for _ in range(2)]
    await lies_there(folder, upstream, 1)
    key = next(key for key in keys(redis) if key.startswith(got[0].get("x-cache-key") or "?"))

    assert purge(other, {"key": key}) == 200
    assert folder.objects() == {}
    await gone(one, upstream)
    assert shown(await ask(one, upstream, "a"))[2] == "#2"
    assert purge(other, {"key": "00" * 32}) == 404


async def gone(one: Gateway, upstream: Channel) -> None:
    """Until it has heard of the purge."""
    for _ in range(200):
        got = await ask(one, upstream, "a", ("Cache-Control", "only-if-cached"))
        if got.status == 504:
            return
        await asyncio.sleep(0.02)
    raise TimeoutError("the purge was not heard")


async def test_a_purge_of_all_voids_objects_for_machines_that_never_heard_of_it(
    start: Start, folder: Place, redis: RedisServer, upstream: Channel
) -> None:
    one = gateway(start, folder, redis)
    for _ in range(2):
        await ask(one, upstream, "a")
    await lies_there(folder, upstream, 1)
    await upstream.until(lambda: bool(folder.epoch()))
    before = folder.epoch()
    assert purge(one, {"scope": "all"}) == 200
    await upstream.until(lambda: folder.epoch() not in (b"", before))
    one.kill()
    forget_ours(redis)

    other = gateway(start, folder, redis)

    assert shown(await ask(other, upstream, "a")) == ("MISS", None, "#2")


async def test_without_redis_a_new_machine_finds_what_others_have_left(
    start: Start, s3: Place, upstream: Channel
) -> None:
    one = alone(start, s3)
    got = [shown(await ask(one, upstream, "a")) for _ in range(3)]
    await lies_there(s3, upstream, 1)
    one.kill()

    other = alone(start, s3)

    assert shown(await ask(other, upstream, "a")) == ("HIT", "objects", "#1")
    assert {text for _, _, text in got} == {"#1"}


LIMIT = 0.25
PATIENCE = 2.0
"""Seconds of a request: much more than the limit, as the machine may be busy."""


def looks(one: Gateway, result: str) -> float:
    name = "hotprefix_cache_lookup_seconds_count"
    return one.total(name, tier="objects", result=result)


@pytest.mark.parametrize("trouble", ["frozen", "gone", "erring"])
async def test_a_store_in_trouble_costs_no_request_and_little_time(
    start: Start, s3: Place, aws: AwsServer, upstream: Channel, trouble: str
) -> None:
    bucket = s3.url.removeprefix("s3://").partition("/")[0]

    def script(seen: Seen) -> Reply:
        return Reply((b"no",), status=500) if upstream.token in seen.path else numbered(seen)

    upstream.default = script
    if trouble == "gone":
        s3.env = {**s3.env, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    elif trouble == "erring":
        s3.env = {**s3.env, "AWS_ENDPOINT_URL": upstream.url.removesuffix("/v1")}
        s3.url = s3.url.replace(bucket, upstream.token)
    one = alone(start, s3, timeout=LIMIT)
    if trouble == "frozen":
        aws.freeze()
    try:
        began, most = time.monotonic(), 0.0
        for number in range(40):
            since = time.monotonic()
            got = [await ask(one, upstream, f"{number}") for _ in range(2)]
            most = max(most, time.monotonic() - since)
            assert [one.status for one in got] == [200, 200]
            assert got[1].get("x-cache") == "HIT"
        spent = time.monotonic() - began
        await asyncio.sleep(0.6)  # until the numbers are published
        tried, turned = looks(one, "error"), told(one, "objects")
    finally:
        aws.thaw()

    assert most < PATIENCE
    assert 0 < tried <= 5 + spent + 1
    assert turned == [False]
    if trouble == "frozen":
        await heals(one, upstream)


async def heals(one: Gateway, upstream: Channel) -> None:
    for number in range(200):
        await ask(one, upstream, f"later {number}")
        if told(one, "objects") == [False, True]:
            return
        await asyncio.sleep(0.05)
    raise TimeoutError("it was not taken back")


def told(one: Gateway, tier: str) -> list[bool]:
    """The log's lines on whether a tier works."""
    lines = one.log()
    return [line["working"] for line in lines if "working" in line and line["tier"] == tier]


async def test_what_was_purged_while_the_store_was_away_does_not_come_back(
    start: Start, s3: Place, aws: AwsServer, redis: RedisServer, upstream: Channel
) -> None:
    one = gateway(start, s3, redis)
    got = [await ask(one, upstream, "a") for _ in range(2)]
    await lies_there(s3, upstream, 1)
    key = next(key for key in keys(redis) if key.startswith(got[0].get("x-cache-key") or "?"))
    aws.freeze()
    try:
        assert purge(one, {"key": key}) == 200
    finally:
        aws.thaw()
    after = await ask(one, upstream, "a")

    assert shown(after)[2] == "#2"
    await upstream.until(lambda: s3.objects() == {})
