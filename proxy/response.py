"""A response on its way to a client, and the report of how it was served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from proxy.core.entry import Usage
from proxy.core.events import Served
from proxy.core.status import Status, lines, outcome

if TYPE_CHECKING:
    from proxy.core.message import Head
    from proxy.core.request import Lookup, Request
    from proxy.ports import Body, Clock, Emit


LEFT: Final = 499
"""The status that stands for a client that left, in logs and metrics alone (nginx's number)."""


_UNKNOWN: Final = Status("ERROR")
_NO_TOKENS: Final = Usage()


class Response(msgspec.Struct, frozen=True):
    """What goes to the client. Who sends it closes its body and ends its report in any case."""

    head: Head
    lines: str
    """Of the cache's own headers, each with its line end."""
    body: bytes | Body
    report: Report
    own: bool = False
    """Whether this proxy made it, from a stored answer or of its own words, just now."""


class Report:
    """What is known of a request so far; told once, when its response has ended."""

    def __init__(
        self, method: str, endpoint: str, request_id: str, clock: Clock, emit: Emit
    ) -> None:
        self._clock = clock
        self._emit = emit
        self._start = self._since = self._first = clock.mono()
        self._waited = 0.0
        self._status = _UNKNOWN
        self._code = 0
        self.method = method
        self.endpoint = endpoint
        self.request_id = self.shown_id = request_id
        """`shown_id`: the one that the client sees."""
        self.request: Request | None = None
        self.key = b""
        self.recalled: Lookup | None = None
        """What was looked for, where it was found fresh and without waiting."""
        self.arrived = 0
        """Bytes of the request's body."""
        self.tokens = _NO_TOKENS
        """Of a stored answer that was served."""

    def waits(self) -> None:
        """Others are asked now."""
        self._since = self._clock.mono()

    def waited(self) -> None:
        """They have answered: all since then was waiting, not this proxy's overhead."""
        self._waited += self._clock.mono() - self._since

    def respond(self, head: Head, body: bytes | Body, status: Status) -> Response:
        """The response, with the headers that tell of the cache."""
        self._status, self._code, self._first = status, head.status, self._clock.mono()
        overhead = self._first - self._start - self._waited
        told = f"{lines(status)}x-overhead-ms: {overhead * 1000:.2f}\r\n"
        own = status.outcome in ("HIT", "STALE", "ERROR")
        given = None if own else head.get("x-request-id")
        if given is not None:
            self.shown_id = given
        else:
            told += f"x-request-id: {self.request_id}\r\n"
        return Response(head, told, body, self, own)

    def forward(self, head: Head, body: bytes | Body, status: Status) -> Response:
        """The response of an operation that is none of the cache's: hardly a header is added."""
        self._status, self._code, self._first = status, head.status, self._clock.mono()
        return Response(head, outcome(status), body, self)

    def left(self) -> None:
        """The client left before its response began."""
        self._status, self._code, self._first = Status("ERROR", "left"), LEFT, self._clock.mono()
        self.end(0, complete=False)

    def end(self, sent: int, *, complete: bool) -> None:
        """The response is over. `sent`: bytes of its body."""
        status, request, start, first = self._status, self.request, self._start, self._first
        # By position: by their names, so many values would take longer than finding a hit.
        self._emit(
            Served(
                self.endpoint,
                self.method,
                self._code,
                status.outcome,
                status.kind,
                status.tier,
                status.reason,
                "" if request is None else request.tenant_name,
                "" if request is None else request.model,
                status.node,
                self.key[:4].hex(),
                self.request_id,
                request is not None and request.stream,
                status.outcome == "COLLAPSED",
                complete,
                self._clock.mono() - start,
                first - start,
                first - start - self._waited,
                status.age,
                self.arrived,
                sent,
                self.tokens.input,
                self.tokens.output,
            )
        )
