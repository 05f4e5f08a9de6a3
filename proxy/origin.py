"""Where answers come from: the fleet, asked with the client's own bytes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec

from proxy.core import embeddings
from proxy.core.batch import members, whole
from proxy.core.context import Hints, hints
from proxy.core.delivery import wanted
from proxy.core.events import StoreSkipped
from proxy.core.headers import with_credential, without
from proxy.core.message import Call, Head
from proxy.core.quota import estimate
from proxy.core.rewrite import call
from proxy.tasks import off_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.answering import Answering
    from proxy.core.entry import Entry, Key
    from proxy.core.message import Arrival
    from proxy.core.prefix import Prompt
    from proxy.core.request import Bypass, Lookup, Request
    from proxy.fleet import Fleet
    from proxy.flight import Flight
    from proxy.keeper import Keeper
    from proxy.node import Node
    from proxy.ports import Clock, Emit
    from proxy.quotas import Quotas
    from proxy.warmer import Warmer


_KEPT_THERE: Final = ("store_true", "stateful", "hosted_tools")
"""What is asked for by these lies, or will lie, at one node."""


class Origin:
    """Sends requests to the fleet, and has kept what may be kept of the answers."""

    def __init__(
        self,
        fleet: Fleet,
        keeper: Keeper,
        quotas: Quotas,
        *,
        prompted: Callable[[bytes, Request, Hints], Prompt | None],
        stripped: frozenset[str],
        warmer: Warmer | None = None,
        clock: Clock,
        emit: Emit,
    ) -> None:
        """`prompted`: what of a body nodes may have computed before. `stripped`: headers that are
        not sent on, in lower case. `warmer`: who learns from what is asked; None: nobody."""
        self._prompted = prompted
        self._warmer = warmer
        self._fleet = fleet
        self._keeper = keeper
        self._quotas = quotas
        self._stripped = stripped
        self._clock = clock
        self._emit = emit

    async def send(self, arrival: Arrival, bypass: Bypass) -> Answering:
        """The answer to this one request. Raises: NoNodeError, UpstreamError, RefusedError."""
        sticky, request = bypass.reason in _KEPT_THERE, bypass.request
        return await self._ask(arrival, request, arrival.body, counted=False, sticky=sticky)

    async def forward(self, call: Call, credential: str | None) -> Answering:
        """The answer to a request that is passed on as it is. Raises: UpstreamError."""
        build = partial(_forwarded, call, credential)
        repeatable = call.body is None and call.method in ("GET", "HEAD", "OPTIONS")
        return await self._fleet.send(None, build, repeatable=repeatable, sticky=True)

    async def fetch(self, arrival: Arrival, lookup: Lookup, flight: Flight) -> None:
        """Fill the flight, then store the answer. Raises: NoNodeError, UpstreamError,
        RefusedError: the tenant has no tokens left."""
        flight.items = frozenset(lookup.items)
        if lookup.items and await self._fetched_in_part(arrival, lookup, flight):
            return
        request, asked = lookup.request, self._clock.now()
        upstream = await self._ask(arrival, request, arrival.body, counted=True)
        try:
            flight.why = upstream.why
            flight.counted = upstream.counted or request.wants_usage or not request.stream
            flight.open(upstream.head, upstream.node, wanted(request))
            async for chunk in upstream:
                await flight.write(chunk)
            flight.land()
            entry = None
            if flight.dropped:
                self._emit(StoreSkipped("too_large"))
            else:
                entry = await self._keeper.judged(
                    b"".join(flight.chunks), upstream, lookup, flight, asked
                )
        finally:
            await upstream.aclose()
            self._settle(upstream, request)
        if entry is not None and not flight.purged:
            await self._store(entry, lookup, arrival, flight)

    async def _store(self, entry: Entry, lookup: Lookup, arrival: Arrival, flight: Flight) -> None:
        await self._keeper.store(entry, lookup, arrival)
        await self._forgotten(flight, (entry.key, *lookup.items))

    async def _forgotten(self, flight: Flight, keys: Sequence[Key]) -> None:
        """Forget what was just stored, if it was purged meanwhile, and perhaps before the last tier
        had it."""
        for key in keys if flight.purged else ():
            await self._keeper.forget(key)

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
        tenant, quotas = request.tenant, self._quotas
        reserved = quotas.reserve(tenant, estimate(body, request.longest)) if quotas.limited else 0
        try:
            prompt = None if sticky else await self._prompt(arrival, request, body)
            if self._warmer is not None and prompt is not None:
                self._warmer.coming(prompt)
            # What cannot be read names no model: any node says better than we do what is wrong.
            send = partial(self._fleet.send, request.model or None, build, stream=request.stream)
            upstream = await send(sticky=sticky, tenant=tenant, prompt=prompt)
        except BaseException:
            quotas.settle(tenant, reserved, 0)
            raise
        if upstream.head.status >= 400:  # refusals cost nothing
            quotas.settle(tenant, reserved, 0)
            return upstream
        upstream.reserved = reserved
        if counted and self._warmer is not None and prompt is not None:
            self._warmer.seen(arrival, request, prompt, upstream.node)
        return upstream

    async def _prompt(self, arrival: Arrival, request: Request, body: bytes) -> Prompt | None:
        """What nodes may have computed before; None: the choice of a node does not depend on it."""
        watched = self._warmer is not None and self._warmer.learns
        if not (watched or self._fleet.routes(request.model)):
            return None
        asked = body, request, hints(arrival.id, arrival.headers)
        return await off_loop(len(body), self._prompted, *asked)

    def _settle(self, upstream: Answering, request: Request) -> None:
        """Charge the tenant what was counted, in place of what was estimated."""
        if used := upstream.usage.input + upstream.usage.output:
            self._quotas.settle(request.tenant, upstream.reserved, used)

    def _call(
        self, arrival: Arrival, request: Request, body: bytes, node: Node, *, counted: bool
    ) -> Call:
        """What one node is sent. `counted`: ask for usage, which is hidden from who did not."""
        ask_usage, stripped = counted and node.ask_usage, self._stripped
        return call(arrival, request, body, node.credential, stripped, ask_usage=ask_usage)

    async def _fetched_in_part(self, arrival: Arrival, lookup: Lookup, flight: Flight) -> bool:
        """Ask for the unknown items of a batch only; False: all or none are, or it went wrong."""
        request, asked = lookup.request, self._clock.now()
        known = await self._keeper.known(lookup, asked, flight.name[1])
        places = embeddings.missing(lookup.items, known)
        if len(places) in (0, len(lookup.items)):
            return False
        rest = embeddings.remainder(members(arrival.body), places)
        upstream = await self._ask(arrival, request, rest, counted=False)
        try:
            body = b"".join([chunk async for chunk in upstream])
            entry = await self._keeper.judged(body, upstream, lookup, flight, asked)
            parts = self._keeper.apart(entry, lookup, arrival.body, places) if entry else None
        finally:
            await upstream.aclose()
            self._settle(upstream, request)
        if parts is None:  # an error is the answer; anything else is asked again, whole
            return upstream.head.status >= 400 and await _filled(flight, upstream, body)
        known |= {part.key: part for part in parts}
        together = whole([known[key] for key in lookup.items], lookup)
        if together is None:
            return False
        await _filled(flight, upstream, together.body, plain=True)
        if not flight.purged:
            await self._keeper.put(*parts, held=arrival.size + len(together.body))
            await self._forgotten(flight, [part.key for part in parts])
        return True


async def _filled(flight: Flight, upstream: Answering, body: bytes, *, plain: bool = False) -> bool:
    """Give the flight a whole answer. `plain`: of our own making, so not coded as the head says."""
    head = upstream.head
    if plain:
        head = Head(head.status, without(head.headers, _OF_THE_BYTES), head.reason)
    flight.why = upstream.why
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
