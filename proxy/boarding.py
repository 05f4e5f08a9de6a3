"""What an upstream answer, shared or not, gives to one request that waits for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from proxy.core.decision import Found
from proxy.core.delivery import UnlikeError, serves, wanted
from proxy.delivery import live
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.answering import Answering
    from proxy.core.message import Head
    from proxy.core.request import Lookup, Request
    from proxy.flight import Reader
    from proxy.ports import Body

_OF_THE_MOMENT: Final = frozenset((408, 429))
"""Refusals that have nothing to do with how the request was written, or with whose key."""


@dataclass(frozen=True, slots=True)
class Live:
    """The answer as it arrives. `joined`: asked for by another request."""

    head: Head
    body: bytes | Body
    joined: bool


Boarded: TypeAlias = Live | Found


async def aboard(
    join: Callable[[], tuple[Reader, bool]], lookup: Lookup, beaten: Callable[[int], bool]
) -> tuple[Boarded, Reader]:
    """What a flight has for this request, and the place there. Raises: as `board`."""
    reader, joined = join()
    try:
        return await board(reader, lookup, joined=joined, beaten=beaten), reader
    except UpstreamError as error:
        if error.kind != "gone" and not (joined and error.broke_off):
            raise
    # The worker that was followed died, or the answer to another request broke off, and nothing of
    # it was passed on yet: the next answer is as good. All who wait share that one as well.
    reader, joined = join()
    return await board(reader, lookup, joined=joined, beaten=beaten), reader


async def board(
    reader: Reader, lookup: Lookup, *, joined: bool, beaten: Callable[[int], bool]
) -> Boarded:
    """What the flight has for this request. The reader is left, unless its body is read on.

    `beaten`: whether there is something better at hand than an upstream's answer of that status.
    Raises: UpstreamError, UnlikeError.
    """
    boarded: Boarded | None = None
    try:
        boarded = await _boarded(reader, lookup, joined=joined, beaten=beaten)
        return boarded
    finally:
        if not isinstance(boarded, Live) or isinstance(boarded.body, bytes):
            await reader.aclose()


async def _boarded(
    reader: Reader, lookup: Lookup, *, joined: bool, beaten: Callable[[int], bool]
) -> Boarded:
    head, flight = await reader.head(), reader.flight
    if flight.found is not None:
        if not _suits(flight.found, flight.raw, lookup):
            raise UnlikeError
        return flight.found
    if beaten(head.status):
        raise _unwell(flight.node, head.status)
    joined = joined or flight.followed
    refused = 400 <= head.status < 500 and head.status not in _OF_THE_MOMENT
    uncounted = lookup.request.wants_usage and not flight.counted
    if joined and (uncounted or (refused and flight.raw != lookup.raw)):
        raise UnlikeError
    return await _shown(head, reader, lookup.request, joined=joined)


async def _shown(head: Head, reader: Reader, request: Request, *, joined: bool) -> Live:
    """What this reader sees; the same as another one saw, if both want the same."""
    flight, wants = reader.flight, (wanted(request), request.wants_usage, request.codings, joined)
    if there := flight.shown.get(wants):
        return Live(*there, joined)
    head, body = await live(head, reader, request, flight.asked, joined=joined)
    if isinstance(body, bytes):
        flight.shown[wants] = head, body
    return Live(head, body, joined)


async def alone(upstream: Answering, request: Request, beaten: Callable[[int], bool]) -> Live:
    """An answer that nobody shares, closed unless its body is read on. Raises: UpstreamError."""
    body: bytes | Body = b""
    try:
        if beaten(upstream.head.status):
            raise _unwell(upstream.node, upstream.head.status)
        asked = wanted(request)
        head, body = await live(upstream.head, upstream, request, asked, verbatim=True)
        return Live(head, body, joined=False)
    finally:
        if isinstance(body, bytes):
            await upstream.aclose()


def _unwell(node: str, status: int) -> UpstreamError:
    """It gave an answer that is worse than what is at hand."""
    return UpstreamError(node, "status", "the upstream is unwell", status)


def _suits(found: Found, raw: bytes, lookup: Lookup) -> bool:
    """Whether what the request that started the flight was given is right for this one as well."""
    spelled = found.entry.status == 200 or raw == lookup.raw
    allowed = found.kind == "exact" or lookup.normalized is not None
    return spelled and allowed and serves(found.entry, lookup.request)
