"""Which metrics there are, and what their labels are called."""

from __future__ import annotations

from typing import Final

import msgspec

# An answer from memory takes tens of microseconds, a reasoning model minutes.
_WHOLE: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5)
_WHOLE_LONG: Final = (*_WHOLE, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0)
_SHORT: Final = (
    0.00005,
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    1.0,
)
_COSINES: Final = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99)
_AGES: Final = (1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0, 604800.0, 2592000.0)


class Family(msgspec.Struct, frozen=True):
    """A metric: its help text and label names; `bounds` makes it a histogram."""

    text: str
    labels: tuple[str, ...] = ()
    gauge: bool = False
    bounds: tuple[float, ...] = ()


FAMILIES: Final = {
    "requests_total": Family(
        "Finished requests.", ("endpoint", "status", "cache_status", "cache_kind", "tier")
    ),
    "request_seconds": Family(
        "Request read to last byte sent.", ("cache_status",), bounds=_WHOLE_LONG
    ),
    "overhead_seconds": Family(
        "The proxy's own time before the first byte.", ("cache_status",), bounds=_SHORT
    ),
    "cache_lookup_seconds": Family("Reads of a tier.", ("tier", "result"), bounds=_SHORT),
    "cache_entry_age_seconds": Family("Age of the entries served.", bounds=_AGES),
    "cache_store_skipped_total": Family("Answers not stored.", ("reason",)),
    "cache_evictions_total": Family("Entries dropped by a tier.", ("tier", "reason")),
    "cache_resets_total": Family("Tiers that began anew, empty.", ("tier", "reason")),
    "cache_bytes": Family("Bytes held.", ("tier",), gauge=True),
    "cache_entries": Family("Entries held.", ("tier",), gauge=True),
    "tier_errors_total": Family("What a tier could not do.", ("tier", "operation")),
    "semantic_lookups_total": Family("Questions compared with stored ones.", ("result",)),
    "semantic_similarity_ratio": Family(
        "Cosine of the nearest stored question.", ("result",), bounds=_COSINES
    ),
    "semantic_labels_total": Family(
        "Hits by meaning that were compared with the upstream.", ("kind", "verdict")
    ),
    "semantic_forgotten_total": Family("Stored questions that were forgotten.", ("reason",)),
    "semantic_entries": Family("Stored questions that can be compared.", gauge=True),
    "semantic_vectors": Family("Those of them with a vector.", gauge=True),
    "semantic_scopes": Family("Sets of questions that are compared with each other.", gauge=True),
    "semantic_bytes": Family("Bytes of their vectors.", gauge=True),
    "semantic_labels": Family("Judged hits that the error budget goes by.", gauge=True),
    "semantic_errors": Family("Wrong ones among them.", gauge=True),
    "semantic_error_bound": Family(
        "Upper bound of the errors among what is served by meaning, of the worst group.", gauge=True
    ),
    "semantic_closed": Family(
        "Groups in which none is served, as wrong ones were among those compared.", gauge=True
    ),
    "semantic_unopened": Family(
        "Groups in which none is served yet, as too few were compared.", gauge=True
    ),
    "singleflight_flights": Family("Upstream calls that others may join.", gauge=True),
    "singleflight_waiters": Family("Readers that joined one.", gauge=True),
    "singleflight_outcomes_total": Family("How such calls ended.", ("outcome",)),
    "tokens_served_total": Family(
        "Tokens in stored answers that were served: what was saved.", ("direction",)
    ),
    "tokens_billed_total": Family(
        "Tokens in upstream answers that were stored: what they cost.", ("direction",)
    ),
    "upstream_requests_total": Family("Answers of a node.", ("node", "status")),
    "upstream_ttft_seconds": Family("To a node's first byte.", ("node",), bounds=_WHOLE_LONG),
    "upstream_seconds": Family("To a node's last byte.", ("node",), bounds=_WHOLE_LONG),
    "upstream_errors_total": Family("Nodes that gave no whole answer.", ("node", "kind")),
    "upstream_out": Family("Workers that leave a node out.", ("node",), gauge=True),
    "upstream_turns_total": Family("Nodes left out, on trial, in again.", ("node", "state")),
    "upstream_suspicions_total": Family(
        "Nodes that were probed at once, as a first byte was late.", ("node",)
    ),
    "upstream_void_total": Family(
        "Nodes whose knowledge was void by their events.", ("node", "reason")
    ),
    "engine_events_total": Family(
        "Blocks that engines told of, and events out of order.", ("node", "kind")
    ),
    "engine_tokens": Family(
        "Tokens that an engine holds, and has room for.", ("node", "kind"), gauge=True
    ),
    "engine_requests": Family(
        "Requests that an engine has, and those of others than the gateways.",
        ("node", "kind"),
        gauge=True,
    ),
    "engine_asked_total": Family("Times that an engine was asked for these.", ("node", "result")),
    "routed_total": Family("Calls for which a node was chosen.", ("node", "reason")),
    "route_rows_total": Family(
        "Rows of the fleet's table of what nodes hold: written, read.", ("way",)
    ),
    "prefix_tokens_total": Family(
        "Prompts whose nodes told what they had kept: thought, told, and all.", ("node", "kind")
    ),
    "warm_calls_total": Family("Shadow calls, made or refused.", ("node", "outcome")),
    "warm_tokens_total": Family("Tokens computed for warming, and found warm.", ("node", "kind")),
    "warm_money_total": Family("What shadow calls cost, by the providers' rules.", ("node",)),
    "upstream_limit": Family("Calls that a node may have at once.", ("node",), gauge=True),
    "upstream_running": Family("Calls that a node has now.", ("node",), gauge=True),
    "upstream_waiting": Family("Requests that wait for a node.", ("node",), gauge=True),
    "breakers_open": Family("Models that a node is not asked for.", ("node",), gauge=True),
    "breaker_moves_total": Family("Changes of a node's breakers.", ("node", "state")),
    "retries_total": Family("Second attempts, and those there was no budget for.", ("allowed",)),
    "shed_total": Family("Requests not sent upstream.", ("reason",)),
    "degraded_total": Family("Requests that got less than a fresh answer.", ("step",)),
    "limited_total": Family("Requests over a tenant's limit.", ("kind",)),
    "refreshes_total": Family("Flights started behind an answer.", ("reason",)),
    "tier_working": Family("Whether a tier works.", ("tier",), gauge=True),
    "tier_spared_total": Family("Look-ups that a filter spared.", ("tier",)),
    "backlog_dropped_total": Family("Work behind answers that was dropped."),
    "workers": Family("Worker processes alive.", gauge=True),
    "worker_deaths_total": Family("Worker processes that ended unasked.", ("slot",)),
}
"""Every metric, without the prefix `hotprefix_`. No label holds what a client chooses."""
