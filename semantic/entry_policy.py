"""The policy by entry: what each stored answer's own record says of the next hit on it."""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from semantic import pieces
from semantic.budget import Budget
from semantic.evidence import STEPS, byte, step, threshold
from semantic.ledger import Ledger
from semantic.policy import Verdict
from semantic.track import Track

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semantic.protocol import Kind, Label
    from semantic.settings import Settings

MAX_ENTRIES: Final = 20_000
LONGEST: Final = 64
"""Labels that an entry remembers: older ones fade."""
SHORTEST: Final = 6
"""Labels before which an entry's record says nothing."""
_FLOOR: Final = 12
"""The least grade that is ever served: that of the shortest record without a wrong label. Below it
are the entries that were wrong lately, whose number only grows."""
_CHANCE: Final = 0.01
"""That a budget is broken. Stricter than for a threshold on similarity: what a confidence is worth
changes as records grow, so that evidence is always of a slightly other population."""
_BAND: Final = 1.92
"""Half the 95 % quantile of chi-square with one degree of freedom: how much less likely than the
best a curve may be and still lie in the band (Wilks, 1938)."""
_MIDDLES: Final = tuple(0.7 + 0.01 * number for number in range(34))
"""Similarities at which a curve crosses one half."""
_SLOPES: Final = (10.0, 30.0, 100.0)
_SCALE: Final = 10.0
"""Steps for each factor e by which less doubt is left."""


def _logistic(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-value))


_RIGHT: Final = tuple(
    tuple(
        _logistic(slope * (threshold(number) + 0.0025 - middle))
        for middle in _MIDDLES
        for slope in _SLOPES
    )
    for number in range(STEPS)
)
"""For each step, the chance of being right on each curve."""
_LIKELY: Final = tuple(
    tuple(math.log(max(1e-12, 1.0 - right if wrong else right)) for right in _RIGHT[number])
    for number in range(STEPS)
    for wrong in (False, True)
)
"""For each label, its log-likelihood on each curve."""


@lru_cache(maxsize=16_384)
def confidence(record: bytes, number: int) -> float:
    """The least chance of being right at this step that the record leaves possible: the lower edge
    of the band of logistic curves that explain it (curves of chance over similarity, fitted by
    likelihood)."""
    sums = [0.0] * len(_RIGHT[0])
    for label, times in Counter(record).items():
        sums = [one + times * likely for one, likely in zip(sums, _LIKELY[label], strict=True)]
    worst = max(sums) - _BAND
    return min(right for right, likely in zip(_RIGHT[number], sums, strict=True) if likely >= worst)


def grade(record: bytes, number: int) -> int:
    """The confidence as a step, finer where it is high; -1 while the record is too short."""
    if len(record) < SHORTEST:
        return -1
    doubt = max(1e-9, 1.0 - confidence(record, number))
    return min(STEPS - 1, int(-_SCALE * math.log(doubt)))


