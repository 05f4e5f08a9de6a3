"""What the rarer events change in the numbers."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from proxy.core import events
from proxy.core.counting import Count, Level, Move, changes
from proxy.core.families import FAMILIES
from tests.samples import sample

ELSEWHERE = (
    events.Served,
    events.TierLooked,
    events.UpstreamAnswered,
    events.MeaningLooked,
)
UNCOUNTED = (events.WorkerStarted, events.WorkerSilent, events.WorkersGaveUp)
RARE = [kind for kind in get_args(events.Event) if kind not in (*ELSEWHERE, *UNCOUNTED)]


@pytest.mark.parametrize("kind", RARE)
def test_a_rare_event_changes_metrics_that_there_are(kind: type[msgspec.Struct]) -> None:
    made = changes(sample(kind))

    assert made
    for change in made:
        family = FAMILIES[change.family]
        labels = () if isinstance(change, Move) else change.labels
        assert len(labels) == len(family.labels)
        assert family.gauge != isinstance(change, Count)


def test_what_is_counted_elsewhere_is_not_counted_twice() -> None:
    assert changes(events.Served()) == changes(events.TierLooked("memory", "hit", 0.1)) == ()


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (events.FlightStarted(), (Move("singleflight_flights", 1),)),
        (events.FlightLeft(), (Move("singleflight_waiters", -1),)),
        (events.Evicted("disk", "size", 7), (Count("cache_evictions_total", ("disk", "size"), 7),)),
        (
            events.MeaningForgotten("evicted", 5),
            (Count("semantic_forgotten_total", ("evicted",), 5),),
        ),
        (events.WorkerDied(1, 9, 0, 1.0, True), (Count("worker_deaths_total", ("1",), 0),)),
        (events.TierTurned("redis", False), (Level("tier_working", ("redis",), 0.0, True),)),
        (events.TierKnown("redis", False), (Level("tier_working", ("redis",), 0.0, True),)),
        (events.TierKnown("redis"), (Level("tier_working", ("redis",), 1.0, True),)),
        (events.Retried(False), (Count("retries_total", ("no",), 1),)),
        (
            events.ScheduleUnread("f", "OSError"),
            (Count("warm_calls_total", ("", "unreadable"), 1),),
        ),
        (
            events.ScheduleUnread("f", "", 3),
            (Count("warm_calls_total", ("", "unreadable"), 3),),
        ),
    ],
)
def test_the_numbers_that_an_event_changes(event: events.Event, expected: object) -> None:
    assert changes(event) == expected
