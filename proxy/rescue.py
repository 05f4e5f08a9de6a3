"""The ladder: what is served where the upstream gives no answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.core.errors import UNWELL
from proxy.core.events import Degraded
from proxy.core.message import Head
from proxy.core.static import static
from proxy.core.status import UNASKED, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.config import Static
    from proxy.core.decision import Found
    from proxy.core.entry import Key
    from proxy.core.message import Arrival, Headers
    from proxy.core.request import Bypass, Lookup, Request
    from proxy.marks import Marks
    from proxy.ports import Clock, Emit, UpstreamError
    from proxy.recall import Recall
    from proxy.response import Report, Response

DOWN: Final = UNWELL - {429}
"""Upstream answers that a configured text is better than; who is told to wait is to know it."""

_SPOKEN: Final = frozenset(
    ("no_store", "read_only", "unlike", "hosted_tools", "web_search", "remote_media")
)
"""Why the cache took no part in a request that a configured text may answer all the same. All
others want no help, are no text, or have an answer that the upstream is to remember."""

_PAUSE: Final = 5.0
"""Seconds in which a key whose upstream failed is served stale without asking again."""


@dataclass(frozen=True, slots=True)
class Rescue:
    """Stale, else static, else the upstream's error."""

    recall: Recall
    phrases: Sequence[Static]
    paused: Marks
    tripped: Callable[[], bool]
    """Whether hits are few and the upstream is saturated."""
    clock: Clock
    emit: Emit

    def beaten(self, arrival: Arrival, lookup: Lookup, fallback: Found | None, status: int) -> bool:
        """Whether something better is at hand than an upstream's answer of that status."""
        if fallback is not None:
            return status in UNWELL
        return self._outspoken(arrival, lookup.request, status)

    def outspoken(self, arrival: Arrival, bypass: Bypass, status: int) -> bool:
        """The same, of a request that nothing is stored for."""
        return bypass.reason in _SPOKEN and self._outspoken(arrival, bypass.request, status)

    def _outspoken(self, arrival: Arrival, request: Request, status: int) -> bool:
        return status in DOWN and bool(self.phrases) and self._said(arrival, request) is not None

    def passed(self, status: int) -> None:
        """An upstream's answer of that status went to a client."""
        if status in UNWELL:
            self.emit(Degraded("error"))

    def pause(self, key: Key) -> None:
        """The upstream failed for this key: it is given time before it is asked again behind, or
        instead of, a stale answer."""
        self.paused.set(key, _PAUSE)

    def at_once(
        self, arrival: Arrival, lookup: Lookup, fallback: Found | None, report: Report
    ) -> Response | None:
        """What is served without asking: an upstream that failed for this key a moment ago is given
        time, and one that is saturated is not given more to do."""
        if not lookup.request.controls.read:
            return None
        tripped = self.tripped()
        if fallback is not None and (tripped or self.paused.has(lookup.key)):
            self.emit(Degraded("stale"))
            return self.recall.stored(fallback, lookup, report, "STALE")
        return self.static(arrival, lookup.request, report, "saturated") if tripped else None

    def instead(
        self,
        arrival: Arrival,
        lookup: Lookup,
        fallback: Found | None,
        report: Report,
        error: UpstreamError,
    ) -> Response:
        """What is served after the upstream failed. Raises: the error, where there is nothing."""
        if fallback is not None:
            self.pause(lookup.key)
            self.emit(Degraded("stale"))
            failed = None if error.kind in UNASKED else error.status
            return self.recall.stored(fallback, lookup, report, "STALE", failed=failed)
        said = self.static(arrival, lookup.request, report, error.kind, error.status)
        return self._or(error, said)

    def alone(
        self, arrival: Arrival, bypass: Bypass, report: Report, error: UpstreamError
    ) -> Response:
        """The same, of a request that nothing is stored for. Raises: the error."""
        said = None
        if bypass.reason in _SPOKEN:
            said = self.static(arrival, bypass.request, report, error.kind, error.status)
        return self._or(error, said)

    def _or(self, error: UpstreamError, response: Response | None) -> Response:
        if response is None:
            self.emit(Degraded("error"))
            raise error
        return response

    def static(
        self, arrival: Arrival, request: Request, report: Report, reason: str, status: int = 0
    ) -> Response | None:
        """The configured text, in the form and language of the request."""
        if not self.phrases or (said := self._said(arrival, request, report.request_id)) is None:
            return None
        self.emit(Degraded("static"))
        headers, body = said
        return report.respond(Head(200, headers), body, Status("STATIC", reason, fwd_status=status))

    def _said(
        self, arrival: Arrival, request: Request, name: str = ""
    ) -> tuple[Headers, bytes] | None:
        return static(self.phrases, request, arrival.body, name=name, now=self.clock.now())
