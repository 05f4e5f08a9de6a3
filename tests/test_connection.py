"""When a connection asks the lane, and what it says of the request that is being answered."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest
from aiohttp import web

from proxy.adapters.door.connection import Connection, Server
from proxy.adapters.door.lane import Known, Lane
from proxy.core.message import Head
from proxy.core.status import Status
from proxy.response import Report
from tests import client
from tests.fakes import FakeClock
from tests.owner import eventually
from tests.test_lane import LOOKUP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proxy.response import Response


def asked(text: str) -> bytes:
    return client.spelled("POST", "/v1/chat/completions", [], text.encode())


KNOWN: Final = asked("known")
LARGE: Final = 1 << 20
"""Bytes of the answer that is known."""


class Desk:
    """Knows the answer to one request, and answers others when it may."""

    def __init__(self) -> None:
        self.at_once = 0
        """Requests that the lane answered."""
        self.given: list[bytes] = []
        """What each other one was said to be, when it was answered."""
        self.may = asyncio.Event()
        self.arrived = asyncio.Event()
        self.lane = Lane(self._at_once, self._report, 1, lambda *_: None)
        self.lane.learn(KNOWN, Known(LOOKUP, "chat", None, 5))

    def _report(self, method: str, endpoint: str, client_id: str | None) -> Report:
        return Report(method, endpoint, client_id or "1", FakeClock(), lambda _: None)

    def _at_once(self, _: object, report: Report) -> Response:
        self.at_once += 1
        return report.respond(Head(200, ()), bytes(LARGE), Status("HIT"))

    async def handle(self, request: web.BaseRequest) -> web.Response:
        self.arrived.set()
        await self.may.wait()
        assert isinstance(request.protocol, Connection)
        self.given.append(request.protocol.given)
        return web.Response(body=await request.read())

    async def begun(self) -> None:
        """Until something of a request is here that is not here whole."""
        while True:
            for one in self.serve.connections:
                assert isinstance(one, Connection)
                if one._pieces or one._current_request:
                    return
            await asyncio.sleep(0.001)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[client.Connection]:
        self.serve = serve = Server(self.handle, self.lane, access_log=None)
        server = await asyncio.get_running_loop().create_server(serve, "127.0.0.1", 0)
        async with server, await client.Connection.to(server.sockets[0].getsockname()[1]) as own:
            yield own
        await serve.shutdown(1)


async def test_a_request_alone_is_given_whole() -> None:
    desk = Desk()
    desk.may.set()
    async with desk.open() as own:
        for text in "ab":
            await own.send(asked(text))
            assert (await client.answer(own)).body == text.encode()

    assert desk.given == [asked("a"), asked("b")]


async def test_of_requests_that_overlap_none_is_given() -> None:
    """Else the answer to one would be remembered as the answer to the bytes of the other."""
    desk = Desk()
    async with desk.open() as own:
        await own.send(asked("a"))
        await desk.arrived.wait()
        for other in (asked("b"), KNOWN):
            await asyncio.sleep(0.02)  # so that it arrives in a piece of its own
            await own.send(other)
        await asyncio.sleep(0.02)
        desk.may.set()
        got = [(await client.answer(own)).body for _ in range(3)]

    assert got == [b"a", b"b", b"known"]
    assert (desk.given, desk.at_once) == ([b"", b"", b""], 0)


async def test_who_reads_nothing_is_answered_no_more_at_once() -> None:
    """What waits for such a client would fill the memory."""
    desk, most = Desk(), 64
    async with desk.open() as own:
        for _ in range(most):
            await own.send(KNOWN)
            await asyncio.sleep(0.001)
        answered = desk.at_once
        assert 0 < answered < most
        desk.may.set()
        got = [len((await client.answer(own)).body) for _ in range(most)]

    assert got == [LARGE] * answered + [5] * (most - answered)


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("length", [100, 1 << 20])
@pytest.mark.parametrize("behind", [b"", KNOWN, b"no request"])
async def test_a_server_that_ends_waits_for_the_rest_of_a_request(
    first: bool, length: int, behind: bytes
) -> None:
    """It is no idle connection, whether or not it has carried a request before. What comes behind
    that request is not answered."""
    desk, text = Desk(), "x" * length
    desk.may.set()
    async with desk.open() as own:
        if not first:
            await own.send(asked("a"))
            await client.answer(own)
        await own.send(asked(text)[:-50])
        await desk.begun()
        desk.serve.pre_shutdown()
        ending = asyncio.create_task(desk.serve.shutdown(5))
        await own.send(asked(text)[-50:] + behind)
        got, more = await client.answer(own), await own.raw()
        await ending

    assert (got.status, got.body, more) == (200, text.encode(), b"")
    assert desk.given == [asked("a"), b""][first:]


async def test_any_number_of_requests_may_come_together() -> None:
    """More than are read ahead, with bodies that are, too."""
    desk, texts = Desk(), [str(number) * (number % 7 * 1000 + 1) for number in range(400)]
    desk.may.set()
    async with desk.open() as own, asyncio.timeout(30):
        sending = asyncio.create_task(own.send(b"".join(map(asked, texts))))
        got = [(await client.answer(own)).body.decode() for _ in texts]
        await sending

    assert got == texts


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_server_that_ends_reads_what_it_had_put_off(chunked: bool) -> None:
    """All of an upload is here, more than its handler has asked for: nothing comes any more that
    would have the rest looked at."""
    desk, text = Desk(), b"x" * (1 << 20)
    framing = ("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(len(text)))
    body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(text), text) if chunked else text
    async with desk.open() as own:
        await own.send(client.spelled("POST", "/v1/files", [framing]))
        await desk.arrived.wait()
        (one,) = desk.serve.connections
        one.data_received(body)
        desk.serve.pre_shutdown()
        ending = asyncio.create_task(desk.serve.shutdown(5))
        desk.may.set()
        got = await client.answer(own)
        await ending

    assert (got.status, got.body) == (200, text)


HUGE: Final = 1 << 25
"""Bytes that no socket takes at once."""


@asynccontextmanager
async def giving(silence: float) -> AsyncIterator[tuple[Server, asyncio.StreamReader]]:
    """A client of a server that gives it a huge answer."""

    async def handle(_: web.BaseRequest) -> web.Response:
        return web.Response(body=bytes(HUGE))

    serve = Server(handle, Desk().lane, silence=silence, access_log=None)
    server = await asyncio.get_running_loop().create_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(asked("something"))
        yield serve, reader
        writer.transport.abort()
    await serve.shutdown(1)


async def test_who_takes_nothing_of_an_answer_is_given_up() -> None:
    """It may be gone without a word, and what it was given hold a place at a node."""
    async with giving(silence=0.02) as (serve, _):
        await eventually(lambda: bool(serve.connections))
        await eventually(lambda: not serve.connections)


async def test_who_takes_a_little_now_and_then_is_given_all() -> None:
    async with giving(silence=0.25) as (_, reader):
        await reader.readuntil(b"\r\n\r\n")
        for _ in range(32):
            await reader.readexactly(HUGE // 32)
            await asyncio.sleep(0.015)
