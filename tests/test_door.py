"""How a response leaves: its head once, before any other's, whatever becomes of its body."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest

from proxy.adapters.door.arrival import opening
from proxy.adapters.door.connection import Server
from proxy.adapters.door.lane import Lane
from proxy.adapters.door.reply import send
from proxy.core.message import Head
from proxy.core.status import Status
from proxy.ports import UpstreamError
from proxy.response import Report
from tests import client
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import web
    from aiohttp.web_protocol import RequestHandler

    from proxy.core.events import Event
    from proxy.core.message import Headers
    from proxy.core.status import XCache

CUT: Final = UpstreamError("n", "cut", "it ended early")


class Pieces:
    """A body of these pieces; an error ends it."""

    def __init__(self, *pieces: bytes | Exception) -> None:
        self._pieces = iter(pieces)
        self.closed = False

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        for piece in self._pieces:
            if isinstance(piece, Exception):
                raise piece
            return piece
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed = True


class Door:
    """Answers each request with the next of these."""

    def __init__(self, *answers: tuple[Head, Pieces]) -> None:
        self._answers = list(answers)
        self.told: list[Event] = []
        self.serving: set[RequestHandler] = set()
        """Connections that asked something."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.serving.add(request.protocol)
        head, body = self._answers.pop(0)
        report = Report(request.method, "other", "1", FakeClock(), self.told.append)
        return await send(request, report.forward(head, body, Status("BYPASS")))

    @asynccontextmanager
    async def open(self) -> AsyncIterator[client.Connection]:
        lane = Lane(lambda *_: None, lambda *_: pytest.fail("nothing is known"), 0, lambda *_: None)
        serve = Server(self.handle, lane, access_log=None)
        server = await asyncio.get_running_loop().create_server(serve, "127.0.0.1", 0)
        async with server, await client.Connection.to(server.sockets[0].getsockname()[1]) as own:
            yield own
        await serve.shutdown(1)


def ok(
    *pieces: bytes | Exception, status: int = 200, length: int | None = None
) -> tuple[Head, Pieces]:
    headers: Headers = () if length is None else (("content-length", str(length)),)
    return Head(status, headers, "OK"), Pieces(*pieces)


GET = client.spelled("GET", "/x")


@pytest.mark.parametrize("error", [CUT, RuntimeError("a mistake")])
@pytest.mark.parametrize("length", [None, 4])
async def test_of_what_fails_before_its_first_piece_there_is_a_head_and_no_more(
    error: Exception, length: int | None
) -> None:
    """Not another answer in its framing: nobody could read that."""
    head, body = ok(error, length=length)
    door = Door((head, body))
    async with door.open() as own:
        await own.send(GET)
        start, _, rest = (await own.raw()).partition(b"\r\n\r\n")

    assert start.startswith(b"HTTP/1.1 200 OK\r\n")
    assert (rest, body.closed, len(door.told)) == (b"", True, 1)


