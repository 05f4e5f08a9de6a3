"""Connections at the edges: WebSockets, old clients, kept connections, limits."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import aiohttp
import pytest
from yarl import URL

from tests import answers
from tests.client import Connection, answer, ask, post, spelled
from tests.reply import JSON_TYPE, Reply, body

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.upstream import Channel

ASKED = {"model": "m-small", "messages": [{"role": "user", "content": "hi"}]}


def websocket(*protocols: str) -> Reply:
    chosen = [("Sec-WebSocket-Protocol", protocol) for protocol in protocols]
    return Reply(status=101, headers=(*chosen, ("X-Up", "1")))


async def test_a_websocket_is_relayed_frame_by_frame(gateway: Gateway, upstream: Channel) -> None:
    upstream.reply(websocket("realtime"))
    url = URL(gateway.base_url + "/realtime?model=m%2Fx", encoded=True)
    given = {"Authorization": f"Bearer {upstream.key}", "OpenAI-Beta": "realtime=v1"}
    async with aiohttp.ClientSession() as session:
        offered = ("other", "realtime", f"openai-insecure-api-key.{upstream.key}")
        async with session.ws_connect(url, protocols=offered, headers=given) as socket:
            assert socket.protocol == "realtime"
            await socket.send_str("héllo")
            assert (await socket.receive()).data == "héllo"
            big = bytes(range(256)) * 1024
            await socket.send_bytes(big)
            assert (await socket.receive()).data == big
            await socket.send_str("close 4321")
            closed = await socket.receive()

    assert (closed.type, closed.data, closed.extra) == (
        aiohttp.WSMsgType.CLOSE,
        4321,
        "upstream says so",
    )
    (seen,) = upstream.seen
    assert seen.target == "/v1/realtime?model=m%2Fx"
    assert seen.get("openai-beta") == "realtime=v1"
    assert (seen.get("sec-websocket-protocol") or "").replace(" ", "") == ",".join(offered)


async def test_a_clients_close_code_reaches_the_upstream(
    gateway: Gateway, upstream: Channel
) -> None:
    upstream.reply(websocket())
    given = {"Authorization": f"Bearer {upstream.key}"}
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(gateway.base_url + "/realtime", headers=given) as socket,
    ):
        await socket.close(code=4999, message=b"bye")

    await upstream.until(lambda: b"bye" in upstream.seen[0].body)
    assert bytes(upstream.seen[0].body) == b"\x08" + (4999).to_bytes(2, "big") + b"bye"


async def test_a_refused_upgrade_passes(gateway: Gateway, upstream: Channel) -> None:
    upstream.reply(Reply((b'{"error":{}}',), status=401))
    given = {"Authorization": f"Bearer {upstream.key}"}
    async with aiohttp.ClientSession() as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await session.ws_connect(gateway.base_url + "/realtime", headers=given)

    assert caught.value.status == 401


async def test_an_offer_of_http_2_is_ignored(gateway: Gateway, upstream: Channel) -> None:
    offer = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "")]
    got = await post(gateway.port, upstream.key, ASKED, *offer)

    assert got.status == 200
    assert upstream.seen[0].get("upgrade") is None
    assert upstream.seen[0].get("http2-settings") is None


@pytest.mark.parametrize("stream", [False, True])
async def test_an_http_1_0_client_gets_everything_and_then_the_end(
    gateway: Gateway, upstream: Channel, stream: bool
) -> None:
    """And no interim response, which HTTP/1.0 does not know, whatever it says that it expects."""
    sent = json.dumps({**ASKED, "stream": stream}).encode()
    head = spelled(
        "POST",
        "/v1/chat/completions",
        [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE, ("Expect", "100-continue")],
    )
    text = head.replace(b"HTTP/1.1", b"HTTP/1.0")[:-2] + b"Content-Length: %d\r\n\r\n" % len(sent)
    for outcome in (b"MISS", b"HIT"):
        async with await Connection.to(gateway.port) as connection:
            await connection.send(text + sent)
            got = await connection.raw()

        start, _, rest = got.partition(b"\r\n\r\n")
        assert b"200" in start.split(b"\r\n")[0]
        assert b"x-cache: " + outcome in start.lower().replace(b"miss", b"MISS").replace(
            b"hit", b"HIT"
        )
        assert b"chunked" not in start.lower()
        assert rest.endswith(b"[DONE]\n\n") if stream else json.loads(rest)["choices"]


async def test_connections_to_the_upstream_are_reused(start: Start, upstream: Channel) -> None:
    gateway = start()
    for i in range(6):
        await post(gateway.port, upstream.key, {**ASKED, "seed": i})
        await post(gateway.port, upstream.key, {"i": i}, path="moderations")

    assert len({seen.peer for seen in upstream.seen}) == 1


async def test_a_client_may_send_many_requests_on_one_connection(
    gateway: Gateway, upstream: Channel
) -> None:
    given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE]
    sent = spelled("POST", "/v1/chat/completions", given, json.dumps(ASKED).encode())
    async with await Connection.to(gateway.port) as connection:
        await connection.send(sent)
        first = await answer(connection)
        # Two in one segment: what a client may do that does not wait for its answers.
        await connection.send(sent + sent)
        rest = [await answer(connection) for _ in range(2)]

    assert [got.body for got in rest] == [first.body] * 2
    assert upstream.calls == 1


async def test_a_request_in_single_bytes_is_understood(gateway: Gateway, upstream: Channel) -> None:
    given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE]
    sent = spelled("POST", "/v1/chat/completions", given, json.dumps(ASKED).encode())
    for _ in range(2):
        async with await Connection.to(gateway.port) as connection:
            for at in range(len(sent)):
                await connection.send(sent[at : at + 1])
                await asyncio.sleep(0)
            assert (await answer(connection)).status == 200
    assert upstream.calls == 1


async def test_a_json_request_above_the_limit_is_refused_before_it_is_read(
    start: Start, upstream: Channel
) -> None:
    gateway = start({"server": {"max_body_bytes": 10_000, "max_request_bytes": 50_000}})
    given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE]
    async with await Connection.to(gateway.port) as connection:
        claim = [*given, ("Content-Length", str(200 << 20))]
        await connection.send(spelled("POST", "/v1/chat/completions", claim))
        got = await answer(connection)
    assert got.status == 413
    assert set(got.json()["error"]) == {"message", "type", "param", "code"}

    async with await Connection.to(gateway.port) as connection:
        claim = [*given, ("Transfer-Encoding", "chunked")]
        piece = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
        await connection.send(spelled("POST", "/v1/chat/completions", claim) + piece * 3)
        await asyncio.sleep(0.1)
        await connection.send(piece * 2)
        assert (await answer(connection)).status == 413
    assert not any(seen.whole for seen in upstream.seen)


async def test_bodies_above_the_cacheable_size_and_uploads_pass(
    start: Start, upstream: Channel
) -> None:
    gateway = start({"server": {"max_body_bytes": 10_000, "max_request_bytes": 50_000}})
    large = {**ASKED, "padding": "x" * 20_000}
    for _ in range(2):
        got = await post(gateway.port, upstream.key, large)
        assert (got.status, got.get("x-cache")) == (200, "BYPASS")
    upload = await ask(
        gateway.port,
        "POST",
        "/v1/files",
        [("Authorization", f"Bearer {upstream.key}")],
        b"x" * 100_000,
    )

    assert upload.json()["bytes"] == 100_000
    assert upstream.calls == 3


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/files"])
async def test_a_client_that_falls_silent_in_a_body_is_not_waited_for(
    start: Start, upstream: Channel, path: str
) -> None:
    """It may be gone without a word. Its upload would hold a place at a node for hours."""
    gateway = start({"server": {"body_timeout": 0.05}})
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {upstream.key}\r\n"
    async with await Connection.to(gateway.port) as connection:
        await connection.send(f"{head}Transfer-Encoding: chunked\r\n\r\n5\r\nab".encode())
        got = await answer(connection)

    assert (got.status, got.json()["error"]["code"]) == (408, "request_timeout")
    await upstream.until(lambda: not upstream.open)


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (JSON_TYPE, b'{"model": "m-small", "messages": ['),
        (JSON_TYPE, b"[]"),
        (JSON_TYPE, b'{"messages": []}'),
        (("Content-Type", "application/x-www-form-urlencoded"), json.dumps(ASKED).encode()),
    ],
)
async def test_what_names_no_model_is_judged_by_an_upstream(
    start: Start, upstream: Channel, given: tuple[str, str], sent: bytes
) -> None:
    """Also where each node has models of its own: it says what is wrong, or that nothing is."""
    upstream.reply(body({"error": {"message": "not so"}}, status=400))
    gateway = start({"upstream": [{"name": "a", "url": upstream.url, "models": ["m-*"]}]})
    credential = ("Authorization", f"Bearer {upstream.key}")
    got = await ask(gateway.port, "POST", "/v1/chat/completions", [credential, given], sent)

    assert (got.status, got.json()["error"]["message"]) == (400, "not so")
    assert upstream.seen[0].body == sent


async def test_headers_have_room_and_an_end(gateway: Gateway, upstream: Channel) -> None:
    roomy = await post(gateway.port, upstream.key, ASKED, ("X-Long", "x" * 20_000))
    assert roomy.status == 200
    assert upstream.seen[0].get("x-long") == "x" * 20_000

    endless = await post(gateway.port, upstream.key, ASKED, ("X-Long", "x" * 200_000))
    assert endless.status == 431
    assert upstream.calls == 1


async def test_all_headers_together_have_an_end(gateway: Gateway, upstream: Channel) -> None:
    """Lines that are within their limit could otherwise fill the memory."""
    many = [(f"X-Long-{n}", "x" * 20_000) for n in range(10)]
    endless = await post(gateway.port, upstream.key, ASKED, *many)

    assert endless.status == 431
    assert set(endless.json()["error"]) == {"message", "type", "param", "code"}
    assert upstream.calls == 0


@pytest.mark.parametrize("target", ["@{}", "x@{}", "{}"])
async def test_a_target_without_a_path_never_leads_to_another_host(
    gateway: Gateway, upstream: Channel, target: str
) -> None:
    """Behind the upstream's address it would be another address, which was sent the credential."""
    host = upstream.url.removeprefix("http://").removesuffix("/v1")
    given = [("x-api-key", upstream.key)]
    got = await ask(gateway.port, "CONNECT", target.format(host), given)

    assert (got.status, got.json()["error"]["code"]) == (400, "invalid_target")
    assert upstream.calls == 0


