"""When so little is found that an overloaded upstream is better not asked."""

from __future__ import annotations

from typing import Final

import msgspec

_MEMORY: Final = 1000
"""Look-ups after which an older one hardly counts."""
_HOLD: Final = 2.0
"""Seconds that it lasts at least. As soon as nobody asks the upstream, it is not saturated any
more; without this, all would ask at once again."""
_MARGIN: Final = 0.05
"""By so much the ratio must rise above where it was too low."""


class Hits(msgspec.Struct, frozen=True, gc=False):
    """The share of look-ups that found something; a gateway begins as if all had, so that a cache
    that is only cold degrades nothing before it was judged by several hundred."""

    ratio: float = 1.0


def looked(hits: Hits, hit: bool) -> Hits:
    """After one more look-up."""
    return Hits(hits.ratio + ((1.0 if hit else 0.0) - hits.ratio) / _MEMORY)


class Ladder(msgspec.Struct, frozen=True, gc=False):
    """Whether stale and static answers are served without asking."""

    below: float
    """The ratio of hits that is too low; 0: none is."""
    until: float = 0.0
    """Monotonic seconds until when at least; 0: it is not so."""

    @property
    def tripped(self) -> bool:
        return self.until > 0


def judged(ladder: Ladder, hits: Hits, *, saturated: bool, mono: float) -> Ladder:
    """The ladder after a look at how it is. `saturated`: requests wait for the upstream, or it
    is left alone."""
    ends = ladder.below + (_MARGIN if ladder.tripped else 0.0)
    if saturated and hits.ratio < ends:
        return Ladder(ladder.below, mono + _HOLD)
    if ladder.tripped and (hits.ratio >= ends or mono >= ladder.until):
        return Ladder(ladder.below)
    return ladder
