"""The fast lane: what counts as one whole request, and what is remembered of it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.adapters.door.connection import Connection, Server
from proxy.adapters.door.lane import LONGEST, Known, Lane, due
from proxy.adapters.door.reply import send
from proxy.core.message import Head
from proxy.core.status import Status
from proxy.response import Report, Response
from tests import client
from tests.asking import arrival, chat, lookup
from tests.fakes import FakeClock, settle

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import web
    from aiohttp.web_protocol import RequestHandler

BODY = b'{"model": "m"}'
HEAD = (
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\n"
    b"Connection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: 14\r\n\r\n"
)
WHOLE = HEAD + BODY
LOOKUP = lookup(arrival(chat()))


def without(data: bytes, *changes: tuple[bytes, bytes]) -> bytes:
    for old, new in changes:
        assert old in data
        data = data.replace(old, new)
    return data


def whole(data: bytes) -> bool:
    return due(data) == len(data) > 0


def test_a_request_from_its_first_byte_to_its_last() -> None:
    assert whole(WHOLE)
    assert due(HEAD) == due(HEAD + b"{") == len(WHOLE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEAD,
        WHOLE[:-1],
        WHOLE + b"P",
        WHOLE + WHOLE,
        without(WHOLE, (b"POST", b"GET")),
        without(WHOLE, (b"chat/completions", b"files")),
        without(WHOLE, (b"HTTP/1.1", b"HTTP/1.0")),
        without(WHOLE, (b"Content-Length: 14", b"Content-Length: 13")),
        without(WHOLE, (b"Content-Length: 14", b"Content-Length: +14")),
        without(WHOLE, (b"Content-Length: 14", b"Content-Length: 14, 14")),
        without(WHOLE, (b"Host: x", b"Content-Length: 14")),
        without(WHOLE, (b"Host: x", b"Transfer-Encoding: chunked")),
        without(WHOLE, (b"Host: x", b"Expect: 100-continue")),
        without(WHOLE, (b"Host: x", b"Upgrade: websocket")),
        without(WHOLE, (b"keep-alive", b"close")),
        without(WHOLE, (b"Host: x", b"Connection: close")),
        without(WHOLE, (b"Host: x", b"X-A: b\nX-C: d")),
        without(WHOLE, (b"Content-Length: 14\r\n", b"")),
        without(WHOLE, (b"Host: x", b"X: " + b"x" * LONGEST)),
    ],
)
def test_what_is_not_beyond_doubt_one_request(data: bytes) -> None:
    assert not whole(data)


@given(st.integers(min_value=0, max_value=len(WHOLE) - 1), st.binary(min_size=1, max_size=40))
def test_no_piece_of_it_and_nothing_behind_it(cut: int, more: bytes) -> None:
    assert not whole(WHOLE[:cut])
    assert not whole(WHOLE + more)


class Desk:
    """A lane before one stored answer."""

    def __init__(self, entries: int = 4) -> None:
        self.asked: list[object] = []
        self.there = True
        self.noted: list[tuple[str, bytes]] = []
        self.lane = Lane(self.at_once, self.report, entries, self.note)

    def note(self, report: Report, data: bytes) -> None:
        self.noted.append((report.request_id, data))

    def at_once(self, lookup: object, report: Report) -> Response | None:
        self.asked.append(lookup)
        head = Head(200, (("content-type", "application/json"),))
        return report.respond(head, b"{}", Status("HIT")) if self.there else None

    def report(self, method: str, endpoint: str, client_id: str | None) -> Report:
        return Report(method, endpoint, client_id or "req_1", FakeClock(), lambda _: None)

    def learn(self, data: bytes = WHOLE) -> None:
        self.lane.learn(data, Known(LOOKUP, "chat/completions", None, len(BODY)))


def test_the_same_bytes_are_answered() -> None:
    desk = Desk()
    desk.learn()
    told = desk.lane.take(WHOLE)

    assert told is not None
    assert told.startswith(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n")
    assert told.endswith(b"content-length: 2\r\n\r\n{}")
    assert desk.asked == [LOOKUP]
    assert desk.noted == [("req_1", WHOLE)]


@given(st.integers(min_value=0, max_value=len(WHOLE) - 1), st.integers(min_value=1, max_value=255))
def test_no_other_bytes_are(at: int, change: int) -> None:
    """Of another tenant, path, control or question."""
    desk = Desk()
    desk.learn()
    other = bytearray(WHOLE)
    other[at] ^= change

    assert desk.lane.take(bytes(other)) is None
    assert desk.lane.take(WHOLE[:at]) is None
    assert desk.lane.take(WHOLE + WHOLE[:at]) is None or at == 0


def test_what_is_not_at_hand_goes_the_long_way() -> None:
    desk = Desk()
    desk.learn()
    desk.there = False

    assert desk.lane.take(WHOLE) is None


def test_the_oldest_is_forgotten_and_none_are_remembered_where_that_is_set() -> None:
    desk, off = Desk(entries=2), Desk(entries=0)
    off.learn()
    for number in range(3):
        desk.learn(WHOLE.replace(b"Host: x", b"Host: %d" % number))

    assert off.lane.take(WHOLE) is None
    assert desk.lane.take(WHOLE.replace(b"Host: x", b"Host: 0")) is None
    assert desk.lane.take(WHOLE.replace(b"Host: x", b"Host: 2")) is not None


@pytest.mark.parametrize(("length", "known"), [(512, True), (513, False)])
def test_what_has_names_of_no_such_length_is_not_remembered(length: int, known: bool) -> None:
    """A client may call a quarter of a megabyte a model."""
    desk = Desk()
    asked = lookup(arrival({**chat(), "model": "m" * length}))
    desk.lane.learn(WHOLE, Known(asked, "chat/completions", None, len(BODY)))

    assert (desk.lane.take(WHOLE) is not None) == known


class Line:
    """A server whose lane knows one request, and which answers all others itself. `then`: what
    comes behind each such answer, before aiohttp looks for it."""

    def __init__(self, then: bytes = b"") -> None:
        self._desk = Desk()
        self._desk.learn()
        self._then = then

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        report = self._desk.report(request.method, "other", None)
        response = report.respond(Head(200, ()), b"long", Status("HIT"))
        sent = await send(request, response)
        if self._then:
            assert isinstance(request.protocol, Connection)
            asyncio.get_running_loop().call_soon(request.protocol.data_received, self._then)
        return sent

    def serve(self) -> Server:
        return Server(self.handle, self._desk.lane, access_log=None)

    def wired(self) -> tuple[Wire, RequestHandler]:
        """A connection that is played by hand."""
        wire, connection = Wire(), self.serve()()
        connection.connection_made(wire)
        return wire, connection

    @asynccontextmanager
    async def open(self) -> AsyncIterator[client.Connection]:
        serve = self.serve()
        server = await asyncio.get_running_loop().create_server(serve, "127.0.0.1", 0)
        async with server, await client.Connection.to(server.sockets[0].getsockname()[1]) as own:
            yield own
        await serve.shutdown(1)


OTHER = WHOLE.replace(b'"m"', b'"n"')


class Wire(asyncio.Transport):
    """Keeps what is sent."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def is_closing(self) -> bool:
        return False

    def close(self) -> None:
        pass