async def test_an_answer_that_is_not_final_is_none(gateway: Gateway, upstream: Channel) -> None:
    """A switch of protocols that nobody asked for must not reach a client that waits for JSON."""
    upstream.reply(
        Reply((b"HTTP/1.1 101 Switching Protocols\r\n\r\n",), silent=True, framing="given")
    )
    got = await post(gateway.port, upstream.key, ASKED)

    assert (got.status, got.json()["error"]["code"]) == (502, "upstream_error")


async def test_a_large_json_answer_is_not_held(gateway: Gateway, upstream: Channel) -> None:
    end = upstream.gate()
    large = Reply((b" {" + b" " * (17 << 20), end, b"}"), framing="chunked")
    upstream.reply(large)
    async with await Connection.to(gateway.port) as connection:
        given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE]
        sent = json.dumps(ASKED).encode()
        await connection.send(spelled("POST", "/v1/chat/completions", given, sent))
        assert (await connection.head()).status == 200
        assert await connection.piece()
        end.open()
        assert (await connection.rest()).endswith(b"}")


async def test_a_connection_that_upstreams_may_be_closing_is_not_used(
    gateway: Gateway, upstream: Channel
) -> None:
    """Node, vLLM and llama.cpp close an idle connection after five seconds; a request that meets
    the close would fail."""
    for wait in (0.0, 4.2):
        await asyncio.sleep(wait)
        assert (await post(gateway.port, upstream.key, {**ASKED, "seed": wait})).status == 200

    assert upstream.seen[0].peer != upstream.seen[1].peer


