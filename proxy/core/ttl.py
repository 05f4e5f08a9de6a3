"""How long an answer lives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from proxy.core.entry import Key
    from proxy.core.request import Lifetime

SHORTEST: Final = 0.001
"""Seconds; every lifetime is positive, however jitter and ceilings fall."""

PINNED: Final = 10 * 365 * 86400.0
"""Seconds for which a pinned answer is served while it is refreshed."""


class Span(NamedTuple):
    """The parts of a life one after the other, in seconds; and whether it was cut at a set end."""

    ttl: float
    stale_while_revalidate: float
    stale_if_error: float
    ends: bool = False


def span(
    lifetime: Lifetime,
    key: Key,
    jitter: float,
    grace: tuple[float, float],
    room: float = float("inf"),
) -> Span:
    """The life of an answer. `grace`: seconds stale while it is refreshed, then stale if that
    fails. `room`: seconds until it has to be gone, grace and all."""
    ttl = jittered(lifetime, key, jitter)
    if ttl >= room:
        return Span(max(SHORTEST, room), 0.0, 0.0, ends=True)
    behind = min(PINNED if lifetime.pinned else grace[0], room - ttl)
    return Span(ttl, behind, min(grace[1], room - ttl - behind))


def jittered(lifetime: Lifetime, key: Key, jitter: float) -> float:
    """Seconds of freshness: `ttl` ± `jitter`, spread by the key itself so that all gateways agree.

    The band is cut at the ceiling before a point in it is chosen: cutting the result instead
    would let all that lies above expire in one moment.
    """
    ttl = min(lifetime.ttl, lifetime.ceiling)
    low, high = ttl * (1 - jitter), min(ttl * (1 + jitter), lifetime.ceiling)
    share = int.from_bytes(key[-4:], "big") / 0xFFFFFFFF
    return max(SHORTEST, min(low + share * (high - low), lifetime.ceiling))
