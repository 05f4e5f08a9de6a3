"""Whether an answer is asked for anew before it expires, so that nobody has to wait for a new one.

Each request throws a die of its own (XFetch: Vattani et al., "Optimal Probabilistic Cache Stampede
Prevention", VLDB 2015): nothing is counted or agreed upon, yet the more often an answer is asked
for, and the longer it takes to make, the surer it is that one request refreshes it in time.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from proxy.core.entry import Entry

_HOT: Final = 200
"""Of a lifetime, the part that making an answer is taken to need at least. By latency alone an
answer that is cheap but asked for all the time would mostly expire: with this, one that is asked
for some hundred times in a lifetime is refreshed in its last tenth."""
_TENTH: Final = 10
"""No answer gives up more of its life than this part, or the calls that are saved would be made
after all; a slow one needs as much as two calls take, since the first may fail."""


def near(entry: Entry, now: float, beta: float) -> bool:
    """Whether it is close enough to its end for a die to be thrown: cheap, for every hit."""
    ttl = entry.ttl
    left = entry.created + ttl - now
    if left > ttl / 2 or left <= 0 or beta <= 0:
        return False
    if left > ttl / _TENTH and left > 2 * beta * entry.latency:
        return False
    # A refusal is short-lived as it is; and what ends at a set time would end then all the same.
    return entry.status == 200 and not entry.ends


def early(entry: Entry, now: float, beta: float, chance: float) -> bool:
    """Whether this request is the one to refresh it. `beta`: how eagerly, 1 by the book, 0 never.
    `chance`: uniform from 0 to 1."""
    if not near(entry, now, beta):
        return False
    needed = max(entry.latency, entry.ttl / _HOT)
    return chance <= 0 or -beta * needed * log(chance) >= entry.created + entry.ttl - now
