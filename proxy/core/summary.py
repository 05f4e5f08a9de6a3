"""The numbers of a tally as an operator asks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from proxy.core.tally import Tally

Tree: TypeAlias = "dict[str, float | Tree]"

_FROM_CACHE = ("hit", "stale")
_BY_MEANING = ("canonical", "semantic")
_MEANING = "semantic"
"""What can be compared, as the tiers' metrics name it; it keeps no answers."""
_LOOKED_UP = (*_FROM_CACHE, "miss", "collapsed")


def summary(tally: Tally) -> Tree:
    """What all workers did since the start, as nested numbers."""
    outcomes = _by(tally, "requests_total", 2)
    kinds = _by(tally, "requests_total", 3)
    looked_up = sum(outcomes.get(outcome, 0.0) for outcome in _LOOKED_UP)
    hits = sum(outcomes.get(outcome, 0.0) for outcome in _FROM_CACHE)
    return {
        "workers": _level(tally, "workers"),
        "requests": {"total": sum(outcomes.values()), **outcomes},
        "hit_ratio": round(hits / looked_up, 4) if looked_up else 0.0,
        "kinds": {kind: number for kind, number in kinds.items() if kind},
        "tiers": _tiers(tally),
        **_meaning(tally, kinds),
        "flights": {
            "running": _level(tally, "singleflight_flights"),
            "waiting": _level(tally, "singleflight_waiters"),
            **_by(tally, "singleflight_outcomes_total", 0),
        },
        "tokens": {
            "served": dict(_by(tally, "tokens_served_total", 0)),
            "billed": dict(_by(tally, "tokens_billed_total", 0)),
        },
        "upstream": {
            "answers": dict(_by(tally, "upstream_requests_total", 0)),
            "errors": dict(_by(tally, "upstream_errors_total", 0)),
        },
    }


def _tiers(tally: Tally) -> Tree:
    served = _by(tally, "requests_total", 4)
    size = _levels(tally, "cache_bytes")
    entries = _levels(tally, "cache_entries")
    errors = _by(tally, "tier_errors_total", 0)
    return {
        tier: {
            "served": served.get(tier, 0.0),
            "bytes": size.get(tier, 0.0),
            "entries": entries.get(tier, 0.0),
            "errors": errors.get(tier, 0.0),
        }
        for tier in sorted({*served, *size, *entries, *errors} - {"", _MEANING})
    }


def _meaning(tally: Tally, kinds: Mapping[str, float]) -> Tree:
    """The hits by meaning, and what can be compared. The answers themselves come from the tiers,
    and count as served there."""
    errors = _by(tally, "tier_errors_total", 0).get(_MEANING, 0.0)
    if "semantic_entries" not in tally.shared and not errors:
        return {}
    return {
        _MEANING: {
            "hits": sum(kinds.get(kind, 0.0) for kind in _BY_MEANING),
            "bytes": sum(tally.shared.get("semantic_bytes", {}).values()),
            "entries": sum(tally.shared.get("semantic_entries", {}).values()),
            "errors": errors,
        }
    }


def _by(tally: Tally, family: str, label: int) -> dict[str, float]:
    """A counter added up over all labels but one."""
    numbers: dict[str, float] = {}
    for labels, amount in tally.counters.get(family, {}).items():
        numbers[labels[label]] = numbers.get(labels[label], 0.0) + amount
    return numbers


def _levels(tally: Tally, family: str) -> dict[str, float]:
    series = tally.gauges.get(family, {}) | tally.shared.get(family, {})
    return {labels[0]: value for labels, value in series.items()}


def _level(tally: Tally, family: str) -> float:
    return sum(tally.gauges.get(family, {}).values())
