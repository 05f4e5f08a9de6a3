"""The path of a request, top down.

bytes ─► Arrival ─► Intent ─► Outcome ──────────────► Response ─► bytes
         receive    │ Lookup   │ Hit │ Stale │ Miss     rendered │ live
                    │          │     │       └► Flight: one per key and epoch, many readers
                    │          │     └► refresh ─┘       │ another worker's, or the origin's
                    │ Bypass   │                         └► kept? ─► tiers
                    └► pass: alone
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from proxy.boarding import Live, board
from proxy.core.decision import Found, Hit, Miss, Outcome, Stale, evaluate
from proxy.core.delivery import UnlikeError, serves, wanted
from proxy.core.errors import RefusedError
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
    from proxy.flight import Flight, Reader
    from proxy.flights import Flights
    from proxy.memo import Memo
    from proxy.origin import Origin
    from proxy.ports import Clock
    from proxy.recall import Recall
    from proxy.response import Report, Response
    from proxy.sharing import Sharing
    from proxy.tiers import Tiers

LARGE = 1 << 20
"""Bytes; a larger body is understood in a thread, since it takes tens of milliseconds."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The path, with everything on it that waits."""

    rules: Rules
    memo: Memo
    tiers: Tiers
    flights: Flights
    sharing: Sharing
    origin: Origin
    recall: Recall
    epoch: Callable[[], int]
    clock: Clock
    alone: bool = False
    """Whether no other worker could fly for the same key."""

    async def serve(self, arrival: Arrival, endpoint: Endpoint, report: Report) -> Response:
        """Answer a request to an operation whose answers may be stored. Raises: RefusedError."""
        try:
            match await self._receive(arrival, endpoint, report):
                case Lookup() as lookup:
                    return await self._shared(arrival, lookup, report)
                case Bypass() as bypass:
                    return await self._pass(arrival, bypass, report)
        except REFUSED as error:
            raise refusal(error) from error

    async def _shared(self, arrival: Arrival, lookup: Lookup, report: Report) -> Response:
        try:
            return await self._answer(arrival, lookup, await self._look(lookup), report)
        except UnlikeError:  # what another request was answered is no answer to this one
            return await self._pass(arrival, Bypass(lookup.request, "unlike"), report)

    async def _receive(self, arrival: Arrival, endpoint: Endpoint, report: Report) -> Intent:
        # Bytes that were understood before are known by their hash: no JSON is parsed twice.
        raw = raw_key(arrival, self.rules)
        if (intent := self.memo.get(raw)) is None:
            if len(arrival.body) > LARGE:
                intent = await asyncio.to_thread(receive, arrival, endpoint, self.rules)
            else:
                intent = receive(arrival, endpoint, self.rules)
            if isinstance(intent, Lookup):
                intent = msgspec.structs.replace(intent, raw=raw)
            self.memo.put(raw, intent)
        report.request = intent.request
        return intent

    async def _look(self, lookup: Lookup) -> Outcome:
        epoch = self.epoch()
        found = self.tiers.near(lookup, epoch) or await self.tiers.find(lookup, epoch)
        if found is not None and not serves(found.entry, lookup.request):
            found = None
        return evaluate(found, self.clock.now(), self.epoch(), lookup.request.controls)

    async def _answer(
        self, arrival: Arrival, lookup: Lookup, outcome: Outcome, report: Report
    ) -> Response:
        report.key = lookup.key
        match outcome:
            case Hit(found):
                # What `near` cannot find again is not worth remembering, and a batch may be long.
                report.recalled = lookup if found.kind == "exact" and not lookup.items else None
                return self.recall.stored(found, lookup, report, "HIT")
            case Stale(found):
                if lookup.request.controls.store:
                    fly = partial(self._fly, arrival, lookup)
                    self.flights.refresh((lookup.key, self.epoch()), fly)
                return self.recall.stored(found, lookup, report, "STALE")
            case Miss():
                return await self._fetch(arrival, lookup, outcome, report)

    async def _fetch(
        self, arrival: Arrival, lookup: Lookup, miss: Miss, report: Report
    ) -> Response:
        controls, since, fallback = lookup.request.controls, self.clock.mono(), miss.fallback
        if controls.only_if_cached:
            raise RefusedError(504, "no stored answer for this request", code="cache_miss")
        if not controls.store:
            return await self._pass(arrival, Bypass(lookup.request, "read_only"), report)
        reader, joined = self._join(arrival, lookup, miss)
        try:
            boarded = await board(reader, lookup, joined=joined, rescue=fallback is not None)
        except UpstreamError as error:
            if fallback is None:
                raise
            return self.recall.stored(fallback, lookup, report, "STALE", failed=error.status)
        report.waited(since)
        match boarded:
            case Live(head, body, joined):
                own: XCache = "MISS" if controls.read else "REFRESH"
                outcome: XCache = "COLLAPSED" if joined else own
                node, why = reader.flight.node, reader.flight.reason
                status = Status(outcome, miss.reason, key=lookup.shown, node=node, node_reason=why)
                return report.respond(head, body, status)
            case Found():
                return self.recall.stored(boarded, lookup, report, "HIT")

    def _join(self, arrival: Arrival, lookup: Lookup, miss: Miss) -> tuple[Reader, bool]:
        """A place at the flight for this key, and whether another request had started it."""
        fly, name = partial(self._fly, arrival, lookup), (lookup.key, self.epoch())
        if lookup.request.controls.read:
            return self.flights.join(name, fly, running=miss.reason == "request")
        # Asked for a new answer: one that is on its way already is not new.
        return self.flights.replace(name, fly), False

    async def _pass(self, arrival: Arrival, bypass: Bypass, report: Report) -> Response:
        request, since = bypass.request, self.clock.mono()
        if request.controls.only_if_cached:
            raise RefusedError(504, "answers to this request are not stored", code="cache_miss")
        upstream = await self.origin.send(arrival, bypass)
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
        flight.raw = lookup.raw
        if self.alone or not lookup.request.controls.read:
            return await self.origin.fetch(arrival, lookup, flight)
        async with self.sharing.lead(flight) as leads:
            if not leads:
                return None  # another worker's answer arrived whole
            # Another worker may have stored it between our look and our turn.
            outcome = await self._look(lookup)
            if isinstance(outcome, Hit):
                return flight.board(outcome.found)
            return await self.origin.fetch(arrival, lookup, flight)
