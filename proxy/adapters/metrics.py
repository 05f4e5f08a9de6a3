"""Events counted, summed over the workers of a machine, and shown as Prometheus reads them."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from proxy.core import events, tally
from proxy.core.counting import Count, Level, Move, changes
from proxy.core.families import FAMILIES
from proxy.core.tally import fall

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prometheus_client import Metric

    from proxy.core.counting import Change
    from proxy.core.events import Event, Served, UpstreamAnswered
    from proxy.core.families import Family
    from proxy.core.tally import Series, Tally

_STATUS: Final = {status: str(status) for status in range(100, 600)}
_INPUT: Final = ("input",)
_OUTPUT: Final = ("output",)
_LOOKUP: Final = FAMILIES["cache_lookup_seconds"].bounds
_SECONDS: Final = FAMILIES["request_seconds"].bounds
_OVERHEAD: Final = FAMILIES["overhead_seconds"].bounds
_BY_MEANING: Final = ("canonical", "semantic")
_COSINES: Final = FAMILIES["semantic_similarity_ratio"].bounds
_AGES: Final = FAMILIES["cache_entry_age_seconds"].bounds
_FIRST: Final = FAMILIES["upstream_ttft_seconds"].bounds
_WHOLE: Final = FAMILIES["upstream_seconds"].bounds

# Several for each call to an upstream, out of a few that are all alike.
_changes: Final = lru_cache(maxsize=256)(changes)


class Metrics:
    """Counts events in this process and sums what all processes of the directory counted.

    A slot's file holds everything that the workers of this slot ever counted: a restarted worker
    goes on where the last one stood, so the directory stays as small as the number of slots, and
    a worker that is killed loses what it counted since its last `publish`.
    """

    def __init__(self, directory: Path, slot: str, *, serving: bool = True) -> None:
        self._path = directory / f"{slot}.tally"
        self._tally = tally.lasting(_read(self._path))
        self._rows: dict[tuple[object, ...], _Row] = {}
        self._answers: dict[tuple[str, int], _Answers] = {}
        self._looked: dict[tuple[str, str], list[float]] = {}
        self._tally.move("workers", amount=serving)

    def __call__(self, event: Event) -> None:
        """Count it."""
        match event:
            case events.Served():
                self._served(event)
            case events.TierLooked():
                labels = (event.tier, event.result)
                buckets = self._looked.get(labels) or self._look(labels)
                fall(buckets, _LOOKUP, event.seconds)
            case events.UpstreamAnswered():
                self._answered(event)
            case events.MeaningLooked(result, similarity):
                self._tally.count("semantic_lookups_total", (result,))
                if similarity:
                    found = ("hit" if result in _BY_MEANING else "miss",)
                    self._tally.observe("semantic_similarity_ratio", _COSINES, found, similarity)
            case _:
                for change in _changes(event):
                    self._change(change)

    def _served(self, event: Served) -> None:
        kind = (event.endpoint, event.status, event.outcome, event.kind, event.tier)
        row = self._rows.get(kind)
        if row is None:
            row = self._rows[kind] = _Row(self._tally, event)
        row.add(event)

    def _answered(self, event: UpstreamAnswered) -> None:
        kind = (event.node, event.status)
        answers = self._answers.get(kind)
        if answers is None:
            answers = self._answers[kind] = _Answers(self._tally, event)
        answers.add(event)

    def _change(self, change: Change) -> None:
        match change:
            case Count(family, labels, amount):
                self._tally.count(family, labels, amount)
            case Move(family, amount):
                self._tally.move(family, amount=amount)
            case Level(family, labels, value, shared):
                self._tally.level(family, labels, value, shared=shared)

    def _look(self, labels: tuple[str, str]) -> list[float]:
        self._looked[labels] = self._tally.buckets("cache_lookup_seconds", _LOOKUP, labels)
        return self._looked[labels]

    def publish(self) -> None:
        """Make this process's numbers visible to the others; replaces the slot's file."""
        _write(self._path, self._tally)

    def total(self) -> Tally:
        """All processes' numbers. This one's are published first: else a counter could seem to
        fall when the next scrape reaches another worker."""
        self.publish()
        return tally.merged(map(_read, sorted(self._path.parent.glob("*.tally"))))

    def exposition(self) -> bytes:
        """All processes' numbers in Prometheus' text format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Shown(self.total()))
        return generate_latest(registry)