async def test_the_first_request_of_a_connection_is_for_the_lane() -> None:
    """Also where it is here in the same turn of the loop as its connection."""
    wire, connection = Line().wired()
    connection.data_received(WHOLE)
    await settle()

    assert [one[-2:] for one in wire.sent] == [b"{}"]


async def test_answers_leave_when_all_that_has_arrived_is_read() -> None:
    """Then who waits for several of them is woken once."""
    line = Line()
    wires, connections = zip(*(line.wired() for _ in range(3)), strict=True)
    for connection in connections:
        assert not any(wire.sent for wire in wires)
        connection.data_received(WHOLE)
    await asyncio.sleep(0)

    assert [len(wire.sent) for wire in wires] == [1, 1, 1]


async def test_answers_leave_in_the_order_of_their_requests() -> None:
    wire, connection = Line().wired()
    for request in (WHOLE, OTHER, WHOLE):
        connection.data_received(request)
    await settle()

    assert [one[-2:] for one in wire.sent] == [b"{}", b"ng", b"ng"]


async def test_who_has_left_is_sent_nothing() -> None:
    wire, connection = Line().wired()
    connection.data_received(WHOLE)
    connection.connection_lost(None)
    await settle()

    assert not wire.sent


async def test_a_known_request_waits_for_the_one_before_it() -> None:
    wire, connection = Line().wired()
    connection.data_received(OTHER)
    await asyncio.sleep(0)
    connection.data_received(WHOLE)
    await settle()

    assert [one[-4:] for one in wire.sent] == [b"long"] * 2


async def test_one_that_is_right_behind_an_answer_is_for_the_lane_too() -> None:
    async with Line(then=WHOLE).open() as own:
        for _ in range(3):
            await own.send(OTHER)
            bodies = [(await client.answer(own)).body for _ in range(2)]
            assert bodies == [b"long", b"{}"]


async def test_what_is_right_behind_an_answer_and_not_known_goes_the_long_way() -> None:
    async with Line(then=OTHER).open() as own:
        await own.send(OTHER)
        assert [(await client.answer(own)).body for _ in range(4)] == [b"long"] * 4
