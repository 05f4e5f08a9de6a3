"""Events become numbers that are right whichever worker is asked."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from msgspec import structs
from prometheus_client.parser import text_string_to_metric_families

from proxy.adapters.metrics import Metrics, bury
from proxy.core import events
from proxy.core.families import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HIT = events.Served(
    endpoint="chat/completions",
    outcome="HIT",
    kind="exact",
    tier="memory",
    seconds=0.003,
    overhead_seconds=0.0002,
    age=42.0,
    tokens_in=7,
    tokens_out=11,
)
HIT_LABELS = {
    "endpoint": "chat/completions",
    "status": "200",
    "cache_status": "hit",
    "cache_kind": "exact",
    "tier": "memory",
}

COUNT_AND_WAIT = """
import signal, sys
from pathlib import Path
from proxy.adapters.metrics import Metrics
from proxy.core import events
metrics = Metrics(Path(sys.argv[1]), sys.argv[2])
metrics(events.Served())
metrics(events.FlightStarted())
metrics.publish()
print("counted", flush=True)
signal.pause()
"""


@pytest.fixture
def metrics(tmp_path: Path) -> Metrics:
    return Metrics(tmp_path, "0")


def value(metrics: Metrics, name: str, labels: Mapping[str, str] | None = None) -> float | None:
    """What a scrape says of one series; None: it is not there."""
    wanted = {name: value for name, value in (labels or {}).items() if value}
    for family in text_string_to_metric_families(metrics.exposition().decode()):
        for sample in family.samples:
            shown = {name: value for name, value in sample.labels.items() if value}
            if (sample.name, shown) == (f"hotprefix_{name}", wanted):
                return sample.value
    return None


def lines(metrics: Metrics) -> int:
    return len(metrics.exposition().splitlines())


def test_a_hit_is_counted_under_its_labels(metrics: Metrics) -> None:
    metrics(HIT)
    metrics(HIT)

    assert value(metrics, "requests_total", HIT_LABELS) == 2
    assert value(metrics, "request_seconds_sum", {"cache_status": "hit"}) == 0.006
    assert value(metrics, "overhead_seconds_count", {"cache_status": "hit"}) == 2
    assert value(metrics, "cache_entry_age_seconds_sum") == 84


def test_buckets_are_cumulative(metrics: Metrics) -> None:
    metrics(events.TierLooked("disk", "hit", 0.00007))
    metrics(events.TierLooked("disk", "hit", 0.07))
    disk = {"tier": "disk", "result": "hit"}

    bucket = "cache_lookup_seconds_bucket"
    assert value(metrics, bucket, {**disk, "le": "5e-05"}) == 0
    assert value(metrics, bucket, {**disk, "le": "0.0001"}) == 1
    assert value(metrics, bucket, {**disk, "le": "0.1"}) == 2
    assert value(metrics, bucket, {**disk, "le": "+Inf"}) == 2


def test_a_hit_is_served_but_not_billed(metrics: Metrics) -> None:
    """Upstream tokens count once, however many readers the answer had."""
    metrics(events.UpstreamAnswered("n1", 200, 0.1, 0.2, tokens_in=7, tokens_out=11))
    for outcome in ("MISS", "COLLAPSED", "HIT"):
        metrics(events.Served(outcome=outcome, tokens_in=7, tokens_out=11))

    assert value(metrics, "tokens_billed_total", {"direction": "input"}) == 7
    assert value(metrics, "tokens_billed_total", {"direction": "output"}) == 11
    assert value(metrics, "tokens_served_total", {"direction": "output"}) == 33


def test_what_clients_choose_makes_no_series(metrics: Metrics) -> None:
    metrics(events.Served())
    before = lines(metrics)
    for i in range(3000):
        metrics(
            events.Served(
                model=f"junk-{i}", request_id=f"r-{i}", tenant_name=f"t-{i}", method=f"M{i}",
                fingerprint=f"{i:08x}",
            )
        )  # fmt: skip

    assert lines(metrics) == before


def test_a_status_outside_the_protocol_is_other(metrics: Metrics) -> None:
    for status in (0, 99, 600, 7777):
        metrics(events.Served(status=status))

    labels = {"endpoint": "other", "status": "other", "cache_status": "bypass"}
    assert value(metrics, "requests_total", labels) == 4


def test_flights_and_their_readers_go_up_and_down(metrics: Metrics) -> None:
    for event in (
        events.FlightStarted(),
        events.FlightStarted(),
        events.FlightJoined(),
        events.FlightJoined(),
        events.FlightLeft(),
        events.FlightEnded("completed"),
    ):
        metrics(event)

    assert value(metrics, "singleflight_flights") == 1
    assert value(metrics, "singleflight_waiters") == 1
    assert value(metrics, "singleflight_outcomes_total", {"outcome": "completed"}) == 1


ANSWERED = events.UpstreamAnswered("n1", 429, 0.1, 0.3)
FAILED = events.TierFailed("disk", "get", "Error")
DIED = events.WorkerDied(3, 99, -9, 1.0)

EVENTS: list[tuple[events.Event, str, str, float]] = [
    (FAILED, "tier_errors_total", "tier=disk operation=get", 1),
    (events.TierMeasured("disk", 9, 2, shared=True), "cache_bytes", "tier=disk", 9),
    (events.TierMeasured("memory", 9, 2), "cache_entries", "tier=memory", 2),
    (events.StoreSkipped("cut"), "cache_store_skipped_total", "reason=cut", 1),
    (events.Evicted("disk", "size", 4), "cache_evictions_total", "tier=disk reason=size", 4),
    (events.StoreReset("disk", "corrupt"), "cache_resets_total", "tier=disk reason=corrupt", 1),
    (events.UpstreamFailed("n1", "cut"), "upstream_errors_total", "node=n1 kind=cut", 1),
    (ANSWERED, "upstream_requests_total", "node=n1 status=429", 1),
    (ANSWERED, "upstream_ttft_seconds_sum", "node=n1", 0.1),
    (ANSWERED, "upstream_seconds_sum", "node=n1", 0.3),
    (DIED, "worker_deaths_total", "slot=3", 1),
    (structs.replace(DIED, asked=True), "worker_deaths_total", "slot=3", 0),
    (events.WorkerStarted(3, 99), "workers", "", 1),
    (events.WorkersGaveUp(5), "workers", "", 1),
]


@pytest.mark.parametrize(("event", "name", "labels", "expected"), EVENTS)
def test_an_event_moves_its_number(
    metrics: Metrics, event: events.Event, name: str, labels: str, expected: float
) -> None:
    metrics(event)

    labelled = dict(label.split("=") for label in labels.split())
    assert value(metrics, name, labelled) == expected


def test_each_metric_is_shown_from_the_start(metrics: Metrics) -> None:
    """A dashboard must not wait for the first error to know the name."""
    shown = {
        family.name for family in text_string_to_metric_families(metrics.exposition().decode())
    }

    assert shown == {f"hotprefix_{name.removesuffix('_total')}" for name in FAMILIES}


def test_every_worker_tells_the_sum_of_all(tmp_path: Path) -> None:
    one, two = Metrics(tmp_path, "0"), Metrics(tmp_path, "1")
    for metrics in (one, two):
        metrics(HIT)
        metrics(events.TierMeasured("memory", 10, 1))
        metrics(events.TierMeasured("disk", 10, 1, shared=True))
        metrics.publish()

    for metrics in (one, two):
        assert value(metrics, "requests_total", HIT_LABELS) == 2
        assert value(metrics, "workers") == 2
        assert value(metrics, "cache_bytes", {"tier": "memory"}) == 20
        assert value(metrics, "cache_bytes", {"tier": "disk"}) == 10


def test_a_counter_never_falls_between_scrapes_of_two_workers(tmp_path: Path) -> None:
    """What a worker has told of itself, the others tell from then on."""
    one, two = Metrics(tmp_path, "0"), Metrics(tmp_path, "1")
    one(HIT)

    assert value(one, "requests_total", HIT_LABELS) == 1
    assert value(two, "requests_total", HIT_LABELS) == 1


def test_a_killed_worker_leaves_its_counts_and_takes_its_levels(tmp_path: Path) -> None:
    command = [sys.executable, "-c", COUNT_AND_WAIT, str(tmp_path), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"counted\n"
        worker.send_signal(signal.SIGKILL)
    bury(tmp_path, "0")
    other = Metrics(tmp_path, "1")

    labels = {"endpoint": "other", "status": "200", "cache_status": "bypass"}
    assert value(other, "requests_total", labels) == 1
    assert value(other, "singleflight_flights") == 0
    assert value(other, "workers") == 1


def test_the_directory_does_not_grow_with_restarts(tmp_path: Path) -> None:
    for _ in range(20):
        worker = Metrics(tmp_path, "0")
        worker(HIT)
        worker.publish()
    metrics = Metrics(tmp_path, "0")

    assert value(metrics, "requests_total", HIT_LABELS) == 20
    assert value(metrics, "workers") == 1
    assert os.listdir(tmp_path) == ["0.tally"]


def test_the_supervisor_counts_without_being_a_worker(tmp_path: Path) -> None:
    assert value(Metrics(tmp_path, "supervisor", serving=False), "workers") == 0


def test_a_torn_file_of_another_worker_costs_only_its_numbers(tmp_path: Path) -> None:
    metrics = Metrics(tmp_path, "0")
    metrics(HIT)
    (tmp_path / "1.tally").write_bytes(b"\x84\xa8counters")

    assert value(metrics, "requests_total", HIT_LABELS) == 1


def test_a_directory_that_was_swept_away_is_made_anew(tmp_path: Path) -> None:
    """Machines sweep old directories for temporary files, also those of programs that run."""
    metrics = Metrics(tmp_path / "run", "0")
    metrics.publish()
    shutil.rmtree(tmp_path / "run")
    metrics.publish()

    assert (tmp_path / "run" / "0.tally").exists()
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o700


def test_where_nothing_can_be_written_numbers_are_lost_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("no directory")
    metrics = Metrics(tmp_path / "run", "0")
    metrics(HIT)

    metrics.publish()
