"""Stored answers as responses; and those that are at hand, without any waiting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.core.decision import Found, Hit, Outcome, evaluate
from proxy.core.delivery import UnlikeError, serves
from proxy.core.message import Head
from proxy.core.refresh import early, near
from proxy.core.status import Status
from proxy.core.want import EVER

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.request import Lookup
    from proxy.core.status import XCache
    from proxy.marks import Marks
    from proxy.ports import Clock
    from proxy.quotas import Quotas
    from proxy.renders import Renders
    from proxy.response import Report, Response
    from proxy.strain import Strain
    from proxy.tiers import Tiers


_DUE: Final = 5.0


@dataclass(frozen=True, slots=True)
class Recall:
    """Makes responses of what the tiers hold."""

    tiers: Tiers
    renders: Renders
    epoch: Callable[[], int]
    clock: Clock
    strain: Strain
    quotas: Quotas
    due: Marks
    """Keys that are to be refreshed though they are fresh, once a request takes the long way."""
    chance: Callable[[], float]
    """Uniform in (0, 1], a new one each time."""
    beta: float = 1.0
    """How early fresh answers are refreshed; 0: not before their end."""

    async def look(self, lookup: Lookup, beyond: float = EVER, *, sure: bool = False) -> Outcome:
        """What the tiers have for it. `beyond`: nothing asked for by then is wanted, since that is
        to be refreshed. `sure`: no look is spared."""
        epoch = self.epoch()
        found = None if sure else self.tiers.near(lookup, epoch)
        deep = sure or lookup.request.controls.only_if_cached  # no flight looks again
        found = found or await self.tiers.find(lookup, epoch, beyond=beyond, sure=deep)
        if found is not None and not serves(found.entry, lookup.request):
            found = None
        if found is not None and found.entry.asked <= beyond:
            found = None
        return evaluate(found, self.clock.now(), self.epoch(), lookup.request.controls)

    def early(self, found: Found, lookup: Lookup) -> bool:
        """Whether to refresh what is fresh behind this answer."""
        if found.similarity is not None:
            return False  # another question's answer: nothing behind this one would renew it
        if self.due.has(lookup.key):
            self.due.drop(lookup.key)
            return near(found.entry, self.clock.now(), self.beta)
        return self._early(found)

    def _early(self, found: Found) -> bool:
        return early(found.entry, self.clock.now(), self.beta, self.chance())

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
        if not lookup.items:  # of a batch, only the parts are stored
            self.tiers.used(entry)
        headers, body = self.renders.get(entry, lookup.request)
        shown = lookup.shown if found.similarity is None else lookup.showing(entry.key)
        status = Status.stored(outcome, found, self.clock.now(), shown, failed)
        return report.respond(Head(entry.status, headers), body, status)

    def at_once(self, lookup: Lookup, report: Report) -> Response | None:
        """The answer to a request that was understood before, if it is fresh and at hand, and its
        tenant may ask."""
        found = self.tiers.near(lookup, self.epoch())
        if found is None or not serves(found.entry, lookup.request):
            return None
        controls = lookup.request.controls
        if not isinstance(evaluate(found, self.clock.now(), self.epoch(), controls), Hit):
            return None
        if self._early(found):
            self.due.set(lookup.key, _DUE)  # which takes the request itself
            return None
        try:
            response = self.stored(found, lookup, report, "HIT")
        except UnlikeError:
            return None
        # Last: who goes the long way is charged there.
        if not self.quotas.take(lookup.request.tenant):
            return None
        self.strain.looked(hit=True)
        return response