class _Record(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What an entry's hits were."""

    labels: bytes = b""
    """Oldest first."""
    best: bytes = b""
    """The labels as they were when a wrong one belied them most."""

    def after(self, number: int, *, wrong: bool) -> _Record:
        """The record once a hit at this step was right or wrong."""
        labels, best = self.labels, self.best
        if wrong:
            if grade(labels, number) > grade(best, number):
                best = labels
            # Whatever was right here or further off says nothing any more.
            labels = bytes(one for one in labels if one & 1 or one > 2 * number)
        return _Record((labels + bytes((byte(number, wrong=wrong),)))[-LONGEST:], best)

    def sound(self) -> bool:
        """Whether a record can be like this."""
        return (
            max(len(self.labels), len(self.best)) <= LONGEST
            and max(self.labels + self.best, default=0) < 2 * STEPS
        )


class _Dump(msgspec.Struct, frozen=True, array_like=True):
    ledger: bytes
    canonical: bytes
    records: list[tuple[str, bytes, _Record]]


class EntryPolicy:
    """A policy with a threshold for each stored answer.

    The record of an entry gives each would-be hit a confidence; from which confidence on hits of
    the group are served is what the error budget says, by the labels of hits of that confidence.
    So the budget holds even where the curves are mistaken. One wrong label takes an entry's
    confidence at once. Canonical questions have no curve: they are the plain budget's.
    """

    def __init__(self, settings: Settings, basis: bytes = b"") -> None:
        self._settings = settings
        self._canonical = Budget(settings)
        self._ledger = Ledger(
            lambda _: Track(settings.max_error_rate, _FLOOR, trusted=False, chance=_CHANCE),
            (settings.policy, settings.max_error_rate, settings.min_similarity),
            shadow=settings.mode == "shadow",
            basis=basis,
        )
        self._records: dict[bytes, dict[str, _Record]] = {}
        """By the key of the answer, what learnt nothing for longest first; then by group."""

    def verdict(
        self, group: str, kind: Kind, similarity: float, draw: float, key: bytes
    ) -> Verdict:
        """What becomes of a would-be hit; `draw`: a number by chance, from 0 up to but not 1."""
        if kind == "canonical":
            return self._canonical.verdict(group, kind, similarity, draw, key)
        least, number = self._settings.min_similarity, step(similarity)
        if number < 0 or (similarity < least and self._settings.mode == "on"):
            return Verdict("none", "below_threshold", least)
        if self._settings.mode == "shadow":
            return Verdict("verify", "shadow", least)
        record = self._records.get(key, {}).get(group, _Record())
        if grade(record.labels, number) < self._ledger.track(group, kind).opened:
            return Verdict("verify", "budget", least)
        if draw < self._settings.sample_rate:
            return Verdict("verify", "sampled", least)
        return Verdict("serve", "", least)

    def learn(self, label: Label) -> None:
        """One that comes twice counts once."""
        if label.kind == "canonical":
            self._canonical.learn(label)
            return
        number = step(label.similarity)
        if self._ledger.counted(label.name) or number < 0:
            return
        groups = self._records.pop(label.key, {})
        record = groups.get(label.group, _Record())
        # The confidence of before: a label may not vouch for itself.
        self._account(label, record, number)
        # In place of the old one, which may be on its way into a dump.
        fresh = {label.group: record.after(number, wrong=label.wrong)}
        self._records[label.key] = groups | fresh
        if len(self._records) > MAX_ENTRIES:
            del self._records[next(iter(self._records))]

    def _account(self, label: Label, record: _Record, number: int) -> None:
        """Count a label for the confidence at which its entry would be served.

        While all hits are verified, the first wrong one takes its entry out. Once they are served,
        only a sampled one does. So what is not served yet counts for the best record that its
        entry had; else evidence would come from entries without the bad ones, and the bad ones
        would be served all the same.
        """
        track = self._ledger.kept(label.group, label.kind)
        graded = grade(record.labels, number)
        if graded < track.opened:
            graded = max(graded, grade(record.best, number))
            if graded >= track.opened:
                return
        if graded >= _FLOOR:
            track.learn(graded, wrong=label.wrong)

    def forget(self, keys: Sequence[bytes]) -> None:
        """Stored again, they begin anew: verified until they have a record."""
        for key in keys:
            self._records.pop(key, None)

    def state(self) -> dict[str, dict[str, float]]:
        """As that of any policy; the threshold of neighbours is the least confidence."""
        groups = self._canonical.state()
        for group, figures in self._ledger.state().items():
            opened = self._ledger.track(group, "semantic").opened
            least = 1.0 if opened == STEPS else 1.0 - math.exp(-opened / _SCALE)
            groups[group] = {**groups.get(group, {}), **figures, "semantic_threshold": least}
        return groups

    def dump(self) -> Iterator[bytes]:
        """All that was learnt by now, as of `_Dump`."""
        ledger, canonical = self._ledger.dump(), *self._canonical.dump()
        # Two lists: a pair for each would take ten times as long.
        return _pieces(ledger, canonical, list(self._records), list(self._records.values()))

    def restore(self, data: bytes) -> None:
        """Take over what was dumped; what means nothing here leaves nothing."""
        self._records.clear()
        try:
            dump = msgspec.msgpack.decode(data, type=_Dump)
        except (msgspec.DecodeError, RecursionError):
            dump = _Dump(b"", b"", [])
        self._canonical.restore(dump.canonical)
        if not self._ledger.restore(dump.ledger):
            return
        for group, key, record in dump.records[-MAX_ENTRIES:]:
            if record.sound():
                self._records.setdefault(key, {})[group] = record


def _pieces(
    ledger: bytes, canonical: bytes, keys: list[bytes], records: list[dict[str, _Record]]
) -> Iterator[bytes]:
    yield pieces.fields(3) + msgspec.msgpack.encode(ledger) + msgspec.msgpack.encode(canonical)
    some = zip(pieces.parts(keys), pieces.parts(records), strict=True)
    parts = (
        [
            (group, key, one)
            for key, groups in zip(*part, strict=True)
            for group, one in groups.items()
        ]
        for part in some
    )
    yield from pieces.array(sum(map(len, records)), parts)
