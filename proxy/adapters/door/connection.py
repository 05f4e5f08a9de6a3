"""aiohttp's server with our words for what goes wrong."""

from __future__ import annotations

import traceback
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError, LineTooLong
from aiohttp.web_protocol import RequestHandler
from multidict import CIMultiDict

from proxy.adapters.door.lane import due
from proxy.core.errors import RefusedError, answer

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from proxy.adapters.door.lane import Lane

    Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Server(web.Server):
    """aiohttp's server with our words for what is not HTTP, and a lane beside its parser."""

    def __init__(
        self, handler: Handler, lane: Lane, *, silence: float = 0.0, **kwargs: Any
    ) -> None:
        """`silence`: seconds in which a client may take nothing of its answer; 0: any."""
        super().__init__(handler, **kwargs)
        self.lane, self.silence = lane, silence

    def __call__(self) -> RequestHandler:
        return Connection(self, loop=self._loop, **self._kwargs)


class Connection(RequestHandler):
    """One client's connection."""

    __slots__ = (
        "_apart",
        "_due",
        "_lane",
        "_left",
        "_open",
        "_pieces",
        "_silence",
        "_stall",
        "given",
    )

    def __init__(self, manager: Server, **kwargs: Any) -> None:
        super().__init__(manager, **kwargs)
        self._lane, self._silence = manager.lane, manager.silence
        self._stall: asyncio.TimerHandle | None = None
        """Runs while the client is behind with reading."""
        self._apart = True
        """Whether each request so far came whole and alone: none can reach into the next."""
        self._open = 0
        """Requests that aiohttp was given and has not answered, as long as each is apart."""
        self._pieces: list[bytes] = []
        self._due = self._left = 0
        """Of a request that is still arriving: its pieces, how long it will be, and what is
        missing."""
        self.given = b""
        """The request that is being answered, if it came so."""

    def data_received(self, data: bytes) -> None:
        """Answer at once, or leave it to aiohttp."""
        if self._close or self._force_close:
            return self._read_on(data)
        if not data:  # aiohttp's own way to look again at what it has
            return super().data_received(data)
        idle = self._is_idle()
        if self._apart and idle:
            if not self._pieces:
                self._due = self._left = due(data)
            self._pieces.append(data)
            self._left -= len(data)
            if self._left > 0:
                return self._stay()  # the path would wait for its last byte as well
        data, self._apart = self._gathered(data, idle=idle)
        answer = self._lane.take(data) if self._apart and idle else None
        if answer is not None:
            self._stay()
            # Behind all that has arrived in this turn of the loop: sent together, answers wake a
            # client of many connections once. To wake it for each takes as long as finding one.
            self._loop.call_soon(self._answer, answer)
            return None
        # Of requests that overlap it could not be told which one is answered.
        self.given = data if self._apart and idle else b""
        self._open += 1
        return super().data_received(data)

    def _answer(self, answer: bytes) -> None:
        if self.transport is not None:  # the client is still there
            self.transport.write(answer)

    def _gathered(self, data: bytes, *, idle: bool) -> tuple[bytes, bool]:
        """All that came since the last request, and whether it is one more of the same kind."""
        if not self._pieces:
            return data, self._apart and due(data) == len(data)
        pieces = self._pieces if idle else [*self._pieces, data]
        together, length = b"".join(pieces), self._due
        self._pieces, self._due = [], 0
        return together, length == len(together)

    def close(self) -> None:
        """End it once it is idle, which it is not while a request arrives."""
        pieces, self._pieces = self._pieces, []
        if pieces:
            self.given = b""  # which is the request before
            super().data_received(b"".join(pieces))
        super().close()

    def _read_on(self, data: bytes) -> None:
        """More of the last request to be answered here; without data, look again at what is here of
        it. aiohttp would do neither, and have the handler wait until its time is over."""
        if self._parser is not None and self._payload_parser is None and not self._upgraded:
            with suppress(HttpProcessingError):  # of what follows that request
                self._parser.feed_data(data)

    def resume_reading(self, resume_parser: bool = True) -> None:
        # aiohttp has its parser look again after every read, for what only a pause can hold back.
        if self._reading_paused or self._buffer_paused:
            super().resume_reading(resume_parser)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._look(0)

    def _look(self, before: int) -> None:
        """Whether the client has taken anything since so many bytes waited for it; 0: the first
        look. Else it may be gone without a word, and its answer keep a place at a node."""
        waiting = 0 if self.transport is None else self.transport.get_write_buffer_size()
        if before and self.transport is not None and waiting >= before:
            self.transport.abort()
        elif self._silence and waiting:
            self._stall = self._loop.call_later(self._silence, self._look, waiting)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._calm()

    def connection_lost(self, exc: BaseException | None) -> None:
        super().connection_lost(exc)
        self._calm()

    def _calm(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _stay(self) -> None:
        """aiohttp does not see that the connection is used, and would end it as idle."""
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout

    def _is_idle(self) -> bool:
        """Whether all that was asked is answered, and the client reads what it is sent."""
        ending = self._close or self._force_close or self._upgraded
        return not (self._open or ending or self._paused or self._reading_paused)

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        # aiohttp itself is ready some turns of the loop later: with a fast client, after the next
        # request is here, which would then go the long way as well, and so on.
        finished = await super().finish_response(request, resp, start_time)
        self._open -= 1
        return finished

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """An OpenAI-shaped error in place of a page; and nothing of ours in it."""
        if exc is not None and not isinstance(exc, HttpProcessingError | ConnectionError):
            self.logger.error("unexpected %s in %s", type(exc).__name__, place(exc))
        if request.writer.output_size > 0:
            raise ConnectionError("the response had begun")
        told = "the request is not valid HTTP" if status < 500 else "the proxy failed"
        if isinstance(exc, LineTooLong):
            status, told = 431, "the request line, or a header, is longer than `max_header_bytes`"
        elif isinstance(exc, HttpProcessingError):
            status = exc.code
        head, body = answer(RefusedError(status, told))
        reply = web.Response(status=status, body=body, headers=CIMultiDict(head.headers))
        reply.force_close()
        return reply


def place(error: BaseException) -> str:
    """Where it was raised; no more is told, since an exception's text may quote a prompt."""
    where = traceback.extract_tb(error.__traceback__)[-1:]
    return f"{where[0].name}:{where[0].lineno}" if where else "?"
