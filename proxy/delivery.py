"""An arriving answer for one reader: in the form, coding and dialect that its request asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from proxy.core.coding import CodingError, decoded, decoder
from proxy.core.delivery import form, retyped, wanted
from proxy.core.endpoint import Endpoint
from proxy.core.headers import end_to_end, shared, without
from proxy.core.message import Head
from proxy.core.replay import UsageFilter, failure, replay
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from proxy.core.coding import Decoder
    from proxy.core.entry import Form
    from proxy.core.message import Headers
    from proxy.core.request import Request
    from proxy.ports import Body

_CODED = frozenset(("content-encoding", "content-length"))
_LENGTH = frozenset(("content-length",))

_BOUNDARIES = (b"\n\n", b"\r\r", b"\r\n\r\n")

COUNTED = (Endpoint.CHAT, Endpoint.COMPLETIONS)
"""Endpoints whose streams carry usage only where it was asked for."""


class Events:
    """A live event stream for one reader: decoded if need be, usage hidden if it is not wanted.

    Where the upstream breaks off, the last event says so and the error goes on, so that the
    connection is cut as well: never a clean end of half an answer.
    """

    def __init__(
        self, body: Body, endpoint: Endpoint, *, decoder: Decoder | None, hide_usage: bool
    ) -> None:
        self._body = body
        self._chunks = body.__aiter__()
        self._endpoint = endpoint
        self._decoder = decoder
        self._filter = UsageFilter() if hide_usage else None
        self._tail = b""
        self._error: UpstreamError | None = None
        self._ended = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._error is not None:
            raise self._error
        while not self._ended:
            try:
                chunk = await self._next()
            except (UpstreamError, CodingError) as error:
                self._error = _cut(error)
                return self._farewell(str(error))
            if chunk:
                self._tail = (self._tail + chunk)[-4:]
                return chunk
        raise StopAsyncIteration

    async def _next(self) -> bytes:
        try:
            return self._passed(await self._chunks.__anext__())
        except StopAsyncIteration:
            self._ended = True
            return self._rest()

    def _passed(self, chunk: bytes) -> bytes:
        if self._decoder is not None:
            chunk = self._decoder.feed(chunk)
        return chunk if self._filter is None else self._filter.feed(chunk)

    def _rest(self) -> bytes:
        rest = b"" if self._decoder is None else self._decoder.finish()
        return rest if self._filter is None else self._filter.feed(rest) + self._filter.finish()

    def _farewell(self, message: str) -> bytes:
        # An event that was cut in the middle is closed first: glued to it, ours would be lost.
        # The filter lets whole events out only.
        broken = self._filter is None and not self._tail.endswith(_BOUNDARIES)
        return (b"\n\n" if broken and self._tail else b"") + failure(
            self._endpoint, message, "upstream_error"
        )

    async def aclose(self) -> None:
        await self._body.aclose()


class Resumed:
    """A body of which the first chunk was taken already."""

    def __init__(self, first: bytes, body: Body) -> None:
        self._first = first
        self._body = body
        self._chunks = body.__aiter__()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        return await self._chunks.__anext__()

    async def aclose(self) -> None:
        await self._body.aclose()


async def live(
    head: Head,
    body: Body,
    request: Request,
    asked: Form,
    *,
    joined: bool = False,
    verbatim: bool = False,
) -> tuple[Head, bytes | Body]:
    """What one reader sees of an arriving answer.

    `asked`: the form that the upstream was asked for. `joined`: on another request's behalf.
    `verbatim`: with this very request, so nothing in it is hidden.

    Raises: UpstreamError where the answer breaks off before its first byte could be passed on.
    """
    headers = end_to_end(head.headers)
    if joined:
        headers = shared(headers, head.status)
    shape = form(head)
    coding = (head.get("content-encoding") or "").lower()
    taken = all(part.strip() in request.codings for part in coding.split(",")) if coding else True
    other = joined and head.status == 200 and asked != wanted(request)
    if other and shape is not None and (not coding or decoder(coding) is not None):
        to, found = await _rendered(body, request, shape, coding)
        return Head(200, retyped(without(headers, _CODED), to)), found
    headers = without(headers, _LENGTH)
    if shape == "events":
        hide = request.endpoint in COUNTED and not request.wants_usage and not verbatim
        undo = decoder(coding) if coding and (hide or not taken) else None
        if coding and undo is None:
            return Head(head.status, _coded(headers, head, joined), head.reason), body
        events = Events(body, request.endpoint, decoder=undo, hide_usage=hide)
        return Head(head.status, without(headers, _CODED), head.reason), events
    if shape == "json":
        whole = await _held(body)
        if coding and not taken and isinstance(whole, bytes) and decoder(coding) is not None:
            return Head(head.status, without(headers, _CODED), head.reason), _decoded(coding, whole)
        return Head(head.status, _coded(headers, head, joined), head.reason), whole
    return Head(head.status, _coded(headers, head, joined), head.reason), body


def _coded(headers: Headers, head: Head, joined: bool) -> Headers:
    """The body goes on encoded, so the reader that joined must be told the coding too."""
    coding = head.get("content-encoding")
    return (*headers, ("content-encoding", coding)) if joined and coding else headers


async def _rendered(body: Body, request: Request, shape: Form, coding: str) -> tuple[Form, bytes]:
    """The whole answer in the form that is wanted, or in its own if it has no other."""
    whole = b"".join([chunk async for chunk in body])
    plain, want = _decoded(coding, whole) if coding else whole, wanted(request)
    found = replay(request.endpoint, shape, want, plain, usage=request.wants_usage)
    return (shape, plain) if found is None else (want, found)


async def _held(body: Body) -> bytes | Body:
    """A JSON body, held until it is whole: half of it is of use to nobody, an error is.

    Upstreams that keep a slow answer's connection alive with blanks get them passed on at once.
    """
    parts: list[bytes] = []
    async for chunk in body:
        if not parts and chunk.isspace():
            return Resumed(chunk, body)
        parts.append(chunk)
    return b"".join(parts)


def _decoded(coding: str, body: bytes) -> bytes:
    """Raises: UpstreamError."""
    try:
        return decoded(coding, body)
    except CodingError as error:
        raise _cut(error) from error


def _cut(error: Exception) -> UpstreamError:
    return error if isinstance(error, UpstreamError) else UpstreamError("", "protocol", str(error))
