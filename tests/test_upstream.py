"""The mock upstream does what its scripts say; otherwise no test above it means anything."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest

from tests import answers, frames, sse
from tests.client import Connection, answer, ask, post, spelled
from tests.reply import Reply, body, events

if TYPE_CHECKING:
    from tests.upstream import Channel, Server

ASKED = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


async def test_answers_are_numbered_for_each_test_apart(mock: Server, upstream: Channel) -> None:
    other = mock.channel()
    texts = [
        (await post(mock.port, key, ASKED)).json()["choices"][0]["message"]["content"]
        for key in (upstream.key, upstream.key, other.key)
    ]

    assert texts == ["#1", "#2", "#1"]
    assert (upstream.calls, other.calls) == (2, 1)


async def test_the_request_is_kept_as_it_came(mock: Server, upstream: Channel) -> None:
    headers = [("aUtHoRiZaTiOn", upstream.key), ("X-Twice", "a"), ("x-twice", "b")]
    await ask(mock.port, "PUT", "/v1/odd%2Fpath?q=%20", headers, b"\x00\xff")

    (seen,) = upstream.seen
    assert seen.line == "PUT /v1/odd%2Fpath?q=%20 HTTP/1.1"
    assert seen.headers[1] == ("aUtHoRiZaTiOn", upstream.key)
    assert seen.all("x-twice") == ["a", "b"]
    assert bytes(seen.body) == b"\x00\xff"


async def test_a_token_in_the_body_alone_finds_its_channel(mock: Server, upstream: Channel) -> None:
    await ask(mock.port, "POST", "/v1/x", (), upstream.token.encode())

    assert upstream.calls == 1


async def test_a_gate_holds_the_rest_of_the_answer(mock: Server, upstream: Channel) -> None:
    gate = upstream.gate()
    upstream.reply(events([b"one", gate, b"two"]))
    async with await Connection.to(mock.port) as connection:
        await connection.send(spelled("GET", "/v1/x", [("A", upstream.key)]))
        await connection.head()

        assert await connection.piece() == b"one"
        await upstream.until(lambda: gate.reached)
        gate.open()
        assert await connection.rest() == b"two"


async def test_a_caller_who_leaves_is_counted(mock: Server, upstream: Channel) -> None:
    gate = upstream.gate()
    upstream.reply(events([b"one", gate]))
    async with await Connection.to(mock.port) as connection:
        await connection.send(spelled("GET", "/v1/x", [("A", upstream.key)]))
        await connection.head()
    await upstream.until(lambda: upstream.left == 1)

    await post(mock.port, upstream.key, ASKED)
    assert upstream.left == 1


@pytest.mark.parametrize(
    "reply",
    [
        events([b"one"], ending="rst"),
        events([b"one"], ending="fin"),
        Reply((b"abc",), headers=(("Content-Length", "5"),), framing="given", ending="fin"),
    ],
)
async def test_a_cut_is_seen_as_one(mock: Server, upstream: Channel, reply: Reply) -> None:
    upstream.reply(reply)

    assert not (await ask(mock.port, "GET", "/x", [("A", upstream.key)])).complete


async def test_chunked_and_awaited_uploads_arrive(mock: Server, upstream: Channel) -> None:
    async with await Connection.to(mock.port) as connection:
        head = spelled("POST", "/v1/x", [("A", upstream.key), ("Transfer-Encoding", "chunked")])
        await connection.send(head + b"3\r\nabc\r\n")
        await upstream.until(lambda: upstream.calls == 1 and upstream.seen[0].body == b"abc")
        await connection.send(b"2;ext=1\r\nde\r\n0\r\n\r\n")
        assert (await answer(connection)).status == 200
        assert bytes(upstream.seen[0].body) == b"abcde"

        awaited = [("A", upstream.key), ("Expect", "100-continue"), ("Content-Length", "2")]
        await connection.send(spelled("POST", "/v1/x", awaited))
        assert (await connection.head()).status == 100
        await connection.send(b"ok")
        assert (await answer(connection)).json()["bytes"] == 2


async def test_an_early_answer_does_not_wait_for_the_body(mock: Server, upstream: Channel) -> None:
    upstream.reply(body({"no": 1}, status=413, early=True))
    async with await Connection.to(mock.port) as connection:
        await connection.send(
            spelled("POST", "/v1/x", [("A", upstream.key), ("Content-Length", "9")])
        )
        assert (await connection.head()).status == 413


async def test_a_websocket_echoes_and_closes_with_the_code_asked_for(
    mock: Server, upstream: Channel
) -> None:
    upstream.default = Reply(status=101, headers=(("Sec-WebSocket-Protocol", "b"),))
    reader, writer = await asyncio.open_connection("127.0.0.1", mock.port)
    asked = [("A", upstream.key), ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "eA==")]
    writer.write(spelled("GET", "/v1/realtime", asked))
    assert b"101 Switching" in await reader.readuntil(b"\r\n\r\n")
    writer.write(frames.frame(frames.BINARY, b"\x00" * 70000))
    assert await frames.read(reader) == (frames.BINARY, b"\x00" * 70000)
    writer.write(frames.frame(frames.TEXT, b"close 4001"))
    kind, payload = await frames.read(reader)
    assert (kind, payload[:2]) == (frames.CLOSE, (4001).to_bytes(2, "big"))
    writer.close()
    await writer.wait_closed()


async def test_every_dialect_answers_in_both_forms(mock: Server, upstream: Channel) -> None:
    for path in ("chat/completions", "completions", "responses", "messages"):
        asked = {**ASKED, "prompt": "hi", "input": "hi"}
        whole = await post(mock.port, upstream.key, asked, path=path)
        stream = await post(mock.port, upstream.key, {**asked, "stream": True}, path=path)

        assert isinstance(whole.json(), dict), path
        assert stream.body.endswith(b"\n\n"), path
        assert stream.get("content-type") == "text/event-stream; charset=utf-8", path


async def test_embeddings_are_a_function_of_the_item(mock: Server, upstream: Channel) -> None:
    asked = {"model": "e", "input": ["a", "b", "a"]}
    data = (await post(mock.port, upstream.key, asked, path="embeddings")).json()["data"]

    assert [item["embedding"] for item in data] == [answers.vector(text) for text in "aba"]
    assert json.dumps(answers.vector("a")) != json.dumps(answers.vector("b"))


def test_a_stream_is_put_together_by_field_and_index() -> None:
    call = {"index": 1, "id": "c", "function": {"name": "f", "arguments": "{"}}
    more = {"index": 1, "function": {"arguments": "}"}}
    parts: list[answers.Json] = [
        {"role": "assistant", "content": "", "x": None},
        {"role": "assistant", "content": "a", "x": "1"},
        {"content": "b", "tool_calls": [call]},
        {"tool_calls": [more]},
    ]

    assert sse.joined(b"".join(answers.deltas(parts))) == {
        "role": "assistant",
        "content": "ab",
        "x": "1",
        "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
    }


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_events_are_read_as_the_standard_says(end: str) -> None:
    lines = [": comment", "", "event: e", "data:a", "data: b", "", "id: 1", "", "data: cut"]

    assert sse.parse(end.join(lines).encode()) == [("e", "a\nb")]