class _Row:
    """Where requests that are alike are counted: looked up once, since every request counts."""

    __slots__ = ("_ages", "_labels", "_overhead", "_requests", "_seconds", "_tokens")

    def __init__(self, numbers: Tally, event: Served) -> None:
        status = _STATUS.get(event.status, "other")
        outcome = event.outcome.lower()
        labels = (event.endpoint, status, outcome, event.kind, event.tier)
        self._requests, self._labels = numbers.counter("requests_total", labels)
        self._tokens, _ = numbers.counter("tokens_served_total", _INPUT)
        numbers.counter("tokens_served_total", _OUTPUT)
        self._seconds = numbers.buckets("request_seconds", _SECONDS, (outcome,))
        self._overhead = numbers.buckets("overhead_seconds", _OVERHEAD, (outcome,))
        self._ages = numbers.buckets("cache_entry_age_seconds", _AGES, ())

    def add(self, event: Served) -> None:
        self._requests[self._labels] += 1
        fall(self._seconds, _SECONDS, event.seconds)
        fall(self._overhead, _OVERHEAD, event.overhead_seconds)
        if event.age is not None:
            fall(self._ages, _AGES, event.age)
        if event.tokens_in or event.tokens_out:
            self._tokens[_INPUT] += event.tokens_in
            self._tokens[_OUTPUT] += event.tokens_out


class _Answers:
    """Where a node's answers of one status are counted."""

    __slots__ = ("_billed", "_first", "_labels", "_requests", "_seconds")

    def __init__(self, numbers: Tally, event: UpstreamAnswered) -> None:
        node, status = (event.node,), _STATUS.get(event.status, "other")
        self._requests, self._labels = numbers.counter(
            "upstream_requests_total", (event.node, status)
        )
        self._billed, _ = numbers.counter("tokens_billed_total", _INPUT)
        numbers.counter("tokens_billed_total", _OUTPUT)
        self._first = numbers.buckets("upstream_ttft_seconds", _FIRST, node)
        self._seconds = numbers.buckets("upstream_seconds", _WHOLE, node)

    def add(self, event: UpstreamAnswered) -> None:
        self._requests[self._labels] += 1
        fall(self._first, _FIRST, event.first_byte_seconds)
        fall(self._seconds, _WHOLE, event.seconds)
        self._billed[_INPUT] += event.tokens_in
        self._billed[_OUTPUT] += event.tokens_out


class _Shown(Collector):
    """Numbers in the shape that prometheus_client writes out."""

    def __init__(self, numbers: Tally) -> None:
        self._numbers = numbers

    def collect(self) -> Iterator[Metric]:
        for name, family in FAMILIES.items():
            if family.bounds:
                yield _histogram(name, family, self._numbers.spreads.get(name, {}))
            elif family.gauge:
                series = self._numbers.gauges.get(name, {}) | self._numbers.shared.get(name, {})
                yield _plain(GaugeMetricFamily, name, family, series)
            else:
                yield _plain(
                    CounterMetricFamily, name, family, self._numbers.counters.get(name, {})
                )


def _plain(
    shape: type[GaugeMetricFamily | CounterMetricFamily], name: str, family: Family, series: Series
) -> Metric:
    metric = shape(f"hotprefix_{name}", family.text, labels=family.labels)
    for labels, value in (series or ({} if family.labels else {(): 0.0})).items():
        metric.add_metric(labels, value)
    return metric


def _histogram(name: str, family: Family, series: dict[tuple[str, ...], list[float]]) -> Metric:
    metric = HistogramMetricFamily(f"hotprefix_{name}", family.text, labels=family.labels)
    tops = [*map(str, family.bounds), "+Inf"]
    for labels, (*buckets, total) in series.items():
        metric.add_metric(labels, [*zip(tops, accumulate(buckets), strict=True)], total)
    return metric


def bury(directory: Path, slot: str) -> None:
    """Forget a dead worker's levels; what it counted stays."""
    path = directory / f"{slot}.tally"
    if path.exists():
        _write(path, tally.lasting(_read(path)))


def _read(path: Path) -> Tally:
    try:
        return tally.decode(path.read_bytes()) or tally.Tally()
    except OSError:
        return tally.Tally()


def _write(path: Path, numbers: Tally) -> None:
    """Replace the file at once, so that no reader sees half of it. A full disk, or what sweeps old
    directories for temporary files, costs numbers, never the process; a swept one is made anew."""
    spare = path.with_suffix(".new")
    with suppress(OSError):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        spare.write_bytes(tally.encode(numbers))
        spare.replace(path)
