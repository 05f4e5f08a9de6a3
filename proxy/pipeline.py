"""The path of a request, top down.

bytes ─► Arrival ─► Intent ─► Outcome ──────────────► Response ─► bytes
         receive    │ Lookup   │ Hit │ Stale │ Miss     rendered │ live
                    │          │     │       └► Flight: one per key and epoch, many readers
                    │          │     └► refresh ─┘       │ another worker's, or the origin's
                    │ Bypass   │                         └► kept? ─► tiers
                    └► pass: alone
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from proxy.core.decision import Found, Hit, Miss, Outcome, Stale, evaluate
from proxy.core.delivery import wanted
from proxy.core.errors import RefusedError
from proxy.core.message import Head
from proxy.core.receive import raw_key, receive
from proxy.core.request import Bypass, Lookup
from proxy.core.status import Status
from proxy.delivery import live
from proxy.ports import UpstreamError
from proxy.refusal import REFUSED, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.endpoint import Endpoint
    from proxy.core.message import Arrival
    from proxy.core.request import Intent
    from proxy.core.rules import Rules
    from proxy.core.status import XCache
    from proxy.flight import Flight, Flights, Reader
    from proxy.memo import Memo
    from proxy.origin import Origin
    from proxy.ports import Clock
    from proxy.renders import Renders
    from proxy.response import Report, Response
    from proxy.sharing import Sharing
    from proxy.tiers import Tiers

UNWELL = frozenset((429, 500, 502, 503, 504))
"""Upstream answers that a stored one is better than (RFC 5861 §4, and being told to wait)."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The path, with everything on it that waits."""

    rules: Rules
    memo: Memo
    tiers: Tiers
    flights: Flights
    sharing: Sharing
    origin: Origin
    renders: Renders
    epoch: Callable[[], int]
    clock: Clock

    async def serve(self, arrival: Arrival, endpoint: Endpoint, report: Report) -> Response:
        """Answer a request to an operation whose answers may be stored. Raises: RefusedError."""
        try:
            match self._receive(arrival, endpoint, report):
                case Lookup() as lookup:
                    outcome = await self._look(lookup)
                    return await self._answer(arrival, lookup, outcome, report)
                case Bypass() as bypass:
                    return await self._pass(arrival, bypass, report)
        except REFUSED as error:
            raise refusal(error) from error

    def _receive(self, arrival: Arrival, endpoint: Endpoint, report: Report) -> Intent:
        # Bytes that were understood before are known by their hash: no JSON is parsed twice.
        raw = raw_key(arrival, self.rules)
        if (intent := self.memo.get(raw)) is None:
            intent = receive(arrival, endpoint, self.rules)
            self.memo.put(raw, intent)
        report.request = intent.request
        return intent

    async def _look(self, lookup: Lookup) -> Outcome:
        found = await self.tiers.find(lookup)
        return evaluate(found, self.clock.now(), self.epoch(), lookup.request.controls)

    async def _answer(
        self, arrival: Arrival, lookup: Lookup, outcome: Outcome, report: Report
    ) -> Response:
        report.key = lookup.key
        match outcome:
            case Hit(found, age):
                return self._stored(found, lookup, report, Status("HIT", age=age))
            case Stale(found, age):
                if lookup.request.controls.store:
                    fly = partial(self._fly, arrival, lookup)
                    self.flights.refresh((lookup.key, self.epoch()), fly)
                return self._stored(found, lookup, report, Status("STALE", age=age))
            case Miss():
                return await self._fetch(arrival, lookup, outcome, report)

    def _stored(self, found: Found, lookup: Lookup, report: Report, status: Status) -> Response:
        entry = found.entry
        report.tokens = entry.usage
        headers, body = self.renders.get(entry, lookup.request)
        told = msgspec.structs.replace(
            status,
            kind=found.kind,
            tier=found.tier,
            ttl=entry.ttl - (status.age or 0.0),
            key=lookup.shown,
            node=entry.node,
        )
        return report.respond(Head(entry.status, headers), body, told)

    async def _fetch(
        self, arrival: Arrival, lookup: Lookup, miss: Miss, report: Report
    ) -> Response:
        controls = lookup.request.controls
        if controls.only_if_cached:
            raise RefusedError(504, "no stored answer for this request", code="cache_miss")
        if not controls.store:
            return await self._pass(arrival, Bypass(lookup.request, "read_only"), report)
        fly, name = partial(self._fly, arrival, lookup), (lookup.key, self.epoch())
        if controls.read:
            reader, joined = self.flights.join(name, fly)
        else:  # asked for a new answer: one that is on its way already is not new
            reader, joined = self.flights.replace(name, fly), False
        try:
            return await self._board(reader, joined, lookup, miss, report)
        except BaseException:
            await reader.aclose()
            raise

    async def _board(
        self, reader: Reader, joined: bool, lookup: Lookup, miss: Miss, report: Report
    ) -> Response:
        flight, request, since = reader.flight, lookup.request, self.clock.mono()
        try:
            head = await reader.head()
            report.waited(since)
            joined = joined or flight.followed
            if flight.found is not None:
                return await self._instead(reader, flight.found, lookup, report)
            if head.status in UNWELL and miss.fallback is not None:
                raise UpstreamError(flight.node, "status", "the upstream is unwell")
            head, body = await live(head, reader, request, flight.asked, joined=joined)
        except UpstreamError:
            if miss.fallback is None:
                raise
            code = 502 if flight.head is None else flight.head.status
            return await self._instead(reader, miss.fallback, lookup, report, code)
        if isinstance(body, bytes):
            await reader.aclose()
        outcome: XCache = "COLLAPSED" if joined else "MISS" if request.controls.read else "REFRESH"
        node, why = flight.node, flight.reason
        told = Status(outcome, miss.reason, key=lookup.shown, node=node, node_reason=why)
        return report.respond(head, body, told)

    async def _instead(
        self, reader: Reader, found: Found, lookup: Lookup, report: Report, failed: int = 0
    ) -> Response:
        """A stored answer, since the upstream failed, or since the flight found it at last."""
        await reader.aclose()
        age = max(0.0, self.clock.now() - found.entry.created)
        status = Status("STALE" if failed else "HIT", age=age, fwd_status=failed)
        return self._stored(found, lookup, report, status)

    async def _pass(self, arrival: Arrival, bypass: Bypass, report: Report) -> Response:
        request, since = bypass.request, self.clock.mono()
        if request.controls.only_if_cached:
            raise RefusedError(504, "answers to this request are not stored", code="cache_miss")
        upstream = await self.origin.send(arrival, request)
        try:
            report.waited(since)
            asked = wanted(request)
            head, body = await live(upstream.head, upstream, request, asked, verbatim=True)
        except BaseException:
            await upstream.aclose()
            raise
        if isinstance(body, bytes):
            await upstream.aclose()
        status = Status("BYPASS", bypass.reason, node=upstream.node, node_reason=upstream.reason)
        return report.respond(head, body, status)

    async def _fly(self, arrival: Arrival, lookup: Lookup, flight: Flight) -> None:
        """Once per flight, in a task of its own: find the answer, or fetch and keep it."""
        if not lookup.request.controls.read:
            return await self.origin.fetch(arrival, lookup, flight)
        async with self.sharing.lead(flight) as leads:
            if not leads:
                return None  # another worker's answer arrived whole
            # Another worker may have stored it between our look and our turn.
            outcome = await self._look(lookup)
            if isinstance(outcome, Hit):
                return flight.board(outcome.found)
            return await self.origin.fetch(arrival, lookup, flight)
