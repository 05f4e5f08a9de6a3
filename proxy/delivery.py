"""An arriving answer for one reader: in the form, coding and dialect that its request asked for."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from proxy.core.coding import CodingError, decoded, decoder
from proxy.core.delivery import UnlikeError, form, retyped, wanted
from proxy.core.endpoint import Endpoint
from proxy.core.headers import end_to_end, shared, without
from proxy.core.message import Head
from proxy.core.replay import UsageFilter, failure, replay
from proxy.holding import held
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from proxy.core.coding import Decoder
    from proxy.core.entry import Form
    from proxy.core.message import Headers
    from proxy.core.request import Request
    from proxy.ports import Body

Held = TypeVar("Held", bound="bytes | Body")

_MOST = 1 << 27
"""Bytes that an encoded answer may grow to, where it has to be decoded."""

_BOUNDARIES = (b"\n\n", b"\r\r", b"\r\n\r\n")

_WHOLE = 1 << 24
"""Bytes of an answer that are held until it is whole; a larger one is passed on as it arrives."""

_CODED = frozenset(("content-encoding", "content-length"))
_LENGTH = frozenset(("content-length",))

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
        # An event that was cut in the middle is closed, or ours would be lost, glued to it; under
        # a name that has no client take it for what it was to become. The filter lets whole events
        # out only.
        broken = self._filter is None and self._tail and not self._tail.endswith(_BOUNDARIES)
        line = b"" if self._tail.endswith((b"\n", b"\r")) else b"\n"
        return (line + b"event: error\n\n" if broken else b"") + failure(
            self._endpoint, message, "upstream_error"
        )

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

    Raises: UpstreamError where the answer breaks off before its first byte could be passed on,
    UnlikeError.
    """
    headers = end_to_end(head.headers)
    if joined:
        headers = shared(headers, head.status)
    shape, arriving = form(head), _Arriving(head, headers, head.coding, body, request, joined)
    other = joined and head.status == 200 and asked != wanted(request) and shape is not None
    if joined and not arriving.readable and (other or not arriving.taken):
        raise UnlikeError
    if other and shape is not None:
        return await arriving.in_other_form(shape)
    match shape:
        case "events":
            counted = request.endpoint in COUNTED
            return arriving.as_events(
                hide_usage=counted and not request.wants_usage and not verbatim
            )
        case "json":
            return await arriving.as_json()
        case None:
            return arriving.as_it_is(body)


class _Arriving(NamedTuple):
    """An arriving answer and who reads it."""

    head: Head
    headers: Headers
    coding: str
    body: Body
    request: Request
    joined: bool

    @property
    def readable(self) -> bool:
        """Whether the content coding, if any, can be removed here."""
        return not self.coding or decoder(self.coding) is not None

    @property
    def taken(self) -> bool:
        """Whether this reader takes the content coding, if any."""
        codings = filter(None, map(str.strip, self.coding.split(","))) if self.coding else ()
        return all(coding in self.request.codings for coding in codings)

    @property
    def _ends_in_doubt(self) -> bool:
        """Whether a good answer says nowhere how long it is: then it ends like one that is cut."""
        unframed = not (self.head.get("content-length") or self.head.get("transfer-encoding"))
        return unframed and self.head.status == 200 and self.readable

    def _is_json(self, whole: bytes) -> bool:
        try:
            json.loads(_decoded(self.coding, whole))
        except (ValueError, RecursionError):
            return False
        return True

    async def in_other_form(self, shape: Form) -> tuple[Head, bytes]:
        """The whole answer in the form that is wanted. Raises: UnlikeError."""
        whole = await held(self.body, _MOST)
        if not isinstance(whole, bytes):
            raise UnlikeError
        plain, request = _decoded(self.coding, whole), self.request
        to = wanted(request)
        found = replay(request.endpoint, shape, to, plain, usage=request.wants_usage)
        if found is None:
            raise UnlikeError
        return Head(200, retyped(without(self.headers, _CODED), to)), found

    def as_events(self, *, hide_usage: bool) -> tuple[Head, Body]:
        coded = self.coding and (hide_usage or not self.taken)
        undo = decoder(self.coding, _MOST) if coded else None
        if self.coding and undo is None:
            return self.as_it_is(self.body)
        endpoint = self.request.endpoint
        events = Events(self.body, endpoint, decoder=undo, hide_usage=hide_usage)
        return self._plain(), events

    async def as_json(self) -> tuple[Head, bytes | Body]:
        taken = self.taken
        whole = await held(self.body, _WHOLE if taken else _MOST, blank=True)
        if isinstance(whole, bytes) and self._ends_in_doubt and not self._is_json(whole):
            raise UpstreamError("", "cut", "the upstream's answer ended early")
        if taken or not self.readable or not isinstance(whole, bytes):
            return self.as_it_is(whole)
        return self._plain(), _decoded(self.coding, whole)

    def as_it_is(self, body: Held) -> tuple[Head, Held]:
        """Encoded as it came; a reader that joined must be told how."""
        headers = without(self.headers, _LENGTH)
        if self.joined and self.coding:
            headers = (*headers, ("content-encoding", self.coding))
        return Head(self.head.status, headers, self.head.reason), body

    def _plain(self) -> Head:
        return Head(self.head.status, without(self.headers, _CODED), self.head.reason)


def _decoded(coding: str, body: bytes) -> bytes:
    """Raises: UpstreamError."""
    try:
        return decoded(coding, body, _MOST) if coding else body
    except CodingError as error:
        raise _cut(error) from error


def _cut(error: Exception) -> UpstreamError:
    return error if isinstance(error, UpstreamError) else UpstreamError("", "protocol", str(error))