async def test_long_answer_headers_pass(gateway: Gateway, upstream: Channel) -> None:
    upstream.reply(Reply((b"{}",), headers=(JSON_TYPE, ("X-Long", "y" * 20_000))))
    got = await ask(gateway.port, "GET", "/v1/x", [("Authorization", f"Bearer {upstream.key}")])

    assert got.get("x-long") == "y" * 20_000


@pytest.mark.parametrize(
    "line", [b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
)
async def test_what_is_not_http_is_answered_or_closed_without_harm(
    gateway: Gateway, upstream: Channel, line: bytes
) -> None:
    async with await Connection.to(gateway.port) as connection:
        await connection.send(line)
        async with asyncio.timeout(5):
            await connection.raw()

    assert (await post(gateway.port, upstream.key, ASKED)).status == 200


async def test_a_body_that_is_not_json_passes_byte_for_byte(
    gateway: Gateway, upstream: Channel
) -> None:
    upstream.default = body(answers.chat("as it was"))
    for sent in (b"not json", b'{"model":"\\ud800","messages":[]}', b"", b"[1]", b'{"a":NaN}'):
        for _ in range(2):
            before = upstream.calls
            got = await post(gateway.port, upstream.key, sent)

            assert got.get("x-cache") == "BYPASS", sent
            assert upstream.calls == before + 1
            assert bytes(upstream.seen[-1].body) == sent


async def test_our_own_errors_can_be_found_in_the_log(gateway: Gateway, upstream: Channel) -> None:
    bad = await post(gateway.port, upstream.key, ASKED, ("x-cache-ttl", "soon"))
    missing = await post(gateway.port, upstream.key, ASKED, ("Cache-Control", "only-if-cached"))
    ids = [bad.get("x-request-id"), missing.get("x-request-id")]
    assert (bad.status, missing.status) == (400, 504)
    assert all(ids)
    await upstream.until(lambda: all(str(one) in gateway.stdout() for one in ids))


async def test_an_offer_of_a_websocket_is_no_way_around_what_is_checked(
    start: Start, upstream: Channel
) -> None:
    """Only a GET can become one: another method's body would reach the upstream unread."""
    tenant = {"name": "t", "key_env": "T", "models": ["m-small"]}
    gateway = start({"tenant": [tenant]}, {"T": upstream.key})
    offer = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
    statuses = []
    for model in ("m-large", "m-small"):
        got = await post(gateway.port, upstream.key, ASKED | {"model": model}, *offer)
        statuses.append(got.status)

    assert statuses == [403, 200]
    assert upstream.seen[0].get("upgrade") is None
