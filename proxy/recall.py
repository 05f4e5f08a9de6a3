"""Stored answers as responses; and those that are at hand, without any waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from proxy.core.decision import Found, Hit, evaluate
from proxy.core.delivery import UnlikeError, serves
from proxy.core.message import Head
from proxy.core.status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.request import Lookup
    from proxy.core.status import XCache
    from proxy.ports import Clock
    from proxy.renders import Renders
    from proxy.response import Report, Response
    from proxy.tiers import Tiers


@dataclass(frozen=True, slots=True)
class Recall:
    """Makes responses of what the tiers hold."""

    tiers: Tiers
    renders: Renders
    epoch: Callable[[], int]
    clock: Clock

    def stored(
        self,
        found: Found,
        lookup: Lookup,
        report: Report,
        outcome: XCache,
        failed: int | None = None,
    ) -> Response:
        """A stored answer in the form that is wanted. `failed`: what an upstream answered that it
        stands in for; 0: nothing; None: it stands in for nothing. Raises: UnlikeError."""
        entry = found.entry
        report.tokens = entry.usage
        headers, body = self.renders.get(entry, lookup.request)
        status = Status.stored(outcome, found, self.clock.now(), lookup.shown, failed)
        return report.respond(Head(entry.status, headers), body, status)

    def at_once(self, lookup: Lookup, report: Report) -> Response | None:
        """The answer to a request that was understood before, if it is fresh and at hand."""
        epoch = self.epoch()
        found = self.tiers.near(lookup, epoch)
        if found is None or not serves(found.entry, lookup.request):
            return None
        if not isinstance(evaluate(found, self.clock.now(), epoch, lookup.request.controls), Hit):
            return None
        try:
            return self.stored(found, lookup, report, "HIT")
        except UnlikeError:
            return None
