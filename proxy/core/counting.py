"""What the rarer events change in the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import msgspec

from proxy.core import events

if TYPE_CHECKING:
    from proxy.core.events import Event


class Count(NamedTuple):
    """A counter grows."""

    family: str
    labels: tuple[str, ...] = ()
    amount: float = 1


class Move(NamedTuple):
    """A level rises or falls."""

    family: str
    amount: float = 1


class Level(NamedTuple):
    """A level is now this. `shared`: all workers see the same."""

    family: str
    labels: tuple[str, ...]
    value: float
    shared: bool = False


Change: TypeAlias = Count | Move | Level

_STARTED: Final = (Move("singleflight_flights"),)
_JOINED: Final = (Move("singleflight_waiters"),)
_LEFT: Final = (Move("singleflight_waiters", -1),)


def changes(event: Event) -> tuple[Change, ...]:
    """What the event changes; requests, look-ups and answers of nodes are counted elsewhere."""
    match event:
        case events.FlightStarted():
            return _STARTED
        case events.FlightJoined():
            return _JOINED
        case events.FlightLeft():
            return _LEFT
        case events.FlightEnded(outcome):
            ended = Count("singleflight_outcomes_total", (outcome,))
            return (Move("singleflight_flights", -1), ended)
        case events.TierMeasured(tier, size, entries, shared):
            held = Level("cache_entries", (tier,), entries, shared)
            return (Level("cache_bytes", (tier,), size, shared), held)
        case events.TierTurned(tier, working) | events.TierKnown(tier, working):
            return (Level("tier_working", (tier,), float(working), shared=True),)
        case events.MeaningMeasured():
            return tuple(
                Level(f"semantic_{name}", (), value, shared=True)
                for name, value in msgspec.structs.asdict(event).items()
            )
        case events.NodeMeasured() | events.NodeTurned() | events.EngineLoaded():
            return _of_node(event)
        case events.BlocksHeld() | events.PrefixReported():
            return _held(event)
        case _:
            return _warmed(event)


def _of_node(
    event: events.NodeMeasured | events.NodeTurned | events.EngineLoaded,
) -> tuple[Change, ...]:
    match event:
        case events.NodeMeasured(name, limit, running, waiting, tripped):
            node = (name,)
            return (
                Level("upstream_limit", node, limit),
                Level("upstream_running", node, running),
                Level("upstream_waiting", node, waiting),
                Level("breakers_open", node, tripped),
            )
        case events.NodeTurned(node, state):
            out = Level("upstream_out", (node,), float(state == "out"))
            return (Count("upstream_turns_total", (node, state)), out)
        case events.EngineLoaded(name, running, waiting, others):
            # Each worker asks the same.
            told = (("running", running), ("waiting", waiting), ("others", others))
            return tuple(
                Level("engine_requests", (name, kind), value, shared=True) for kind, value in told
            )


def _held(event: events.PrefixReported | events.BlocksHeld) -> tuple[Change, ...]:
    match event:
        case events.PrefixReported(node, predicted, reported, prompt):
            return (
                Count("prefix_tokens_total", (node, "predicted"), predicted),
                Count("prefix_tokens_total", (node, "reported"), reported),
                Count("prefix_tokens_total", (node, "prompt"), prompt),
            )
        case events.BlocksHeld(node, tokens, room):
            # Each worker hears the same.
            held = Level("engine_tokens", (node, "held"), tokens, shared=True)
            return (held, Level("engine_tokens", (node, "room"), room, shared=True))


def _warmed(event: Event) -> tuple[Change, ...]:
    match event:
        case events.Warmed(node, outcome, tokens, money):
            return (
                Count("warm_calls_total", (node, outcome)),
                Count("warm_tokens_total", (node, "spent"), tokens),
                Count("warm_money_total", (node,), money),
            )
        case events.WarmUsed(node, tokens):
            return (Count("warm_tokens_total", (node, "saved"), tokens),)
        case events.ScheduleUnread(lines=lines):
            return (Count("warm_calls_total", ("", "unreadable"), max(1, lines)),)
        case _:
            counted = _counted(event)
            return () if counted is None else (counted,)


def _counted(event: Event) -> Count | None:
    match event:
        case events.TierFailed(tier, operation):
            return Count("tier_errors_total", (tier, operation))
        case events.StoreSkipped(reason):
            return Count("cache_store_skipped_total", (reason,))
        case events.Evicted(tier, reason, number):
            return Count("cache_evictions_total", (tier, reason), number)
        case events.StoreReset(tier, reason):
            return Count("cache_resets_total", (tier, reason))
        case events.WorkerDied(slot, asked=asked):
            return Count("worker_deaths_total", (str(slot),), 0 if asked else 1)
        case events.MeaningJudged(kind, wrong, _, _):
            return Count("semantic_labels_total", (kind, "wrong" if wrong else "right"))
        case events.MeaningForgotten(reason, number):
            return Count("semantic_forgotten_total", (reason,), number)
        case events.TierSpared(tier):
            return Count("tier_spared_total", (tier,))
        case _:
            return _routed(event)


def _routed(event: Event) -> Count | None:
    """What was learned of nodes, and which was asked."""
    match event:
        case events.UpstreamFailed(node, kind):
            return Count("upstream_errors_total", (node, kind))
        case events.NodeSuspected(node):
            return Count("upstream_suspicions_total", (node,))
        case events.NodeVoid(node, reason):
            return Count("upstream_void_total", (node, reason))
        case events.BlocksTold(node, kind, count):
            return Count("engine_events_total", (node, kind), count)
        case events.EngineAsked(node, result):
            return Count("engine_asked_total", (node, result))
        case events.Routed(node, reason):
            return Count("routed_total", (node, reason))
        case events.RowsMoved(way, rows):
            return Count("route_rows_total", (way,), rows)
        case _:
            return _protected(event)


def _protected(event: Event) -> Count | None:
    """What was done so that the upstream, or a tenant's neighbours, do not suffer."""
    match event:
        case events.BreakerMoved(node, _, state):
            return Count("breaker_moves_total", (node, state))
        case events.Retried(allowed):
            return Count("retries_total", ("yes" if allowed else "no",))
        case events.Shed(reason):
            return Count("shed_total", (reason,))
        case events.Degraded(step):
            return Count("degraded_total", (step,))
        case events.Limited(kind):
            return Count("limited_total", (kind,))
        case events.Refreshed(reason):
            return Count("refreshes_total", (reason,))
        case events.BacklogFull():
            return Count("backlog_dropped_total")
        case _:
            return None
