"""What to do with what the tiers hold: serve it, serve it and refresh, or go upstream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from proxy.core.entry import Entry

if TYPE_CHECKING:
    from proxy.core.controls import Controls

Kind: TypeAlias = Literal["exact", "normalized", "canonical", "semantic"]
"""By the request itself, by its normalized texts, by the form or the meaning of its question."""

MissReason: TypeAlias = Literal["absent", "expired", "void", "request"]
"""Nothing there; there but too old; invalidated; not wanted by this request's directives."""


class Found(msgspec.Struct, frozen=True):
    """An entry, where it was, and by which key it was found."""

    entry: Entry
    tier: str
    kind: Kind
    similarity: float | None = None
    """Of the questions, where it was found by meaning: their cosine."""


class Hit(msgspec.Struct, frozen=True):
    """Fresh: serve it."""

    found: Found
    age: float


class Stale(msgspec.Struct, frozen=True):
    """Past its ttl but within grace: serve it and refresh behind."""

    found: Found
    age: float


class Miss(msgspec.Struct, frozen=True):
    """Go upstream. `fallback` may be served if the upstream fails: expired, but not ruled out."""

    reason: MissReason
    fallback: Found | None = None
    detail: str = ""
    """Why no answer to a similar question was served; empty: none was looked for."""


Outcome: TypeAlias = Hit | Stale | Miss


def evaluate(found: Found | None, now: float, epoch: int, controls: Controls) -> Outcome:
    """Judge what was found at `now` (unix seconds). RFC 9111 §5.2.1, RFC 5861."""
    if found is None:
        return Miss("absent")
    entry = found.entry
    if entry.epoch < epoch:
        return Miss("void")
    # A clock that was set back must not make an entry younger than new.
    age = max(0.0, now - entry.created)
    left = entry.ttl - age
    if _unwanted(age, left, controls):
        return Miss("request")
    return Hit(found, age) if left > 0 else _aged(found, age, controls)


def _aged(found: Found, age: float, controls: Controls) -> Outcome:
    """Judge what is no longer fresh."""
    entry, left = found.entry, found.entry.ttl - age
    fallback = found if age < entry.expires - entry.created else None
    if fallback is not None and _tolerated(left, controls):
        return Hit(found, age)
    # Who limits age or freshness has said how stale it may be: not at all, or less than this.
    limits = (controls.max_age, controls.min_fresh, controls.max_stale)
    if -left < entry.stale_while_revalidate and limits == (None, None, None):
        return Stale(found, age)
    return Miss("expired", fallback)


def _unwanted(age: float, left: float, controls: Controls) -> bool:
    """Whether the request rules out what is there: by its age, or by ending too soon."""
    too_old = controls.max_age is not None and age > controls.max_age
    return not controls.read or too_old or 0 < left <= (controls.min_fresh or 0.0)


def _tolerated(left: float, controls: Controls) -> bool:
    """Whether the request takes an answer that is stale for this long."""
    return controls.max_stale is not None and -left <= controls.max_stale
