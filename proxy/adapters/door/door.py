"""From a connection to the path and back."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING

from aiohttp import web

from proxy.adapters.door.arrival import Upload, encourage, opening, read, target
from proxy.adapters.door.connection import Connection, Server, place
from proxy.adapters.door.lane import Known
from proxy.adapters.door.reply import send
from proxy.core.endpoint import Endpoint, recognise
from proxy.core.errors import RefusedError, answer
from proxy.core.message import Arrival, Call, Head
from proxy.core.recent import length, recent
from proxy.core.status import Status

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from proxy.adapters.door.arrival import Limits, Opening
    from proxy.adapters.door.lane import Lane
    from proxy.core.message import Headers
    from proxy.passing import Passing
    from proxy.response import Report, Response

    Serve: TypeAlias = Callable[[Arrival, Endpoint, Report], Awaitable[Response]]
    Tunnel: TypeAlias = Callable[[web.BaseRequest, str, Headers], Awaitable[web.StreamResponse]]
    Reports: TypeAlias = Callable[[str, str, str | None], Report]
    Noted: TypeAlias = Callable[[Report, Arrival], None]


class Door:
    """Takes requests from connections and brings back responses."""

    def __init__(
        self,
        serve: Serve,
        passing: Passing,
        tunnel: Tunnel,
        reports: Reports,
        limits: Limits,
        lane: Lane,
        noted: Noted,
    ) -> None:
        """`noted`: takes what came, for who wants to look at it."""
        self._lane, self._noted = lane, noted
        self._serve = serve
        self._passing = passing
        self._tunnel = tunnel
        self._reports = reports
        self._limits = limits
        # Most clients repeat theirs from request to request.
        self._opening = recent(256, length)(partial(opening, limit=limits.head))
        self._log = logging.getLogger("hotprefix")

    def server(self, *, keepalive_timeout: float) -> web.Server:
        """An aiohttp server, to be bound to a socket."""
        return Server(
            self.handle,
            self._lane,
            silence=self._limits.silence or 0.0,
            # A client that leaves ends its handler, and with it what only it was waiting for.
            handler_cancellation=True,
            access_log=None,
            auto_decompress=False,
            keepalive_timeout=keepalive_timeout,
            lingering_time=2.0,
            max_line_size=self._limits.header,
            max_field_size=self._limits.header,
            max_headers=1024,
        )

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """One request, from its head to the last byte of its response."""
        try:
            given, told = target(request), self._opening(request.raw_headers)
        except RefusedError as error:
            return await self._refused(request, error, self._reports(request.method, "other", None))
        endpoint = recognise(request.method, given.partition("?")[0])
        report = self._reports(
            request.method, endpoint.value if endpoint else "other", told.client_id
        )
        try:
            # By RFC 6455 a GET; any other method would take its body past all checks.
            if told.upgrades and request.method == "GET":
                return await self._relayed(request, given, told.headers, report)
            response = await self._response(request, given, told, endpoint, report)
        except asyncio.CancelledError:
            report.left()
            raise
        except RefusedError as error:
            return await self._refused(request, error, report, endpoint)
        self._learn(request, told, report)
        return await send(request, response)

    def _learn(self, request: web.BaseRequest, told: Opening, report: Report) -> None:
        """Have the same bytes answered without all this, where the answer was at hand."""
        connection = request.protocol
        if report.recalled is None or not isinstance(connection, Connection):
            return
        if connection.given and request.keep_alive:
            known = Known(report.recalled, report.endpoint, told.client_id, report.arrived)
            self._lane.learn(connection.given, known)

    async def _refused(
        self,
        request: web.BaseRequest,
        error: RefusedError,
        report: Report,
        endpoint: Endpoint | None = None,
    ) -> web.StreamResponse:
        head, body = answer(error, endpoint)
        return await send(request, report.respond(head, body, Status("ERROR", error.code or "")))

    async def _relayed(
        self, request: web.BaseRequest, given: str, headers: Headers, report: Report
    ) -> web.StreamResponse:
        relayed = await self._tunnel(request, given, headers)
        report.forward(Head(relayed.status, ()), b"", Status("BYPASS", "upgrade"))
        report.end(0, complete=True)
        return relayed

    async def _response(
        self,
        request: web.BaseRequest,
        given: str,
        told: Opening,
        endpoint: Endpoint | None,
        report: Report,
    ) -> Response:
        if told.waits:
            encourage(request)
        path, _, query = given.partition("?")
        headers = told.headers
        body: bytes | Upload | None = None
        if endpoint is None:
            pass_on = self._passing.forward
            if request.body_exists:
                body = Upload(request.content, self._limits)
        else:
            pass_on, body = self._passing.unread, await read(request, told.length, self._limits)
        if isinstance(body, bytes) and endpoint is not None:
            report.arrived = len(body)
            arrival = Arrival(request.method, path, query, headers, body, report.request_id)
            self._noted(report, arrival)
            return await self._served(arrival, endpoint, report)
        try:
            return await pass_on(Call(request.method, path, query, headers, body), report)
        except RefusedError as error:
            raise (body.refused if isinstance(body, Upload) else None) or error from None

    async def _served(self, arrival: Arrival, endpoint: Endpoint, report: Report) -> Response:
        try:
            return await self._serve(arrival, endpoint, report)
        except RefusedError:
            raise
        except Exception as error:  # a mistake of ours may cost the cache's help, not the answer
            self._log.error("unexpected %s in %s", type(error).__name__, place(error))
            whole = arrival.body
            call = Call(arrival.method, arrival.path, arrival.query, arrival.headers, whole)
            return await self._passing.unread(call, report)
