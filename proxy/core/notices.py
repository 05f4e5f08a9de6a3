"""What the log tells of events besides requests, and how it writes what clients chose."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from proxy.core import events

if TYPE_CHECKING:
    from proxy.core.events import Event, Served

    Notice: TypeAlias = dict[str, object]

_LONGEST: Final = 64
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._:/@+-]")

TOLD: Final = frozenset(
    (
        events.TierFailed,
        events.StoreReset,
        events.UpstreamFailed,
        events.BreakerMoved,
        events.NodeTurned,
        events.NodeVoid,
        events.ScheduleUnread,
        events.TierTurned,
        events.WorkerStarted,
        events.WorkerDied,
        events.WorkerSilent,
        events.WorkersGaveUp,
        events.MeaningJudged,
    )
)
"""Besides requests; of the others there are too many, they are only counted."""


def notice(event: Event) -> Notice:
    """The line for an event other than a request."""
    told: Notice = {}
    match event:
        case events.TierFailed() | events.StoreReset() | events.TierTurned():
            told = _of_tier(event)
        case events.UpstreamFailed(node, kind, why):
            told = {"event": "upstream_failed", "node": node, "kind": kind}
            told |= {"why": why} if why else {}
        case events.BreakerMoved(node, model, state):
            told = {"event": "breaker", "node": node, "model": _name(model), "state": state}
        case events.NodeTurned() | events.NodeVoid():
            told = _of_node(event)
        case events.WorkerStarted() | events.WorkerSilent() | events.WorkerDied():
            told = _of_worker(event)
        case events.MeaningJudged(kind, wrong, similarity, group):
            told = {"event": "semantic_label", "kind": kind, "wrong": wrong}
            model, _, language = group.rpartition("/")
            told |= {"similarity": round(similarity, 4), "group": f"{_name(model)}/{language}"}
        case events.ScheduleUnread(file, error, lines, line, why):
            told = {"event": "schedule_unread", "file": file, "error": error, "lines": lines}
            told |= {"line": line, "why": why} if lines else {}
        case events.WorkersGaveUp(deaths):
            told = {"event": "workers_gave_up", "deaths": deaths}
        case _:
            pass
    return told


def _of_tier(event: events.TierFailed | events.StoreReset | events.TierTurned) -> Notice:
    match event:
        case events.TierFailed(tier, operation, error):
            return {"event": "tier_failed", "tier": tier, "operation": operation, "error": error}
        case events.StoreReset(tier, reason):
            return {"event": "store_reset", "tier": tier, "reason": reason}
        case events.TierTurned(tier, working, error):
            return {"event": "tier_turned", "tier": tier, "working": working, "error": error}


def _of_worker(event: events.WorkerStarted | events.WorkerSilent | events.WorkerDied) -> Notice:
    told: Notice = {"slot": event.slot, "pid": event.pid}
    match event:
        case events.WorkerStarted():
            return {"event": "worker_started", **told}
        case events.WorkerSilent():
            return {"event": "worker_silent", **told}
        case events.WorkerDied(_, _, code, seconds, asked):
            told |= {"code": code, "seconds": round(seconds, 3)}
            return {"event": "worker_ended" if asked else "worker_died", **told}


def _of_node(event: events.NodeTurned | events.NodeVoid) -> Notice:
    match event:
        case events.NodeTurned(node, state):
            return {"event": "node", "node": node, "state": state}
        case events.NodeVoid(node, reason):
            return {"event": "node_void", "node": node, "reason": reason}


def safe(event: Served) -> Served:
    """What clients chose, cut and cleaned."""
    if _is_safe(event):
        return event
    return msgspec.structs.replace(
        event,
        request_id=_clean(event.request_id),
        method=_clean(event.method),
        model=_name(event.model),
        fingerprint=event.fingerprint[:8],
    )


def _is_safe(event: Served) -> bool:
    return (
        _UNSAFE.search(event.request_id) is None
        and len(event.request_id) <= _LONGEST
        and len(event.fingerprint) <= 8
        and _is_name(event.model)
        and _is_name(event.method)
    )


def _name(text: str) -> str:
    # What is no model's name may be anything, a prompt too.
    return text if _is_name(text) else "?"


def _is_name(text: str) -> bool:
    # Its length first: a cache would hold on to megabytes that a client calls a model.
    return len(text) <= _LONGEST and _is_plain(text)


@lru_cache(maxsize=1024)
def _is_plain(text: str) -> bool:
    return _UNSAFE.search(text) is None


def _clean(text: str) -> str:
    """Text that a client chose, cut and reduced to what names are made of."""
    return _UNSAFE.sub("?", text[:_LONGEST])
