"""How long an answer lives."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proxy.core.entry import Key
    from proxy.core.request import Lifetime

SHORTEST = 0.001
"""Seconds; every lifetime is positive, however jitter and ceilings fall."""


def jittered(lifetime: Lifetime, key: Key, jitter: float) -> float:
    """Seconds of freshness: `ttl` ± `jitter`, spread by the key itself so that all gateways agree.

    The band is cut at the ceiling before a point in it is chosen: cutting the result instead
    would let all that lies above expire in one moment.
    """
    ttl = min(lifetime.ttl, lifetime.ceiling)
    low, high = ttl * (1 - jitter), min(ttl * (1 + jitter), lifetime.ceiling)
    share = int.from_bytes(key[-4:], "big") / 0xFFFFFFFF
    return max(SHORTEST, min(low + share * (high - low), lifetime.ceiling))
