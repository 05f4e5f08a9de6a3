"""What is not cacheable passes untouched, both ways, byte for byte and header for header."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING

import pytest
import zstandard

from tests import answers
from tests.client import Connection, answer, ask, post, spelled
from tests.reply import JSON_TYPE, Reply, body

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.reply import Headers
    from tests.upstream import Channel

ASKED = {"model": "m-small", "messages": [{"role": "user", "content": "hi"}]}

# What one connection owes the next; a proxy makes its own.
HOP = {"host", "connection", "keep-alive", "transfer-encoding", "content-length", "date"}
OURS = {"cache-status", "x-cache"}


def end_to_end(headers: Headers, *extra: str) -> Headers:
    """Headers without those of the connection, and without `extra`; names as spelled."""
    dropped = HOP | set(extra)
    return tuple(pair for pair in headers if pair[0].lower() not in dropped)


def credential(upstream: Channel) -> tuple[str, str]:
    return ("Authorization", f"Bearer {upstream.key}")


BODIES = {
    "multipart": (
        "multipart/form-data; boundary=xYz",
        b'--xYz\r\nContent-Disposition: form-data; name="file"; filename="\xc3\xbc.bin"\r\n\r\n'
        + bytes(range(256))
        + b"\r\n--xYz--\r\n",
        "audio/transcriptions",
    ),
    "binary": ("audio/mpeg", b"\xff\xfb\x90\x00" * 1000, "audio/x"),
    "jsonl": ("application/jsonl", b'{"a":1}\n{"b":2}\n\n', "files"),
    "empty": ("application/octet-stream", b"", "uploads/u/parts"),
    "sdp": ("application/sdp", b"v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n", "realtime/calls"),
}


@pytest.mark.parametrize("name", BODIES)
async def test_bodies_arrive_as_sent(gateway: Gateway, upstream: Channel, name: str) -> None:
    kind, sent, path = BODIES[name]
    given = [credential(upstream), ("Content-Type", kind)]
    await ask(gateway.port, "POST", f"/v1/{path}", given, sent)

    (seen,) = upstream.seen
    assert bytes(seen.body) == sent
    assert seen.all("content-type") == [kind]
    assert seen.all("content-length") == [str(len(sent))]
    assert seen.get("transfer-encoding") is None


@pytest.mark.parametrize("path", ["files", "chat/completions"])
async def test_32_mib_pass_both_ways(gateway: Gateway, upstream: Channel, path: str) -> None:
    sent = os.urandom(1 << 20) * 33
    upstream.reply(Reply((sent,), headers=(("Content-Type", "application/octet-stream"),)))
    given = [credential(upstream), ("Content-Type", "application/octet-stream")]
    got = await ask(gateway.port, "POST", f"/v1/{path}", given, sent)

    assert got.complete
    assert got.body == sent
    assert bytes(upstream.seen[0].body) == sent


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"])
async def test_every_method_passes_with_its_headers(
    gateway: Gateway, upstream: Channel, method: str
) -> None:
    given = (
        credential(upstream),
        ("X-Odd-CASE", "Ü".encode().decode("latin-1")),
        ("X-Twice", "a"),
        ("X-Twice", "b, c"),
        ("Cookie", "mine=1"),
        ("User-Agent", "me/1"),
    )
    sent: Headers = (("X-Up", "1"), ("Set-Cookie", "a=1"), ("set-cookie", "b=2"), ("X-UP", "2"))
    upstream.reply(Reply((b"\x00\x01",), status=207, reason="Very Odd", headers=sent))
    got = await ask(gateway.port, method, "/v1/anything?x=%20", given)

    assert upstream.seen[0].line == f"{method} /v1/anything?x=%20 HTTP/1.1"
    assert end_to_end(upstream.seen[0].headers) == given
    assert (got.status, got.head.reason) == (207, "Very Odd")
    assert end_to_end(got.head.headers, *OURS) == sent
    assert got.body == b"\x00\x01"


async def test_repeats_spelled_differently_are_all_kept(
    gateway: Gateway, upstream: Channel
) -> None:
    given = [credential(upstream), ("X-Twice", "a"), ("x-twice", "b"), ("X-TWICE", "c")]
    await ask(gateway.port, "GET", "/v1/models", given)
    await post(gateway.port, upstream.key, ASKED, *given[1:])

    assert [seen.all("x-twice") for seen in upstream.seen] == [["a", "b", "c"]] * 2


async def test_head_has_the_length_of_what_it_leaves_out(
    gateway: Gateway, upstream: Channel
) -> None:
    upstream.reply(Reply((b"x" * 77,)))
    async with await Connection.to(gateway.port) as connection:
        await connection.send(spelled("HEAD", "/v1/files/f/content", [credential(upstream)]))
        head = await connection.head(bodiless=True)
        await connection.send(spelled("GET", "/v1/models", [credential(upstream)]))

        assert head.all("content-length") == ["77"]
        assert (await answer(connection)).status == 200


@pytest.mark.parametrize("status", [204, 304])
async def test_answers_without_a_body_have_no_invented_headers(
    gateway: Gateway, upstream: Channel, status: int
) -> None:
    upstream.reply(Reply(status=status, reason="Nothing", headers=(), framing="given"))
    got = await ask(gateway.port, "DELETE", "/v1/files/f", [credential(upstream)])

    assert got.status == status
    assert end_to_end(got.head.headers, *OURS) == ()


async def test_no_header_is_invented_on_the_way_up(gateway: Gateway, upstream: Channel) -> None:
    await ask(gateway.port, "POST", "/v1/moderations", [credential(upstream)], b"x")
    await ask(gateway.port, "GET", "/v1/models", [credential(upstream)])

    for seen in upstream.seen:
        assert end_to_end(seen.headers) == (credential(upstream),)
    assert upstream.seen[1].get("content-length") is None


async def test_an_upstream_sees_itself_as_host(gateway: Gateway, upstream: Channel) -> None:
    await ask(gateway.port, "GET", "/v1/models", [credential(upstream)])

    assert upstream.seen[0].all("host") == [upstream.url.split("/")[2]]


@pytest.mark.parametrize(
    "target",
    [
        "/v1/models/a%2Fb%3Ac",
        "/v1/models/a%2fb",
        "/v1/files?after=%F0%9F%98%80&include[]=a&include%5B%5D=b&empty=&flag",
        "/v1/x/../y/./z//w",
        "/v1/%E4%BD%A0;v=1,2?q=a+b%20c&q=%2B",
        "/v1/x?",
    ],
)
async def test_the_raw_target_survives(gateway: Gateway, upstream: Channel, target: str) -> None:
    await ask(gateway.port, "GET", target, [credential(upstream)])

    assert upstream.seen[0].target.removesuffix("?") == target.removesuffix("?")


async def test_a_chunked_upload_streams_through(gateway: Gateway, upstream: Channel) -> None:
    given = [credential(upstream), ("Transfer-Encoding", "chunked")]
    async with await Connection.to(gateway.port) as connection:
        await connection.send(spelled("POST", "/v1/files", given) + b"3\r\nabc\r\n")
        await upstream.until(lambda: upstream.calls == 1 and upstream.seen[0].body == b"abc")
        await connection.send(b"2\r\nde\r\n0\r\n\r\n")

        assert (await answer(connection)).status == 200
    assert bytes(upstream.seen[0].body) == b"abcde"
    assert upstream.seen[0].get("content-length") is None


async def test_a_chunked_json_request_is_cached_too(gateway: Gateway, upstream: Channel) -> None:
    sent = answers.dumps(ASKED)
    given = [credential(upstream), JSON_TYPE, ("Transfer-Encoding", "chunked")]
    async with await Connection.to(gateway.port) as connection:
        start = spelled("POST", "/v1/chat/completions", given)
        await connection.send(start + b"%x\r\n%b\r\n0\r\n\r\n" % (len(sent), sent))
        assert (await answer(connection)).get("x-cache") == "MISS"

    assert (await post(gateway.port, upstream.key, sent)).get("x-cache") == "HIT"
    assert bytes(upstream.seen[0].body) == sent


@pytest.mark.parametrize("path", ["files", "chat/completions"])
async def test_a_gzip_request_stays_gzip(gateway: Gateway, upstream: Channel, path: str) -> None:
    packed = gzip.compress(answers.dumps(ASKED))
    given = [credential(upstream), JSON_TYPE, ("Content-Encoding", "gzip")]
    upstream.default = body(answers.chat("packed"))
    got = await ask(gateway.port, "POST", f"/v1/{path}", given, packed)

    assert got.status == 200
    assert bytes(upstream.seen[0].body) == packed
    assert upstream.seen[0].all("content-encoding") == ["gzip"]


@pytest.mark.parametrize("path", ["files", "chat/completions"])
async def test_a_waiting_upload_is_told_to_continue(
    gateway: Gateway, upstream: Channel, path: str
) -> None:
    sent = answers.dumps(ASKED)
    given = [credential(upstream), JSON_TYPE, ("Expect", "100-continue")]
    given.append(("Content-Length", str(len(sent))))
    async with await Connection.to(gateway.port) as connection:
        await connection.send(spelled("POST", f"/v1/{path}", given))
        assert (await connection.head()).status == 100
        await connection.send(sent)

        assert (await answer(connection)).status == 200
    assert bytes(upstream.seen[0].body) == sent


async def test_an_early_refusal_reaches_a_client_that_still_sends(
    gateway: Gateway, upstream: Channel
) -> None:
    upstream.reply(body(answers.error("too big"), status=413, early=True))
    given = [credential(upstream), ("Content-Length", "1000000")]
    async with await Connection.to(gateway.port) as connection:
        await connection.send(spelled("POST", "/v1/files", given) + b"x" * 1000)

        assert (await connection.head()).status == 413


def packed(coding: str, data: bytes) -> bytes:
    return gzip.compress(data) if coding == "gzip" else zstandard.compress(data)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_encoded_answers_are_decoded_for_nobody(
    gateway: Gateway, upstream: Channel, coding: str
) -> None:
    """Nor are they for a client that did not offer the coding: that is the upstream's affair."""
    sent = packed(coding, b"some text")
    upstream.default = Reply((sent,), headers=(("Content-Encoding", coding),))
    for path in ("models", "files/f/content"):
        got = await ask(gateway.port, "GET", f"/v1/{path}", [credential(upstream)])

        assert got.body == sent
        assert got.head.all("content-encoding") == [coding]


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
async def test_a_hit_is_in_an_encoding_that_the_client_takes(
    gateway: Gateway, upstream: Channel, coding: str
) -> None:
    plain = answers.dumps(answers.chat("packed"))
    sent = packed(coding, plain)
    upstream.reply(Reply((sent,), headers=(JSON_TYPE, ("Content-Encoding", coding))))
    takes = ("Accept-Encoding", f"gzip, deflate, {coding}")
    miss = await post(gateway.port, upstream.key, ASKED, takes)
    hit = await post(gateway.port, upstream.key, ASKED)

    assert (miss.body, miss.get("content-encoding")) == (sent, coding)
    assert (hit.body, hit.get("content-encoding")) == (plain, None)
    assert hit.get("x-cache") == "HIT"
    assert upstream.calls == 1


