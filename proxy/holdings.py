"""Which answers are held anywhere that this machine can read, asked of all tiers for many keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from proxy.core.vacancy import Vacancy
from proxy.core.want import EVER
from proxy.marks import Marks
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from proxy.core.entry import Key
    from proxy.core.vacancy import Told
    from proxy.ports import Clock, Emit
    from proxy.tier import Tier


_BELIEVED: Final = 6 * 3600.0
"""Seconds for which a tier that is paid for each look is not asked again what it said it holds."""
_KNOWN: Final = 65_536
"""Keys of which that is remembered, about 10 MB; for what is beyond each turn is paid."""


class Workers(Protocol):
    """The other workers of this machine."""

    async def unheld(self, owner: str, keys: Sequence[Key]) -> Sequence[Key]:
        """As `Holdings.unheld`, there. Raises: UpstreamError, where it is gone or could not say."""


class Holdings:
    """Asks nearest first, and each tier only for what no nearer one has."""

    def __init__(
        self,
        tiers: Sequence[Tier],
        distrusted: Callable[[], float],
        workers: Workers,
        others: Callable[[], Iterable[str]],
        clock: Clock,
        emit: Emit,
    ) -> None:
        """`distrusted`: the time (unix seconds) before which nothing that is not shared counts.
        `others`: addresses of the other workers of this machine."""
        self._private = [tier for tier in tiers if not tier.shared]
        self._shared = [tier for tier in tiers if tier.shared]
        self._distrusted = distrusted
        self._workers = workers
        self._others = others
        self._clock = clock
        self._emit = emit
        self._paid = Marks(_KNOWN, clock, _BELIEVED)

    async def unheld(self, keys: Sequence[Key]) -> Sequence[Key] | None:
        """Those of the keys that no tier of this worker's machine holds, as this worker sees those;
        None: that is not certain."""
        found = await self._sought(Vacancy(tuple(keys)), self._private, self._distrusted())
        return found.keys if found.certain else None

    async def gone(self, keys: Sequence[Key]) -> Sequence[Key]:
        """Those of the keys under which nobody on this machine can find an answer any more. What
        other machines alone hold is gone for this one."""
        found = await self._sought(Vacancy(tuple(keys)), self._private, self._distrusted())
        for owner in self._others():
            if not found.open:
                break
            found = await self._elsewhere(found, owner)
        return (await self._sought(found, self._shared)).gone

    async def _sought(self, found: Vacancy, tiers: Sequence[Tier], since: float = EVER) -> Vacancy:
        for tier in tiers:
            if not found.open:
                break
            found = found.after(await self._told(tier, found.keys), since)
        return found

    async def _told(self, tier: Tier, keys: Sequence[Key]) -> Told:
        now = self._clock.now()
        known: set[Key] = set()
        if tier.worthy is not None:
            known = {key for key in keys if self._paid.has(key)}
        unknown = [key for key in keys if key not in known]
        told = await tier.holds(unknown, now, self._clock, self._emit) if unknown else {}
        if told is None:
            return None
        if tier.worthy is not None:
            for key in told:
                self._paid.set(key)
        return {**told, **dict.fromkeys(known, now)}

    async def _elsewhere(self, found: Vacancy, owner: str) -> Vacancy:
        try:
            unheld = frozenset(await self._workers.unheld(owner, found.keys))
        except UpstreamError:
            return found.after(None)
        told: Told = {key: 0.0 for key in found.keys if key not in unheld}
        return found.after(told)
