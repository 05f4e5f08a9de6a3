"""One node, byte by byte: what it is sent, what is taken for its answer, when a connection ends."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

import pytest

from proxy.adapters.http.exchange import Protocol
from proxy.adapters.http.node import Http
from proxy.config import Upstream
from proxy.core.message import Call
from proxy.ports import UpstreamError
from tests.fakes import settle
from tests.owner import eventually

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from proxy.adapters.http.node import HttpResponse

    Play = Callable[["Connection"], Awaitable[None]]

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
GET = Call("GET", "/v1/models", "", (), None)


class Connection:
    """A node's side of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def head(self) -> str:
        return (await self.reader.readuntil(b"\r\n\r\n")).decode("utf-8", "surrogateescape")

    def say(self, data: bytes) -> None:
        self.writer.write(data)


class Node:
    """A node that does what it is told on each connection."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self.connections: list[Connection] = []
        self.ended = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self.connections:
            connection.writer.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer)
        self.connections.append(connection)
        try:
            await self._play(connection)
            await reader.read()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.ended += 1
            writer.close()

    @asynccontextmanager
    async def asked(self, *, user: str = "", **settings: Any) -> AsyncIterator[Http]:
        http = Http(Upstream(name="n", url=f"http://{user}127.0.0.1:{self.port}/v1", **settings))
        try:
            yield http
        finally:
            await http.aclose()


def idle(http: Http) -> Protocol:
    """Its only connection, which waits for a request."""
    assert http._pool is not None
    ((protocol, _),) = next(iter(http._pool._conns.values()))
    assert isinstance(protocol, Protocol)
    return protocol


def saying(*answers: bytes) -> Play:
    """One answer for each request without a body."""

    async def play(connection: Connection) -> None:
        for answer in answers:
            await connection.head()
            connection.say(answer)

    return play


async def read(response: HttpResponse) -> bytes:
    try:
        return b"".join([chunk async for chunk in response])
    finally:
        await response.aclose()


async def error(sending: Awaitable[HttpResponse]) -> str:
    with pytest.raises(UpstreamError) as raised:
        await read(await sending)
    return raised.value.kind


async def test_a_request_goes_out_as_it_was_spelled() -> None:
    heads: list[str] = []

    async def play(connection: Connection) -> None:
        heads.append(await connection.head())
        heads.append((await connection.reader.readexactly(3)).decode())
        connection.say(OK)

    headers = (
        ("hOsT", "elsewhere"),
        ("X-Twice", "a"),
        ("x-twice", "b\udcff"),
        ("Connection", "keep-alive, X-Hop"),
        ("X-Hop", "1"),
        ("Expect", "100-continue"),
        ("Content-length", "3"),
    )
    async with Node(play) as node, node.asked() as http:
        call = Call("POST", "/v1/a%2Fb;c", "q=%20&q", headers, b"abc")
        assert await read(await http.send(call)) == b"ok"

    assert heads == [
        "POST /v1/a%2Fb;c?q=%20&q HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{node.port}\r\n"
        "X-Twice: a\r\n"
        "x-twice: b\udcff\r\n"
        "Content-Length: 3\r\n\r\n",
        "abc",
    ]


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("GET", None, ""),
        ("HEAD", None, ""),
        ("GET", b"", "Content-Length: 0\r\n"),
        ("POST", None, "Content-Length: 0\r\n"),
        ("DELETE", None, "Content-Length: 0\r\n"),
    ],
)
async def test_no_body_is_stated_where_one_could_be(
    method: str, body: bytes | None, length: str
) -> None:
    heads: list[str] = []

    async def play(connection: Connection) -> None:
        heads.append(await connection.head())
        connection.say(b"HTTP/1.1 204 No Content\r\n\r\n")

    async with Node(play) as node, node.asked() as http:
        await read(await http.send(Call(method, "/v1/x", "", (), body)))

    assert heads == [f"{method} /v1/x HTTP/1.1\r\nHost: 127.0.0.1:{node.port}\r\n{length}\r\n"]


@pytest.mark.parametrize(
    "call",
    [
        Call("GET", "/v1/x\r\nX: y", "", (), None),
        Call("GET", "/v1/x", "a\nb", (), None),
        Call("GET", "/v1/x", "", (("X", "a\r\nY: b"),), None),
        Call("GET", "/v1/x", "", (("X: a\r\nY", "b"),), None),
        Call("GET", "/v1/x", "", (("X", "a\0"),), None),
    ],
)
async def test_nothing_can_add_a_line(call: Call) -> None:
    async with Node(saying(OK)) as node, node.asked() as http:
        assert await error(http.send(call)) == "protocol"
        assert await read(await http.send(GET)) == b"ok"


async def test_a_user_in_the_url_is_the_one_who_asks() -> None:
    heads: list[str] = []

    async def play(connection: Connection) -> None:
        heads.append(await connection.head())
        connection.say(OK)

    call = Call("GET", "/v1/x", "", (("authorization", "Bearer client"),), None)
    async with Node(play) as node, node.asked(user="me:secret@") as http:
        await read(await http.send(call))

    assert "Authorization: Basic bWU6c2VjcmV0\r\n" in heads[0]
    assert "client" not in heads[0]


async def test_one_connection_serves_one_request_after_the_other() -> None:
    async with Node(saying(OK, OK, OK)) as node, node.asked() as http:
        for _ in range(3):
            assert await read(await http.send(GET)) == b"ok"

        assert len(node.connections) == 1


async def test_what_came_unasked_is_no_answer() -> None:
    """A server that gives up an idle connection may say so first: with a 408 for nobody."""
    late = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n"
    async with Node(saying(OK)) as node, node.asked() as http:
        assert await read(await http.send(GET)) == b"ok"
        node.connections[0].say(late)
        await eventually(lambda: idle(http).should_close)
        response = await http.send(GET)

        assert (response.head.status, await read(response)) == (200, b"ok")
        assert len(node.connections) == 2


async def test_who_answers_what_nobody_asked_is_given_no_connection_twice() -> None:
    """The next time it may come when the connection is in use again, and be another's answer."""

    whole = asyncio.Event()

    async def play(connection: Connection) -> None:
        await connection.head()
        connection.say(OK)
        # At first while nothing is asked, later as soon as something else is.
        await (whole.wait() if len(node.connections) == 1 else connection.reader.read(1))
        connection.say(OK.replace(b"ok", b"no"))

    async with Node(play) as node, node.asked() as http:
        got = [await read(await http.send(GET))]
        whole.set()
        await eventually(lambda: idle(http).strange)
        got += [await read(await http.send(GET)) for _ in range(20)]

    assert got == [b"ok"] * 21
    assert len(node.connections) == 21