async def test_cookies_are_nobodys_but_the_clients(start: Start, upstream: Channel) -> None:
    """By the upstream's name: no client library keeps cookies of a bare address."""
    named = upstream.url.replace("127.0.0.1", "localhost")
    gateway = start({"upstream": [{"name": "mock", "url": named}]})
    upstream.reply(body(answers.chat("a"), ("Set-Cookie", "__cf_bm=secret; Path=/")))
    miss = await post(gateway.port, upstream.key, ASKED)
    hit = await post(gateway.port, upstream.key, ASKED)
    await ask(gateway.port, "GET", "/v1/models", [credential(upstream)])

    assert miss.head.all("set-cookie") == ["__cf_bm=secret; Path=/"]
    assert hit.get("x-cache") == "HIT"
    assert hit.head.all("set-cookie") == []
    assert upstream.seen[1].get("cookie") is None


ERROR_HEADERS: Headers = (
    ("Retry-After", "7"),
    ("retry-after-ms", "6500"),
    ("X-Should-Retry", "true"),
    ("x-ratelimit-remaining-requests", "0"),
    ("x-ratelimit-reset-tokens", "6m0s"),
    ("x-request-id", "req_up"),
)


@pytest.mark.parametrize("status", [401, 403, 408, 409, 429, 500, 502, 503, 529])
@pytest.mark.parametrize("path", ["chat/completions", "files"])
async def test_upstream_errors_pass_whole_and_are_not_kept(
    gateway: Gateway, upstream: Channel, status: int, path: str
) -> None:
    html = (("Content-Type", "text/html"), *ERROR_HEADERS)
    upstream.default = Reply((b"<h1>no</h1>",), status=status, headers=html)
    for calls in (1, 2):
        got = await post(gateway.port, upstream.key, ASKED, path=path)

        assert (got.status, got.body) == (status, b"<h1>no</h1>")
        assert set(html) <= set(got.head.headers)
        assert upstream.calls == calls


async def test_a_redirect_is_the_clients_to_follow(gateway: Gateway, upstream: Channel) -> None:
    there = ("Location", "https://elsewhere.test/v1/x")
    upstream.default = Reply(status=307, headers=(there,))
    got = await post(gateway.port, upstream.key, ASKED)

    assert (got.status, got.get("location")) == (307, there[1])
    assert upstream.calls == 1


async def test_an_id_is_invented_only_where_a_client_reads_it(
    gateway: Gateway, upstream: Channel
) -> None:
    passed = await ask(gateway.port, "GET", "/v1/models", [credential(upstream)])
    cacheable = await post(gateway.port, upstream.key, ASKED)

    assert passed.get("x-request-id") is None
    assert cacheable.get("x-request-id")
    for got in (passed, cacheable):
        assert got.get("server") is None
        assert got.head.all("content-type") == ["application/json"]
