"""What a response says of the cache: `Cache-Status` (RFC 9211) and the `x-cache-*` headers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from proxy.core.decision import Found
    from proxy.core.message import Headers

XCache: TypeAlias = Literal["HIT", "STALE", "MISS", "COLLAPSED", "BYPASS", "REFRESH", "ERROR"]


class Status(msgspec.Struct, frozen=True):
    """How a request was served. Times are seconds."""

    outcome: XCache
    reason: str = ""
    """Why it was forwarded: a miss or bypass reason."""
    kind: Literal["", "exact", "normalized"] = ""
    tier: str = ""
    age: float | None = None
    ttl: float | None = None
    """Freshness left; negative when stale."""
    rescued: bool = False
    """Served in place of an upstream's failure."""
    fwd_status: int = 0
    """What that upstream answered; 0: nothing."""
    key: str = ""
    """16 hex digits; empty in shared partitions, where it would tell one client of another."""
    node: str = ""
    node_reason: str = ""

    @classmethod
    def stored(
        cls, outcome: XCache, found: Found, now: float, key: str, failed: int | None = None
    ) -> Status:
        """Of a stored answer. `failed`: what the upstream answered that it stands in for; None:
        it stands in for nothing."""
        entry = found.entry
        age = max(0.0, now - entry.created)
        left, rescued = entry.ttl - age, failed is not None
        return cls(
            outcome, "", found.kind, found.tier, age, left, rescued, failed or 0, key, entry.node
        )


_FORWARDED = {"absent": "miss", "void": "miss", "expired": "stale", "request": "request"}


def cache_status(status: Status) -> str:
    """The `Cache-Status` member of this cache."""
    if status.outcome == "HIT" and status.ttl is not None and status.tier:
        return f"hotprefix; hit; ttl={math.floor(status.ttl)}; detail={status.tier}"
    parts = ["hotprefix"]
    if status.rescued:
        parts.append("fwd=stale")
    elif status.outcome in ("HIT", "STALE"):
        parts.append("hit")
    elif status.outcome == "BYPASS":
        parts.append("fwd=request" if status.reason in _BY_REQUEST else "fwd=bypass")
    elif status.outcome != "ERROR":
        parts.append(f"fwd={_FORWARDED.get(status.reason, 'miss')}")
    if status.fwd_status:
        parts.append(f"fwd-status={status.fwd_status}")
    if status.ttl is not None:
        parts.append(f"ttl={math.floor(status.ttl)}")
    if status.outcome == "COLLAPSED":
        parts.append("collapsed")
    detail = status.tier or (status.reason if status.outcome == "BYPASS" else "")
    if detail:
        parts.append(f"detail={detail}")
    return "; ".join(parts)


_BY_REQUEST = frozenset(("off", "no_store", "read_only"))


def headers(status: Status) -> Headers:
    """The headers for `status`, before the first byte of the body."""
    told = [("cache-status", cache_status(status)), ("x-cache", status.outcome)]
    if status.kind:
        told.append(("x-cache-kind", status.kind))
    if status.tier:
        told.append(("x-cache-tier", status.tier))
    if status.key:
        told.append(("x-cache-key", status.key))
    if status.age is not None:
        told.append(("age", str(int(status.age))))
    if status.node:
        told.append(("x-upstream-node", status.node))
    if status.node_reason:
        told.append(("x-upstream-reason", status.node_reason))
    return tuple(told)