@pytest.mark.parametrize("more", [b"", OK.replace(b"ok", b"no")])
async def test_what_the_loop_has_not_read_yet_is_minded_too(more: bytes) -> None:
    """The end of the connection, or an answer that nobody asked for."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(5)
        port = listening.getsockname()[1]
        http = Http(Upstream(name="n", url=f"http://127.0.0.1:{port}/v1"))
        asking = asyncio.create_task(http.send(GET))
        one, _ = await asyncio.to_thread(listening.accept)
        with one:
            one.sendall(OK)
            assert await read(await asking) == b"ok"
            # From here the loop stands still until the call has its connection.
            one.sendall(more) if more else one.shutdown(socket.SHUT_WR)
            end = idle(http).transport
            assert end is not None
            select.select([end.get_extra_info("socket")], [], [], 5)
            asking = asyncio.create_task(http.send(GET))
            two, _ = await asyncio.to_thread(listening.accept)
            with two:
                two.sendall(OK)
                assert await read(await asking) == b"ok"
        await http.aclose()


async def test_an_answer_that_says_close_is_the_last_on_its_connection() -> None:
    last = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
    async with Node(saying(last, OK)) as node, node.asked() as http:
        for _ in range(2):
            assert await read(await http.send(GET)) == b"ok"

        assert len(node.connections) == 2


async def test_an_answer_given_up_ends_its_connection() -> None:
    begun = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    async with Node(saying(begun)) as node, node.asked(max_connections=1) as http:
        response = await http.send(GET)
        assert await response.__anext__() == b"half"
        await response.aclose()
        await eventually(lambda: node.ended == 1)

        await (await http.send(GET)).aclose()
        assert len(node.connections) == 2


async def test_a_reader_learns_that_the_answer_was_given_up() -> None:
    begun = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"
    async with Node(saying(begun)) as node, node.asked() as http:
        response = await http.send(GET)
        reading = asyncio.create_task(read(response))
        await settle()
        await response.aclose()

        with pytest.raises(UpstreamError):
            await reading


async def test_interim_answers_are_passed_over() -> None:
    hints = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n"
    async with Node(saying(hints + OK)) as node, node.asked() as http:
        assert await read(await http.send(GET)) == b"ok"


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ],
)
async def test_what_is_no_answer_ends_the_connection(answer: bytes) -> None:
    async with Node(saying(answer)) as node, node.asked() as http:
        assert await error(http.send(GET)) == "protocol"
        await eventually(lambda: node.ended == 1)


async def test_a_head_alone_has_no_body() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n"
    async with Node(saying(head, OK)) as node, node.asked() as http:
        response = await http.send(Call("HEAD", "/v1/x", "", (), None))
        assert response.head.get("content-length") == "5000"
        assert await read(response) == b""
        assert await read(await http.send(GET)) == b"ok"

        assert len(node.connections) == 1


@pytest.mark.parametrize(
    ("settings", "answer", "kind"),
    [
        ({"first_byte_timeout": 0.05}, b"", "timeout"),
        ({"first_byte_timeout": 0.05}, b"HTTP/1.1 200 OK\r\n", "timeout"),
        ({"total_timeout": 0.05}, b"", "timeout"),
        ({"idle_timeout": 0.05}, OK[:-1], "cut"),
        ({"total_timeout": 0.05}, OK[:-1], "cut"),
        ({"idle_timeout": 0.05}, OK[:-2], "timeout"),
    ],
)
async def test_silence_ends_when_it_may_no_longer_last(
    settings: dict[str, Any], answer: bytes, kind: str
) -> None:
    async with Node(saying(answer)) as node, node.asked(**settings) as http:
        assert await error(http.send(GET)) == kind
        await eventually(lambda: node.ended == 1)


async def test_who_reads_meets_the_end_when_another_closes_the_answer() -> None:
    async with Node(saying(OK[:-1])) as node, node.asked() as http:
        response = await http.send(GET)
        assert await anext(response) == b"o"
        reading = asyncio.create_task(read(response))
        await settle()
        await response.aclose()

        with pytest.raises(UpstreamError, match="ended early"):
            await reading
        await eventually(lambda: node.ended == 1)


async def test_what_is_read_too_late_is_not_taken() -> None:
    """Else an answer of which there is always more would have no end."""
    async with Node(saying(OK)) as node, node.asked(total_timeout=0.05) as http:
        response = await http.send(GET)
        await eventually(response._limits.passed)

        with pytest.raises(UpstreamError):
            await read(response)


async def uploaded(*pieces: bytes, gate: asyncio.Event | None = None) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece
    if gate is not None:
        await gate.wait()


@pytest.mark.parametrize(
    ("headers", "framing", "sent"),
    [
        ((), "Transfer-Encoding: chunked", b"1\r\na\r\n2\r\nbc\r\n0\r\n\r\n"),
        ((("content-LENGTH", "3"),), "content-LENGTH: 3", b"abc"),
    ],
)
async def test_an_upload_is_framed_as_it_came(
    headers: tuple[tuple[str, str], ...], framing: str, sent: bytes
) -> None:
    heads: list[str] = []

    async def play(connection: Connection) -> None:
        heads.append(await connection.head())
        assert await connection.reader.readexactly(len(sent)) == sent
        connection.say(OK)

    async with Node(play) as node, node.asked() as http:
        call = Call("POST", "/v1/files", "", headers, uploaded(b"a", b"bc"))
        assert await read(await http.send(call)) == b"ok"

    assert heads[0].endswith(f"{node.port}\r\n{framing}\r\n\r\n")


async def test_an_answer_before_the_end_of_an_upload_ends_the_connection() -> None:
    async with Node(saying(OK)) as node, node.asked() as http:
        call = Call("POST", "/v1/files", "", (), uploaded(b"a", gate=asyncio.Event()))
        assert await read(await http.send(call)) == b"ok"
        async with asyncio.timeout(2):  # before it would end as unused
            await eventually(lambda: node.ended == 1)

        assert await read(await http.send(GET)) == b"ok"
        assert len(node.connections) == 2


async def test_an_upload_may_take_longer_than_a_first_byte() -> None:
    """Its client watches over it."""

    async def slow() -> AsyncIterator[bytes]:
        yield b"a"
        await asyncio.sleep(0.1)
        yield b"b"

    async def play(connection: Connection) -> None:
        await connection.reader.readuntil(b"0\r\n\r\n")
        connection.say(OK)

    async with Node(play) as node, node.asked(first_byte_timeout=0.02) as http:
        assert await read(await http.send(Call("POST", "/v1/files", "", (), slow()))) == b"ok"


async def test_an_upload_that_breaks_off_is_told() -> None:
    async def broken() -> AsyncIterator[bytes]:
        yield b"a"
        raise RuntimeError("the client left")

    async with Node(saying()) as node, node.asked() as http:
        assert await error(http.send(Call("POST", "/v1/files", "", (), broken()))) == "protocol"
        await eventually(lambda: node.ended == 1)


async def test_a_place_is_waited_for_no_longer_than_for_an_answer() -> None:
    limits: dict[str, Any] = {"max_connections": 1, "first_byte_timeout": 0.05}
    async with Node(saying(b"")) as node, node.asked(**limits) as http:
        errors = [error(http.send(GET)) for _ in range(2)]

        assert await asyncio.gather(*errors) == ["timeout", "timeout"]
        assert len(node.connections) <= 2


async def test_a_large_body_is_read_by_a_slow_node_to_its_end() -> None:
    """And the connection then serves the next, since nothing of it is left over."""
    body = b"x" * (8 << 20)
    received = 0

    async def play(connection: Connection) -> None:
        nonlocal received
        await connection.head()
        while received < len(body):
            received += len(await connection.reader.read(1 << 16))
        connection.say(OK)
        await connection.head()
        connection.say(OK)

    async with Node(play) as node, node.asked() as http:
        assert await read(await http.send(Call("POST", "/v1/x", "", (), body))) == b"ok"
        assert await read(await http.send(GET)) == b"ok"

        assert (received, len(node.connections)) == (len(body), 1)


async def test_an_answer_before_a_large_body_was_taken_ends_the_connection() -> None:
    """Who does not read it would not read the next request behind it either."""
    over = asyncio.Event()

    async def play(connection: Connection) -> None:
        await connection.head()
        connection.say(OK)
        await over.wait()

    async with Node(play) as node, node.asked() as http, asyncio.timeout(5):
        body = b"x" * (16 << 20)
        assert await read(await http.send(Call("POST", "/v1/x", "", (), body))) == b"ok"
        assert await read(await http.send(GET)) == b"ok"
        over.set()

    assert len(node.connections) == 2


async def test_a_connection_that_was_closed_while_it_was_idle_is_told_apart() -> None:
    """The node may have done so just as the request was on its way, and never have seen it."""

    async def play(connection: Connection) -> None:
        await connection.head()
        connection.say(OK)
        await connection.head()
        connection.writer.close()

    async with Node(play) as node, node.asked() as http:
        assert await read(await http.send(GET)) == b"ok"
        assert await error(http.send(GET)) == "reused"


async def test_where_one_idle_connection_was_closed_none_is_trusted() -> None:
    """The node was likely started anew: else each of them would cost a request its first try."""

    async def play(connection: Connection) -> None:
        await connection.head()
        connection.say(OK)
        await connection.head()
        if node.connections.index(connection) < 2:
            connection.writer.close()
        connection.say(OK)

    async with Node(play) as node, node.asked() as http:
        together = await asyncio.gather(http.send(GET), http.send(GET))
        assert [await read(one) for one in together] == [b"ok", b"ok"]
        assert await error(http.send(GET)) == "reused"
        for _ in range(2):  # those made since are as good as any
            assert await read(await http.send(GET)) == b"ok"

    assert len(node.connections) == 3


async def test_a_new_connection_that_is_closed_without_an_answer_is_a_failure() -> None:
    async def play(connection: Connection) -> None:
        await connection.head()
        connection.writer.close()

    async with Node(play) as node, node.asked() as http:
        assert await error(http.send(GET)) == "cut"


async def test_a_reset_is_no_end_of_an_answer_that_ends_with_its_connection() -> None:
    reading = asyncio.Event()

    async def play(connection: Connection) -> None:
        await connection.head()
        connection.say(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf")
        await reading.wait()
        sock = connection.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.writer.transport.abort()

    async with Node(play) as node, node.asked() as http:
        response = await http.send(GET)
        assert await anext(response) == b"half"
        reading.set()
        with pytest.raises(UpstreamError, match="ended early"):
            await read(response)


async def test_an_upload_is_never_taken_for_one_that_was_not_seen() -> None:
    """It is used up, and could not be sent again."""

    async def upload() -> AsyncIterator[bytes]:
        yield b"abc"

    async def play(connection: Connection) -> None:
        await connection.head()
        connection.say(OK)
        await connection.head()
        connection.writer.close()

    async with Node(play) as node, node.asked() as http:
        await read(await http.send(GET))
        assert await error(http.send(Call("POST", "/v1/files", "", (), upload()))) == "cut"
