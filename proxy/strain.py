"""Whether so little is found, and the upstream so busy, that it is better not asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.core.degrade import Hits, Ladder, judged, looked

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.ports import Clock


class Strain:
    """Watches look-ups and the upstream."""

    def __init__(self, below: float, saturated: Callable[[], bool], clock: Clock) -> None:
        """`below`: the share of hits that is too low; 0: none is."""
        self._saturated = saturated
        self._clock = clock
        self._hits = Hits()
        self._ladder = Ladder(below)
        self.watched = below > 0

    def looked(self, *, hit: bool) -> None:
        """A look-up found something, or nothing."""
        if self.watched:
            self._hits = looked(self._hits, hit)

    def tripped(self) -> bool:
        """Whether stale and static answers are to be served without asking."""
        if not self.watched:
            return False
        saturated, mono = self._saturated(), self._clock.mono()
        self._ladder = judged(self._ladder, self._hits, saturated=saturated, mono=mono)
        return self._ladder.tripped

    def __repr__(self) -> str:
        return f"<Strain hits={self._hits.ratio:.3f} tripped={self._ladder.tripped}>"
