"""Numbers counted by one worker, and the sum of several workers' numbers."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Labels: TypeAlias = tuple[str, ...]
Series: TypeAlias = dict[Labels, float]

MAX_SERIES: Final = 1000
"""Label sets a family may have; further ones are counted as `other`. Labels come from closed sets
anyway: this bounds what an upstream with ever new status codes could still do."""


class Tally(msgspec.Struct, kw_only=True):
    """Counts so far, by family and labels; changed in place by one worker only."""

    counters: dict[str, Series] = {}
    spreads: dict[str, dict[Labels, list[float]]] = {}
    """How many values fell into each bucket, then how many above all, then the sum of all."""
    gauges: dict[str, Series] = {}
    """Levels of this worker alone: they add up, and end with it."""
    shared: dict[str, Series] = {}
    """Levels of something all workers see: the largest is right."""

    def count(self, family: str, labels: Labels = (), amount: float = 1) -> None:
        """Add to a counter."""
        _add(self.counters, family, labels, amount)

    def move(self, family: str, labels: Labels = (), amount: float = 1) -> None:
        """Raise or lower a gauge."""
        _add(self.gauges, family, labels, amount)

    def level(self, family: str, labels: Labels, value: float, *, shared: bool) -> None:
        """Set a gauge."""
        series = (self.shared if shared else self.gauges).setdefault(family, {})
        series[_bounded(series, labels)] = value

    def counter(self, family: str, labels: Labels) -> tuple[Series, Labels]:
        """Where a counter with these labels stands, for who counts often."""
        series = self.counters.setdefault(family, {})
        labels = _bounded(series, labels)
        series.setdefault(labels, 0)
        return series, labels

    def buckets(self, family: str, bounds: tuple[float, ...], labels: Labels) -> list[float]:
        """Where values with these labels fall, to be changed in place by `fall`."""
        series = self.spreads.setdefault(family, {})
        return series.setdefault(_bounded(series, labels), [0.0] * (len(bounds) + 2))

    def observe(self, family: str, bounds: tuple[float, ...], labels: Labels, value: float) -> None:
        """Count a value."""
        fall(self.buckets(family, bounds, labels), bounds, value)


def fall(buckets: list[float], bounds: tuple[float, ...], value: float) -> None:
    """Count a value into the bucket whose upper bound, inclusive, is the next above it."""
    buckets[bisect_left(bounds, value)] += 1
    buckets[-1] += value


def lasting(tally: Tally) -> Tally:
    """What of a worker's numbers outlives it: what it counted, not its levels."""
    return Tally(counters=tally.counters, spreads=tally.spreads)


def merged(tallies: Iterable[Tally]) -> Tally:
    """The numbers of all workers together. Order does not matter."""
    whole = Tally()
    for tally in tallies:
        for family, series in tally.counters.items():
            for labels, amount in series.items():
                whole.count(family, labels, amount)
        for family, series in tally.gauges.items():
            for labels, amount in series.items():
                whole.move(family, labels, amount)
        for family, series in tally.shared.items():
            _raise(whole.shared.setdefault(family, {}), series)
        for family, spreads in tally.spreads.items():
            _pile(whole.spreads.setdefault(family, {}), spreads)
    return whole


def encode(tally: Tally) -> bytes:
    """The numbers as bytes."""
    return msgspec.msgpack.encode(tally)


def decode(data: bytes) -> Tally | None:
    """The numbers in such bytes; None where they are not whole."""
    try:
        return msgspec.msgpack.decode(data, type=Tally)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _add(families: dict[str, Series], family: str, labels: Labels, amount: float) -> None:
    try:
        families[family][labels] += amount
    except KeyError:
        series = families.setdefault(family, {})
        labels = _bounded(series, labels)
        series[labels] = series.get(labels, 0) + amount


def _bounded(series: Mapping[Labels, object], labels: Labels) -> Labels:
    """The labels to count under: the given ones, or all `other` once there are too many."""
    if labels in series or len(series) < MAX_SERIES:
        return labels
    return ("other",) * len(labels)


def _raise(whole: Series, part: Series) -> None:
    for labels, value in part.items():
        whole[labels] = max(whole.get(labels, value), value)


def _pile(whole: dict[Labels, list[float]], part: dict[Labels, list[float]]) -> None:
    for labels, buckets in part.items():
        known = whole.get(labels)
        whole[labels] = (
            buckets[:] if known is None else [*map(sum, zip(known, buckets, strict=True))]
        )
