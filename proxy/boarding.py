"""What a flight gives to one request that waits for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from proxy.core.decision import Found
from proxy.core.delivery import UnlikeError, serves
from proxy.delivery import live
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from proxy.core.message import Head
    from proxy.core.request import Lookup
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


async def board(reader: Reader, lookup: Lookup, *, joined: bool, beaten: frozenset[int]) -> Boarded:
    """What the flight has for this request. The reader is left, unless its body is read on.

    `beaten`: the upstream's statuses in place of which something better is at hand.
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
    reader: Reader, lookup: Lookup, *, joined: bool, beaten: frozenset[int]
) -> Boarded:
    head, flight = await reader.head(), reader.flight
    if flight.found is not None:
        if not _suits(flight.found, flight.raw, lookup):
            raise UnlikeError
        return flight.found
    if head.status in beaten:
        raise UpstreamError(flight.node, "status", "the upstream is unwell", head.status)
    joined = joined or flight.followed
    refused = 400 <= head.status < 500 and head.status not in _OF_THE_MOMENT
    uncounted = lookup.request.wants_usage and not flight.counted
    if joined and (uncounted or (refused and flight.raw != lookup.raw)):
        raise UnlikeError
    head, body = await live(head, reader, lookup.request, flight.asked, joined=joined)
    return Live(head, body, joined)


def _suits(found: Found, raw: bytes, lookup: Lookup) -> bool:
    """Whether what the request that started the flight was given is right for this one as well."""
    spelled = found.entry.status == 200 or raw == lookup.raw
    allowed = found.kind == "exact" or lookup.normalized is not None
    return spelled and allowed and serves(found.entry, lookup.request)
