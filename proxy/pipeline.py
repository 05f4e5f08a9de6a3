"""The path of a request, top down.

bytes ─► Arrival ─► Intent ─► Outcome ──────────────► Response ─► bytes
         receive    │ Lookup   │ Hit │ Stale │ Miss     rendered │ live
                    │          │     │       │ near in meaning? Hit
                    │          │     │       └► Flight: one per key and epoch, many readers
                    │          │     └► refresh ─┘       │ another gateway's, or the origin's
                    │ Bypass   │                         ├► kept? ─► tiers
                    └► pass: alone                       └► no answer: stale, static, error
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from proxy.boarding import Live, aboard, alone
from proxy.core.decision import Found, Hit, Miss, Outcome, Stale
from proxy.core.delivery import UnlikeError
from proxy.core.errors import UNWELL
from proxy.core.request import Bypass, Lookup
from proxy.core.status import Status
from proxy.core.want import EVER
from proxy.ports import UpstreamError
from proxy.refusal import REFUSED, missed, refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.endpoint import Endpoint
    from proxy.core.message import Arrival
    from proxy.core.status import XCache
    from proxy.flight import Flight, Reader
    from proxy.flights import Flights
    from proxy.marks import Marks
    from proxy.meanings import Meanings
    from proxy.memo import Memo
    from proxy.origin import Origin
    from proxy.quotas import Quotas
    from proxy.recall import Recall
    from proxy.rescue import Rescue
    from proxy.response import Report, Response
    from proxy.sharing import Sharing


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The path, with everything on it that waits."""

    memo: Memo
    flights: Flights
    sharing: Sharing
    origin: Origin
    recall: Recall
    meaning: Meanings
    rescue: Rescue
    quotas: Quotas
    unkept: Marks
    epoch: Callable[[], int]
    alone: bool = False
    """Whether no other worker could fly for the same key."""

    async def serve(self, arrival: Arrival, endpoint: Endpoint, report: Report) -> Response:
        """Answer a request to an operation whose answers may be stored. Raises: RefusedError."""
        try:
            intent = await self.memo.intent(arrival, endpoint)
            report.request = intent.request
            self.quotas.ask(intent.request.tenant)
            match intent:
                case Lookup() as lookup:
                    return await self._shared(arrival, lookup, report)
                case Bypass() as bypass:
                    return await self._pass(arrival, bypass, report)
        except REFUSED as error:
            raise refusal(error) from error

    async def _shared(self, arrival: Arrival, lookup: Lookup, report: Report) -> Response:
        try:
            exact = await self.recall.look(lookup)
            outcome = await self.meaning.near(exact, lookup, report.request_id)
            return await self._answer(arrival, lookup, outcome, report)
        except UnlikeError:  # what another request was answered is no answer to this one
            return await self._pass(arrival, Bypass(lookup.request, "unlike"), report)

    async def _answer(
        self, arrival: Arrival, lookup: Lookup, outcome: Outcome, report: Report
    ) -> Response:
        report.key = lookup.key
        self.recall.strain.looked(hit=not isinstance(outcome, Miss))
        match outcome:
            case Hit(found):
                # What `near` cannot find again is not worth remembering, and a batch may be long.
                report.recalled = lookup if found.kind == "exact" and not lookup.items else None
                if self.recall.early(found, lookup):
                    self._refresh(arrival, lookup, found, "early")
                return self.recall.stored(found, lookup, report, "HIT")
            case Stale(found):
                self._refresh(arrival, lookup, found, "stale")
                return self.recall.stored(found, lookup, report, "STALE")
            case Miss():
                return await self._fetch(arrival, lookup, outcome, report)

    def _refresh(self, arrival: Arrival, lookup: Lookup, found: Found, reason: str) -> None:
        if lookup.request.controls.store and not self.rescue.paused.has(lookup.key):
            fly = partial(self._renew, arrival, lookup, found.entry.asked)
            self.flights.refresh((lookup.key, self.epoch()), fly, reason)

    async def _renew(self, arrival: Arrival, lookup: Lookup, beyond: float, flight: Flight) -> None:
        try:
            await self._fly(arrival, lookup, flight, beyond=beyond)
        except UpstreamError:
            self.rescue.pause(lookup.key)
            raise
        if flight.head is not None and flight.head.status in UNWELL:
            self.rescue.pause(lookup.key)

    async def _fetch(
        self, arrival: Arrival, lookup: Lookup, miss: Miss, report: Report
    ) -> Response:
        controls = lookup.request.controls
        if controls.only_if_cached:
            raise missed("no stored answer for this request")
        if spared := self.rescue.at_once(arrival, lookup, miss.fallback, report):
            return spared
        try:
            if controls.store:
                return await self._boarded(arrival, lookup, miss, report)
            beaten = partial(self.rescue.beaten, arrival, lookup, miss.fallback)
            return await self._alone(arrival, Bypass(lookup.request, "read_only"), report, beaten)
        except UpstreamError as error:
            return self.rescue.instead(arrival, lookup, miss.fallback, report, error)

    async def _boarded(
        self, arrival: Arrival, lookup: Lookup, miss: Miss, report: Report
    ) -> Response:
        join = partial(self._join, arrival, lookup, miss)
        beaten = partial(self.rescue.beaten, arrival, lookup, miss.fallback)
        report.waits()
        boarded, reader = await aboard(join, lookup, beaten)
        report.waited()
        match boarded:
            case Live(head, body, joined):
                own: XCache = "MISS" if lookup.request.controls.read else "REFRESH"
                outcome: XCache = "COLLAPSED" if joined else own
                node, why = reader.flight.node, reader.flight.why
                key, detail = lookup.shown, miss.detail
                status = Status(outcome, miss.reason, key=key, node=node, why=why, detail=detail)
                self.rescue.passed(head.status)
                return report.respond(head, body, status)
            case Found():
                return self.recall.stored(boarded, lookup, report, "HIT")

    def _join(self, arrival: Arrival, lookup: Lookup, miss: Miss) -> tuple[Reader, bool]:
        """A place at the flight for this key, and whether another request had started it."""
        fly, name = partial(self._fly, arrival, lookup), (lookup.key, self.epoch())
        if not lookup.request.controls.read:
            # Asked for a new answer: one that is on its way already is not new.
            return self.flights.replace(name, fly), False
        if self.unkept.has(lookup.key):
            # Nobody is to wait for an answer that cannot be stored (Varnish's hit-for-miss).
            return self.flights.alone(name, partial(self.origin.fetch, arrival, lookup)), False
        return self.flights.join(name, fly, running=miss.reason == "request")

    async def _pass(self, arrival: Arrival, bypass: Bypass, report: Report) -> Response:
        if bypass.request.controls.only_if_cached:
            raise missed("answers to this request are not stored")
        try:
            beaten = partial(self.rescue.outspoken, arrival, bypass)
            return await self._alone(arrival, bypass, report, beaten)
        except UpstreamError as error:
            return self.rescue.alone(arrival, bypass, report, error)

    async def _alone(
        self, arrival: Arrival, bypass: Bypass, report: Report, beaten: Callable[[int], bool]
    ) -> Response:
        report.waits()
        upstream = await self.origin.send(arrival, bypass)
        report.waited()
        answer = await alone(upstream, bypass.request, beaten)
        self.rescue.passed(answer.head.status)
        status = Status("BYPASS", bypass.reason, node=upstream.node, why=upstream.why)
        return report.respond(answer.head, answer.body, status)

    async def _fly(
        self, arrival: Arrival, lookup: Lookup, flight: Flight, *, beyond: float = EVER
    ) -> None:
        """Once per flight, in a task of its own: find the answer, or fetch and keep it."""
        flight.raw = lookup.raw
        if self.alone or not lookup.request.controls.read:
            return await self.origin.fetch(arrival, lookup, flight)
        async with self.sharing.lead(flight) as leads:
            if not leads:
                return None  # another worker's answer arrived whole
            # Another worker may have stored it between our look and our turn.
            outcome = await self.recall.look(lookup, beyond, sure=True)
            if isinstance(outcome, Hit):
                return flight.board(outcome.found)
            return await self.origin.fetch(arrival, lookup, flight)