async def test_a_mistake_in_the_middle_of_a_body_is_logged_and_the_body_is_cut(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with Door(ok(b"one", RuntimeError("a mistake"))).open() as own:
        await own.send(GET)
        got = await client.answer(own)

    assert (got.body, got.complete) == (b"one", False)
    assert "unexpected RuntimeError" in caplog.text


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize("length", [None, 3])
async def test_a_header_of_two_lines_leaves_as_an_error(end: str, length: int | None) -> None:
    """What stands in the second one could be a header that nobody sent, or a body."""
    head, body = ok(b"one", length=length)
    torn = Head(200, (*head.headers, ("x-one", f"1{end}x-two: 2")), "OK")
    async with Door((torn, body)).open() as own:
        await own.send(GET)
        got = await client.answer(own)

    assert (got.status, got.complete, body.closed) == (500, True, True)
    assert got.json()["error"]["message"] == "the proxy failed"
    assert (got.get("x-one"), got.get("x-two")) == (None, None)


async def test_heads_of_responses_without_a_body_are_whole_and_in_order() -> None:
    door = Door(ok(status=204), ok(b"x", status=304), ok(b"body", length=4), ok(b"one"), ok())
    async with door.open() as own:
        await own.send(GET + GET + client.spelled("HEAD", "/x") + GET + GET)
        a, b = await client.answer(own), await client.answer(own)
        c = await client.answer(own, bodiless=True)
        d, e = await client.answer(own), await client.answer(own)

    assert [one.status for one in (a, b, c, d, e)] == [204, 304, 200, 200, 200]
    assert [one.body for one in (a, b, c, d, e)] == [b"", b"", b"", b"one", b""]


@pytest.mark.parametrize("length", [None, 3])
async def test_a_head_waits_for_no_piece(length: int | None) -> None:
    """A client may wait for it, such as for the name of its request."""
    until = asyncio.Event()

    class Late(Pieces):
        async def __anext__(self) -> bytes:
            await until.wait()
            return await super().__anext__()

    head, _ = ok(length=length)
    async with Door((head, Late(b"one"))).open() as own:
        await own.send(GET)
        assert (await own.head()).status == 200
        until.set()
        assert await own.rest() == b"one"


@pytest.mark.parametrize("wish", [b"", b"Connection: keep-alive\r\n"])
async def test_by_http_1_0_the_end_is_the_connections_end(wish: bytes) -> None:
    """Also where the client would keep it: of a body without a length nothing else is the end."""
    async with Door(ok(b"one", b"two")).open() as own:
        await own.send(GET.replace(b"HTTP/1.1", b"HTTP/1.0")[:-2] + wish + b"\r\n")
        start, _, body = (await own.raw()).partition(b"\r\n\r\n")

    assert (b"keep-alive" in start, body) == (False, b"onetwo")


async def test_by_http_1_0_a_connection_is_kept_where_that_was_wished_and_is_told() -> None:
    wishing = GET.replace(b"HTTP/1.1", b"HTTP/1.0")[:-2] + b"Connection: keep-alive\r\n\r\n"
    async with Door(ok(b"one", length=3), ok(b"two", length=3)).open() as own:
        for body in (b"one", b"two"):
            await own.send(wishing)
            got = await client.answer(own)
            assert (got.get("connection"), got.body) == ("keep-alive", body)


@pytest.mark.parametrize("error", [CUT, RuntimeError("a mistake")])
@pytest.mark.parametrize("pieces", [(), (b"one",)])
async def test_by_http_1_0_what_breaks_off_is_no_end(
    error: Exception, pieces: tuple[bytes, ...]
) -> None:
    """Where nothing but the connection's end is the body's, a cut is a reset."""
    async with Door(ok(*pieces, error)).open() as own:
        await own.send(GET.replace(b"HTTP/1.1", b"HTTP/1.0"))
        with pytest.raises(ConnectionResetError):
            await own.raw()


async def test_by_http_1_0_a_body_short_of_its_length_ends_in_order() -> None:
    """All that came of it gets through, and its length tells that it is not whole."""
    async with Door(ok(b"one", CUT, length=4)).open() as own:
        await own.send(GET.replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert (await own.raw()).partition(b"\r\n\r\n")[2] == b"one"


class Silent(Pieces):
    """A body of which nothing comes after these pieces."""

    async def __anext__(self) -> bytes:
        try:
            return await super().__anext__()
        except StopAsyncIteration:
            await asyncio.Event().wait()
            raise


async def test_by_http_1_0_what_a_server_on_its_way_out_gives_up_is_no_end() -> None:
    door = Door((Head(200, (), "OK"), Silent(b"one")))
    async with door.open() as own:
        await own.send(GET.replace(b"HTTP/1.1", b"HTTP/1.0"))
        await own.head()
        await own.piece()
        (serving,) = door.serving
        await serving.shutdown(0.001)
        with pytest.raises(ConnectionResetError):
            await own.raw()


class Whole(Door):
    """Answers with bodies that are here already."""

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        head, body = self._answers.pop(0)
        report = Report(request.method, "other", "1", FakeClock(), self.told.append)
        text = b"".join([piece async for piece in body])
        return await send(request, report.respond(head, text, Status("ERROR")))


@pytest.mark.parametrize("kind", [Door, Whole])
async def test_a_server_on_its_way_out_says_that_the_connection_ends(kind: type[Door]) -> None:
    """Else a client sends its next request on it, which is lost."""

    class Leaving(kind):  # type: ignore[misc,valid-type]  # one of two
        async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
            request.protocol.close()
            return await super().handle(request)  # type: ignore[no-any-return]  # as above

    async with Leaving(ok(b"one")).open() as own:
        await own.send(GET)
        got = await client.answer(own)

        assert (got.get("connection"), got.body, await own.raw()) == ("close", b"one", b"")


async def test_whole_bodies_are_sent_where_there_may_be_one() -> None:
    """What else would come would be taken for the next response."""
    door = Whole(ok(b"one"), ok(b"two", status=304), ok(status=204), ok(b"four"))
    async with door.open() as own:
        await own.send(client.spelled("HEAD", "/x") + GET + GET + GET)
        a = await client.answer(own, bodiless=True)
        b, c, d = [await client.answer(own) for _ in range(3)]

    assert [one.status for one in (a, b, c, d)] == [200, 304, 204, 200]
    assert (d.body, c.get("content-length")) == (b"four", None)


class Turning(Door):
    """Notes whether the loop turned while an answer of this outcome was sent."""

    def __init__(self, outcome: XCache) -> None:
        super().__init__()
        self._outcome = outcome
        self.turned: list[bool] = []

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        report = Report(request.method, "chat", "1", FakeClock(), self.told.append)
        response = report.respond(Head(200, ()), b"body", Status(self._outcome))
        asyncio.get_running_loop().call_soon(self.turned.append, True)
        sent = await send(request, response)
        self.turned.append(False)
        return sent


@pytest.mark.parametrize(("outcome", "first"), [("HIT", False), ("COLLAPSED", True)])
async def test_only_a_crowds_answer_leaves_a_turn_to_others(outcome: XCache, first: bool) -> None:
    """After a hit the connection is idle at once: its next request is for the lane."""
    door = Turning(outcome)
    async with door.open() as own:
        await own.send(GET)
        assert (await client.answer(own)).body == b"body"

    assert door.turned[0] is first
    assert len(door.told) == 1


@pytest.mark.parametrize(("length", "taken"), [(0, False), (1, True), (512, True), (513, False)])
def test_a_clients_id_for_its_request_is_taken_at_a_length_that_can_be_remembered(
    length: int, taken: bool
) -> None:
    told = opening(((b"X-Client-Request-Id", b"x" * length),), 1 << 16)

    assert told.client_id == ("x" * length if taken else None)
