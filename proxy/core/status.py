"""What a response says of the cache: `Cache-Status` (RFC 9211) and the `x-cache-*` headers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import msgspec

if TYPE_CHECKING:
    from proxy.core.decision import Found

XCache: TypeAlias = Literal[
    "HIT", "STALE", "MISS", "COLLAPSED", "BYPASS", "REFRESH", "STATIC", "ERROR"
]


class Why(NamedTuple):
    """Why a node was asked."""

    reason: str = ""
    cached: int = 0
    """Tokens of the prompt that it was thought to have kept."""
    reported: int | None = None
    """Of these, what its answer says that it had, where its beginning does; None: unknown."""


_UNASKED: Final = Why()


class Status(msgspec.Struct, frozen=True):
    """How a request was served. Times are seconds."""

    outcome: XCache
    reason: str = ""
    """Why it was forwarded: a miss or bypass reason."""
    kind: Literal["", "exact", "normalized", "canonical", "semantic"] = ""
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
    why: Why = _UNASKED
    """Why that node; empty where another worker, or an earlier request, chose it."""
    similarity: float | None = None
    """Of the questions, where it was found by meaning."""
    detail: str = ""
    """Why no answer to a similar question was served."""

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
            outcome,
            "",
            found.kind,
            found.tier,
            age,
            left,
            rescued,
            failed or 0,
            key,
            entry.node,
            _UNASKED,
            found.similarity,
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
    elif status.outcome != "ERROR" and not (
        status.outcome == "STATIC" and status.reason in UNASKED
    ):
        parts.append(f"fwd={_FORWARDED.get(status.reason, 'miss')}")
    if status.fwd_status:
        parts.append(f"fwd-status={status.fwd_status}")
    if status.ttl is not None:
        parts.append(f"ttl={math.floor(status.ttl)}")
    if status.outcome == "COLLAPSED":
        parts.append("collapsed")
    detail = status.tier or (status.reason if status.outcome in _TOLD else status.detail)
    if detail:
        parts.append(f"detail={detail}")
    return "; ".join(parts)


UNASKED = frozenset(("overload", "saturated"))
"""Reasons of a configured text for which no node was asked."""
_TOLD = frozenset(("BYPASS", "STATIC", "STALE"))
"""Outcomes of which the reason is told."""
_BY_REQUEST = frozenset(("off", "no_store", "read_only"))


def outcome(status: Status) -> str:
    """The two header lines that every response has."""
    return f"cache-status: {cache_status(status)}\r\nx-cache: {status.outcome}\r\n"


def lines(status: Status) -> str:
    """The header lines for `status`: text, since a hit takes no longer than making its head."""
    kind = f"x-cache-kind: {status.kind}\r\n" if status.kind else ""
    tier = f"x-cache-tier: {status.tier}\r\n" if status.tier else ""
    near = "" if status.similarity is None else f"x-cache-similarity: {status.similarity:.4f}\r\n"
    key = f"x-cache-key: {status.key}\r\n" if status.key else ""
    age = f"age: {int(status.age)}\r\n" if status.age is not None else ""
    node = f"x-upstream-node: {status.node}\r\n" if status.node else ""
    why = f"x-upstream-reason: {status.why.reason}\r\n" if status.why.reason else ""
    kept = f"x-upstream-cached: {status.why.cached}\r\n" if status.why.cached else ""
    told = status.why.reported
    had = "" if told is None else f"x-upstream-reported: {told}\r\n"
    return f"{outcome(status)}{kind}{tier}{near}{key}{age}{node}{why}{kept}{had}"
