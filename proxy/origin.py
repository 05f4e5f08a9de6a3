"""Where answers come from: the fleet, asked with the client's own bytes."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from proxy.core import embeddings
from proxy.core.batch import apart, members, whole
from proxy.core.coding import CodingError, decoded
from proxy.core.decision import Hit, evaluate
from proxy.core.delivery import wanted
from proxy.core.entry import Alias
from proxy.core.events import StoreSkipped
from proxy.core.headers import with_credential, without
from proxy.core.keeping import Arrived, kept
from proxy.core.message import Call, Head
from proxy.core.rewrite import outgoing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.entry import Entry, Key
    from proxy.core.keeping import Keeping
    from proxy.core.message import Arrival
    from proxy.core.request import Bypass, Lookup, Request
    from proxy.fleet import Answering, Fleet, Node
    from proxy.flight import Flight
    from proxy.ports import Clock, Emit
    from proxy.tiers import Tiers


_LARGE: Final = 1 << 20

_TURN: Final = 256
"""Items looked up in a row: in a batch of many thousands, other requests come in between."""

_KEPT_THERE: Final = ("store_true", "stateful", "hosted_tools")
"""What is asked for by these lies, or will lie, at one node."""


class Origin:
    """Sends requests to the fleet, and keeps what may be kept of the answers."""

    def __init__(
        self,
        fleet: Fleet,
        tiers: Tiers,
        keeping: Keeping,
        *,
        stripped: frozenset[str],
        clock: Clock,
        emit: Emit,
        max_entry_bytes: int,
    ) -> None:
        """`stripped`: headers that are not sent on, in lower case."""
        self._fleet = fleet
        self._tiers = tiers
        self._keeping = keeping
        self._stripped = stripped
        self._clock = clock
        self._emit = emit
        self._max_decoded = 8 * max_entry_bytes

    async def send(self, arrival: Arrival, bypass: Bypass) -> Answering:
        """The answer to this one request. Raises: NoNodeError, UpstreamError."""
        sticky, request = bypass.reason in _KEPT_THERE, bypass.request
        return await self._ask(arrival, request, arrival.body, counted=False, sticky=sticky)

    async def forward(self, call: Call, credential: str | None) -> Answering:
        """The answer to a request that is passed on as it is. Raises: UpstreamError."""
        build = partial(_forwarded, call, credential)
        repeatable = call.body is None and call.method in ("GET", "HEAD", "OPTIONS")
        return await self._fleet.send(None, build, repeatable=repeatable, sticky=True)

    async def fetch(self, arrival: Arrival, lookup: Lookup, flight: Flight) -> None:
        """Fill the flight, then store the answer. Raises: NoNodeError, UpstreamError."""
        if lookup.items and await self._fetched_in_part(arrival, lookup, flight):
            return
        request, asked = lookup.request, self._clock.now()
        upstream = await self._ask(arrival, request, arrival.body, counted=True)
        try:
            flight.reason = upstream.reason
            flight.counted = upstream.counted or request.wants_usage or not request.stream
            flight.open(upstream.head, upstream.node, wanted(request))
            async for chunk in upstream:
                await flight.write(chunk)
            flight.land()
            entry = None
            if flight.dropped:
                self._emit(StoreSkipped("too_large"))
            else:
                entry = await self._judged(b"".join(flight.chunks), upstream, lookup, flight, asked)
        finally:
            await upstream.aclose()
        if entry is not None and not flight.purged:
            await self._store(entry, lookup, arrival.body)

    async def _ask(
        self,
        arrival: Arrival,
        request: Request,
        body: bytes,
        *,
        counted: bool,
        sticky: bool = False,
    ) -> Answering:
        build = partial(self._call, arrival, request, body, counted=counted)
        return await self._fleet.send(request.model, build, sticky=sticky)

    def _call(
        self, arrival: Arrival, request: Request, body: bytes, node: Node, *, counted: bool
    ) -> Call:
        """What one node is sent. `counted`: ask for usage, which is hidden from who did not."""
        headers = without(arrival.headers, self._stripped)
        credential = request.credential or node.credential
        if credential is not None:
            headers = with_credential(headers, credential)
        sent = outgoing(body, request, ask_usage=counted and node.ask_usage)
        return Call(arrival.method, arrival.path, arrival.query, headers, sent)

    async def _judged(
        self, body: bytes, upstream: Answering, lookup: Lookup, flight: Flight, asked: float
    ) -> Entry | None:
        """What is to be stored of a whole answer."""
        arrived = Arrived(
            head=upstream.head,
            body=body,
            node=upstream.node,
            asked=asked,
            created=self._clock.now(),
            latency=upstream.seconds,
            epoch=flight.name[1],
            counted=flight.counted,
        )
        if len(body) > _LARGE:  # a long answer takes tens of milliseconds to be checked
            entry = await asyncio.to_thread(self._kept, arrived, lookup)
        else:
            entry = self._kept(arrived, lookup)
        if isinstance(entry, str):
            self._emit(StoreSkipped(entry))
            return None
        upstream.usage = entry.usage
        return entry

    def _kept(self, arrived: Arrived, lookup: Lookup) -> Entry | str:
        coding = arrived.head.get("content-encoding")
        try:
            body = decoded(coding, arrived.body, self._max_decoded) if coding else arrived.body
        except CodingError:
            return "coding"
        return kept(msgspec.structs.replace(arrived, body=body), lookup, self._keeping)

    async def _store(self, entry: Entry, lookup: Lookup, body: bytes) -> None:
        if entry.key != lookup.key or (lookup.normalized is None and not lookup.items):
            await self._tiers.put(entry)  # a refusal stands for these very bytes alone
        elif lookup.normalized is None:
            parts = self._apart(entry, lookup, body, range(len(lookup.items)))
            await self._tiers.put(*(parts or ()))
        else:
            alias = Alias(lookup.normalized, entry.tenant, entry.key, entry.asked, entry.expires)
            await self._tiers.put(entry, alias)

    def _apart(
        self, entry: Entry, lookup: Lookup, body: bytes, places: Sequence[int]
    ) -> list[Entry] | None:
        """An answer for the items at these places of the request, one entry each."""
        given = embeddings.inputs(members(body))
        if given is None or len(given[0]) != len(lookup.items):
            return None
        sizes = [embeddings.size(given[0][place]) for place in places]
        keys = [lookup.items[place] for place in places]
        return apart(entry, keys, sizes, lookup, self._keeping.jitter)

    async def _fetched_in_part(self, arrival: Arrival, lookup: Lookup, flight: Flight) -> bool:
        """Ask for the unknown items of a batch only; False: all or none are, or it went wrong."""
        request, asked = lookup.request, self._clock.now()
        known = await self._known(lookup, asked, flight.name[1])
        places = embeddings.missing(lookup.items, known)
        if len(places) in (0, len(lookup.items)):
            return False
        rest = embeddings.remainder(members(arrival.body), places)
        upstream = await self._ask(arrival, request, rest, counted=False)
        try:
            body = b"".join([chunk async for chunk in upstream])
            entry = await self._judged(body, upstream, lookup, flight, asked)
            parts = self._apart(entry, lookup, arrival.body, places) if entry else None
        finally:
            await upstream.aclose()
        if parts is None:  # an error is the answer; anything else is asked again, whole
            return upstream.head.status >= 400 and await _filled(flight, upstream, body)
        known |= {part.key: part for part in parts}
        together = whole([known[key] for key in lookup.items], lookup)
        if together is None:
            return False
        await _filled(flight, upstream, together.body, plain=True)
        if not flight.purged:
            await self._tiers.put(*parts)
        return True

    async def _known(self, lookup: Lookup, now: float, epoch: int) -> dict[Key, Entry]:
        """The items that are stored and fresh."""
        known: dict[Key, Entry] = {}
        for number, key in enumerate(set(lookup.items)):
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
            found = await self._tiers.entry(key, lookup.request.tenant, epoch)
            outcome = evaluate(found, now, epoch, lookup.request.controls)
            if isinstance(outcome, Hit):
                known[key] = outcome.found.entry
        return known


async def _filled(flight: Flight, upstream: Answering, body: bytes, *, plain: bool = False) -> bool:
    """Give the flight a whole answer. `plain`: of our own making, so not coded as the head says."""
    head = upstream.head
    if plain:
        head = Head(head.status, without(head.headers, _OF_THE_BYTES), head.reason)
    flight.reason = upstream.reason
    flight.open(head, upstream.node, "json")
    await flight.write(body)
    flight.land()
    return True


_OF_THE_BYTES: Final = frozenset(("content-encoding", "content-length", "etag"))


def _forwarded(call: Call, credential: str | None, node: Node) -> Call:
    credential = credential or node.credential
    if credential is None:
        return call
    return msgspec.structs.replace(call, headers=with_credential(call.headers, credential))
