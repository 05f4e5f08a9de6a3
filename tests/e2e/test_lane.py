"""The fast lane on real connections: the same bytes again, and whatever tries to look like them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from tests import answers
from tests.client import Connection, answer, spelled
from tests.reply import JSON_TYPE, body

if TYPE_CHECKING:
    from tests.client import Got
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.upstream import Channel


def request(
    upstream: Channel, text: str, *, path: str = "/v1/chat/completions", key: str = ""
) -> bytes:
    sent = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
    given = [
        ("Authorization", f"Bearer {key or upstream.key}"),
        ("Connection", "keep-alive"),
        JSON_TYPE,
        ("Content-Length", str(len(sent))),
    ]
    return spelled("POST", path, given) + sent


async def again(connection: Connection, data: bytes, times: int) -> list[Got]:
    got = []
    for _ in range(times):
        await connection.send(data)
        got.append(await answer(connection))
    return got


async def learned(connection: Connection, data: bytes) -> None:
    """Have the lane know it: who asks again too soon goes the long way, and is not remembered."""
    for _ in range(3):
        await again(connection, data, 1)
        await asyncio.sleep(0.02)


async def test_the_same_bytes_on_one_connection_are_fresh_hits(
    gateway: Gateway, upstream: Channel
) -> None:
    async with await Connection.to(gateway.port) as connection:
        first, *hits = await again(connection, request(upstream, "a"), 6)

    assert first.get("x-cache") == "MISS"
    assert {hit.get("x-cache") for hit in hits} == {"HIT"}
    assert {hit.body for hit in hits} == {first.body}
    assert len({hit.get("x-request-id") for hit in hits}) == 5
    assert all(hit.get("date") and hit.get("age") == "0" for hit in hits)
    assert upstream.calls == 1


async def test_hits_of_the_lane_are_counted_and_logged(start: Start, upstream: Channel) -> None:
    gateway = start({})
    async with await Connection.to(gateway.port) as connection:
        await learned(connection, request(upstream, "a"))
        await again(connection, request(upstream, "a"), 3)
    await asyncio.sleep(0.6)

    assert gateway.total("hotprefix_requests_total", cache_status="hit") == 5
    requests = [line for line in gateway.log() if line["event"] == "request"]
    assert [line["outcome"] for line in requests] == ["MISS"] + ["HIT"] * 5
    assert len({line["bytes_in"] for line in requests}) == 1


async def test_another_key_is_another_tenant(gateway: Gateway, upstream: Channel) -> None:
    async with await Connection.to(gateway.port) as connection:
        await again(connection, request(upstream, "a"), 3)
        (other,) = await again(connection, request(upstream, "a", key=f"{upstream.key}x"), 1)

    assert other.get("x-cache") == "MISS"


async def test_a_known_request_inside_the_body_of_another_is_not_answered(
    gateway: Gateway, upstream: Channel
) -> None:
    """Its bytes arrive alone, in a piece of their own, but they belong to the upload."""
    known = request(upstream, "a")
    upload = [("Authorization", f"Bearer {upstream.key}"), ("Content-Length", str(len(known)))]
    async with await Connection.to(gateway.port) as connection:
        await learned(connection, known)
        await connection.send(spelled("POST", "/v1/files", upload))
        await asyncio.sleep(0.1)  # the head has arrived alone
        await connection.send(known)
        got = await answer(connection)
        (hit,) = await again(connection, known, 1)

    assert got.get("x-cache") == "BYPASS"
    assert bytes(upstream.seen[1].body) == known
    assert hit.get("x-cache") == "HIT"


async def test_a_known_request_inside_the_head_of_another_is_not_answered(
    gateway: Gateway, upstream: Channel
) -> None:
    """As long as a head has no end, there is no request yet that could be waited for."""
    known = request(upstream, "a")
    async with await Connection.to(gateway.port) as connection:
        await learned(connection, known)
        await connection.send(b"POST /v1/files HTTP/1.1\r\nX-A: ")
        await asyncio.sleep(0.1)
        await connection.send(known)
        got = await answer(connection)

    assert got.get("x-cache") == "BYPASS"
    assert upstream.seen[1].path == "/v1/files"


async def test_requests_in_a_row_are_answered_in_order(gateway: Gateway, upstream: Channel) -> None:
    """A known one behind a slow one waits for its turn."""
    known, gate = request(upstream, "a"), upstream.gate()
    async with await Connection.to(gateway.port) as connection:
        await again(connection, known, 3)
        upstream.reply(body(answers.chat("slow"), hold=gate))
        await connection.send(request(upstream, "b"))
        await upstream.until(lambda: gate.reached)
        await connection.send(known)
        await connection.send(known)
        gate.open()
        slow, *hits = [await answer(connection) for _ in range(3)]
        (alone,) = await again(connection, known, 1)

    assert slow.json()["choices"][0]["message"]["content"] == "slow"
    assert {hit.get("x-cache") for hit in hits} == {"HIT"}
    assert {hit.body for hit in hits} == {alone.body}
    assert b"slow" not in alone.body


async def test_a_request_in_pieces_is_one_request(gateway: Gateway, upstream: Channel) -> None:
    known = request(upstream, "a")
    async with await Connection.to(gateway.port) as connection:
        first, *_ = await again(connection, known, 3)
        for piece in (known[:10], known[10:-3], known[-3:]):
            await connection.send(piece)
            await asyncio.sleep(0.02)
        got = await answer(connection)
        after = await again(connection, known, 2)

    assert {one.body for one in (got, *after)} == {first.body}


async def test_a_long_request_in_pieces_is_known_too(gateway: Gateway, upstream: Channel) -> None:
    known = request(upstream, "word " * 30_000)
    async with await Connection.to(gateway.port) as connection:
        first, *hits = await again(connection, known, 4)
        await connection.send(known[:70_000])
        await asyncio.sleep(0.05)
        await connection.send(known[70_000:])
        hits.append(await answer(connection))
        await connection.send(known[:-1] + known[-1:] + known[:20])
        hits.append(await answer(connection))
        await connection.send(known[20:])
        hits.append(await answer(connection))

    assert first.get("x-cache") == "MISS"
    assert {(hit.get("x-cache"), hit.body) for hit in hits} == {("HIT", first.body)}


async def test_who_leaves_in_the_middle_of_a_request_leaves_nothing(
    gateway: Gateway, upstream: Channel
) -> None:
    known = request(upstream, "a")
    for cut in (3, len(known) // 2, len(known) - 1):
        async with await Connection.to(gateway.port) as connection:
            await again(connection, known, 2)
            await connection.send(known[:cut])
    async with await Connection.to(gateway.port) as connection:
        (hit,) = await again(connection, known, 1)

    assert hit.get("x-cache") == "HIT"
    assert upstream.calls == 1


async def test_what_was_purged_or_has_expired_is_asked_for_again(
    start: Start, upstream: Channel
) -> None:
    cache = {
        "ttl": "400ms",
        "jitter": 0.0,
        "stale_while_revalidate": 0,
        "stale_if_error": 0,
        "early_refresh": 0.0,
    }
    gateway, known = start({"cache": cache}), request(upstream, "a")
    async with await Connection.to(gateway.port) as connection:
        await again(connection, known, 3)
        while (await again(connection, known, 1))[0].get("x-cache") == "HIT":
            pass

    assert upstream.calls == 2


async def test_no_cache_is_obeyed_on_the_lane(gateway: Gateway, upstream: Channel) -> None:
    known = request(upstream, "a")
    anew = known.replace(b"Connection:", b"Cache-Control: no-cache\r\nConnection:")
    async with await Connection.to(gateway.port) as connection:
        await again(connection, known, 3)
        got = await again(connection, anew, 3)
        (hit,) = await again(connection, known, 1)

    assert {one.get("x-cache") for one in got} == {"REFRESH"}
    assert hit.body == got[-1].body
    assert upstream.calls == 4


async def test_a_connection_that_only_uses_the_lane_is_kept(
    start: Start, upstream: Channel
) -> None:
    """Its keep-alive time counts from the last answer, not from the last one that was parsed."""
    gateway, known = start({"server": {"keepalive_timeout": "1s"}}), request(upstream, "a")
    async with await Connection.to(gateway.port) as connection:
        got = await again(connection, known, 1)
        for _ in range(8):
            await asyncio.sleep(0.3)
            got += await again(connection, known, 1)

    assert [one.get("x-cache") for one in got] == ["MISS"] + ["HIT"] * 8


async def test_a_body_may_arrive_for_longer_than_a_connection_is_kept(
    start: Start, upstream: Channel
) -> None:
    """It is no idle connection while pieces of a request come."""
    gateway, known = start({"server": {"keepalive_timeout": "1s"}}), request(upstream, "a")
    async with await Connection.to(gateway.port) as connection:
        (first,) = await again(connection, known, 1)
        for piece in (known[:-4], *(known[at:][:1] for at in range(-4, -1)), known[-1:]):
            await asyncio.sleep(0.3)
            await connection.send(piece)
        got = await answer(connection)

    assert (got.get("x-cache"), got.body) == ("HIT", first.body)
