"""Streams: a byte from upstream is on its way at once, and an end is never prettier than it was."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests import answers
from tests.client import Connection, CutError, answer, post, spelled
from tests.reply import EVENTS_TYPE, JSON_TYPE, Reply, body, events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.gateway import Gateway
    from tests.reply import Headers
    from tests.upstream import Channel

ASKED = {"model": "m-small", "messages": [{"role": "user", "content": "hi"}]}
STREAMED = {**ASKED, "stream": True, "stream_options": {"include_usage": True}}
WHOLE = b"".join(answers.chat_events(["naïve ", "東京 😀"], usage=answers.USAGE))


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def request(upstream: Channel, value: object, path: str = "chat/completions") -> bytes:
    given = [("Authorization", f"Bearer {upstream.key}"), JSON_TYPE]
    return spelled("POST", f"/v1/{path}", given, json.dumps(value).encode())


CRLF = WHOLE.replace(b"\n", b"\r\n")
FRAMINGS: dict[str, Sequence[bytes]] = {
    "as usual": answers.chat_events(["a", "b"], usage=answers.USAGE),
    "one piece": [WHOLE],
    "7 bytes": pieces(WHOLE, 7),
    "inside characters": pieces(WHOLE, 1),
    "crlf": pieces(CRLF, 11),
    "cr": [WHOLE.replace(b"\n", b"\r")],
    "no blank": [WHOLE.replace(b"data: ", b"data:")],
    "comments": [b": hello\n\n", WHOLE[:300], b"", WHOLE[300:]],
    "ids": [b"id: 1\nretry: 10\n", WHOLE],
    "long event": answers.chat_events(["x" * 100_000], usage=answers.USAGE),
}


@pytest.mark.parametrize("framing", FRAMINGS)
async def test_any_framing_passes_and_is_replayed_as_it_was(
    gateway: Gateway, upstream: Channel, framing: str
) -> None:
    sent = [piece for piece in FRAMINGS[framing] if piece]
    upstream.reply(events(sent))
    miss, hit = [await post(gateway.port, upstream.key, STREAMED) for _ in range(2)]

    assert miss.body == hit.body == b"".join(sent)
    assert (miss.get("x-cache"), hit.get("x-cache")) == ("MISS", "HIT")
    assert miss.get("content-type") == hit.get("content-type") == EVENTS_TYPE[1]
    assert upstream.calls == 1


@pytest.mark.parametrize("path", ["chat/completions", "threads/t/runs", "audio/speech"])
async def test_the_first_chunk_arrives_while_the_upstream_still_holds_the_second(
    gateway: Gateway, upstream: Channel, path: str
) -> None:
    gate = upstream.gate()
    first, *rest = answers.chat_events(["a"], usage=answers.USAGE)
    upstream.reply(events([first, gate, *rest]))
    async with await Connection.to(gateway.port) as connection:
        await connection.send(request(upstream, STREAMED, path))
        head = await connection.head()
        got = await connection.until(b"\n\n")
        assert got == first
        assert head.get("content-length") is None
        gate.open()

        assert await connection.rest() == b"".join(rest)


async def test_the_head_arrives_before_the_first_chunk(gateway: Gateway, upstream: Channel) -> None:
    gate = upstream.gate()
    upstream.reply(events([gate, WHOLE]))
    async with await Connection.to(gateway.port) as connection:
        await connection.send(request(upstream, STREAMED))
        head = await connection.head()
        assert (head.status, head.get("x-cache")) == (200, "MISS")
        gate.open()

        assert await connection.rest() == WHOLE


@pytest.mark.parametrize("path", ["chat/completions", "threads/t/runs"])
@pytest.mark.parametrize("leave", ["close", "reset"])
async def test_a_client_that_leaves_closes_the_upstream_call(
    gateway: Gateway, upstream: Channel, path: str, leave: str
) -> None:
    gate = upstream.gate()
    upstream.reply(events([WHOLE[:200], gate, WHOLE[200:]]))
    connection = await Connection.to(gateway.port)
    await connection.send(request(upstream, STREAMED, path))
    await connection.head()
    await connection.piece()
    await (connection.close() if leave == "close" else connection.reset())
    await upstream.until(lambda: upstream.left == 1)

    again = await post(gateway.port, upstream.key, STREAMED, path=path)
    assert again.get("x-cache") != "HIT"
    assert upstream.calls == 2


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_before_the_head_closes_it_too(
    gateway: Gateway, upstream: Channel, stream: bool
) -> None:
    gate = upstream.gate()
    upstream.reply(body(answers.chat("x"), hold=gate))
    sent = request(upstream, {**ASKED, "stream": stream})
    named = sent.replace(b"Host", b"X-Client-Request-Id: %s\r\nHost" % upstream.token.encode())
    connection = await Connection.to(gateway.port)
    await connection.send(named)
    await upstream.until(lambda: gate.reached)
    await connection.close()

    await upstream.until(lambda: upstream.left == 1)
    await upstream.until(lambda: any(upstream.token in str(line) for line in gateway.log()))
    (line,) = [line for line in gateway.log() if upstream.token in str(line)]
    assert (line["status"], line["complete"], line["bytes_out"]) == (499, False, 0)


@pytest.mark.parametrize(
    ("framing", "ending"), [("chunked", "rst"), ("chunked", "fin"), ("close", "rst")]
)
async def test_a_dying_upstream_ends_the_stream_with_an_error(
    gateway: Gateway, upstream: Channel, framing: Any, ending: Any
) -> None:
    """An error event of its own, then a connection that ends without its last chunk."""
    sent = answers.chat_events(["a", "b", "c"])[:3]
    cut = events([*sent, b'data: {"choices":[{"del', 0.05], ending=ending)
    upstream.default = cut.but(framing=framing)
    for calls in (1, 2):
        got = await post(gateway.port, upstream.key, {**ASKED, "stream": True})
        *before, last, nothing = got.body.split(b"\n\n")

        assert not got.complete
        assert b"[DONE]" not in got.body
        assert got.body.startswith(b"".join(sent))
        assert nothing == b""
        told = json.loads(last.removeprefix(b"data: "))["error"]
        assert set(told) == {"message", "type", "param", "code"}
        assert all(json.loads(one.removeprefix(b"data: ")) for one in before[:3])
        assert upstream.calls == calls


async def test_a_stream_without_its_end_marker_is_not_kept(
    gateway: Gateway, upstream: Channel
) -> None:
    sent = answers.chat_events(["a"])[:-1]
    upstream.default = events(sent)
    for calls in (1, 2):
        got = await post(gateway.port, upstream.key, {**ASKED, "stream": True})

        assert b"[DONE]" not in got.body
        assert got.body.startswith(b"".join(sent))
        assert upstream.calls == calls


async def test_a_dying_pass_through_is_cut_and_nothing_else(
    gateway: Gateway, upstream: Channel
) -> None:
    upstream.reply(events([b"data: 1\n\n", 0.05], ending="rst"))
    got = await post(gateway.port, upstream.key, {}, path="threads/t/runs")

    assert (got.body, got.complete) == (b"data: 1\n\n", False)


SHORT: Headers = (JSON_TYPE, ("Content-Length", "500"))


@pytest.mark.parametrize(
    "cut",
    [
        Reply((b"x" * 200, 0.02), headers=SHORT, framing="given", ending="rst"),
        Reply((b"x" * 200,), headers=SHORT, framing="given", ending="fin"),
        Reply((b'{"choices":', 0.02), framing="chunked", ending="rst"),
        Reply((b'{"choices":',), framing="chunked", ending="fin"),
        Reply((b'{"choices":', 0.02), framing="close", ending="rst"),
    ],
    ids=["length rst", "length fin", "chunked rst", "chunked fin", "without length rst"],
)
async def test_a_cut_json_answer_is_a_bad_gateway(
    gateway: Gateway, upstream: Channel, cut: Reply
) -> None:
    upstream.default = cut
    for calls in (1, 2):
        got = await post(gateway.port, upstream.key, ASKED)

        assert (got.status, got.complete) == (502, True)
        assert set(got.json()["error"]) == {"message", "type", "param", "code"}
        assert upstream.calls == calls


@pytest.mark.parametrize(
    "reply",
    [
        Reply(hold=0.02, silent=True, ending="rst"),
        Reply(silent=True, ending="fin"),
        Reply((b"garbage",), framing="given", headers=(("Content-Length", "x"),), ending="fin"),
    ],
    ids=["reset", "closed", "nonsense"],
)
async def test_an_upstream_that_speaks_no_http_is_a_bad_gateway(
    gateway: Gateway, upstream: Channel, reply: Reply
) -> None:
    upstream.reply(reply)
    got = await post(gateway.port, upstream.key, ASKED)

    assert got.status == 502
    assert set(got.json()["error"]) == {"message", "type", "param", "code"}


async def test_usage_that_was_not_asked_for_is_hidden(gateway: Gateway, upstream: Channel) -> None:
    """The upstream is asked for it all the same, so that the entry serves who wants it."""
    plain = b"".join(answers.chat_events(["#", "1"]))
    for _ in range(2):
        got = await post(gateway.port, upstream.key, {**ASKED, "stream": True})
        chunks = [json.loads(line[6:]) for line in got.body.split(b"\n\n")[:-2]]

        assert all(chunk.get("usage") is None and chunk["choices"] for chunk in chunks)
        assert got.body.replace(b',"usage":null', b"") == plain
    assert upstream.seen[0].json()["stream_options"] == {"include_usage": True}

    wanted = await post(gateway.port, upstream.key, STREAMED)
    last = json.loads(wanted.body.split(b"\n\n")[-3][6:])
    assert (last["choices"], last["usage"]) == ([], answers.USAGE)
    assert upstream.calls == 1


async def test_a_json_answer_to_a_streamed_request_stays_json(
    gateway: Gateway, upstream: Channel
) -> None:
    upstream.reply(body(answers.chat("plain")))
    got = await post(gateway.port, upstream.key, STREAMED)

    assert got.get("content-type") == "application/json"
    assert got.json()["choices"][0]["message"]["content"] == "plain"


async def test_silence_between_chunks_is_no_timeout(gateway: Gateway, upstream: Channel) -> None:
    upstream.reply(events([WHOLE[:150], 1.5, WHOLE[150:]]))
    got = await post(gateway.port, upstream.key, STREAMED)

    assert got.body == WHOLE


async def test_a_cut_reaches_the_client_as_a_cut(gateway: Gateway, upstream: Channel) -> None:
    upstream.reply(events([WHOLE[:150], 0.05], ending="rst"))
    async with await Connection.to(gateway.port) as connection:
        await connection.send(request(upstream, STREAMED))
        await connection.head()
        with pytest.raises(CutError):
            await connection.rest()


async def test_the_connection_is_kept_after_a_replay(gateway: Gateway, upstream: Channel) -> None:
    async with await Connection.to(gateway.port) as connection:
        for _ in range(3):
            await connection.send(request(upstream, {**ASKED, "stream": True}))
            assert (await answer(connection)).body.endswith(b"data: [DONE]\n\n")
    assert upstream.calls == 1
