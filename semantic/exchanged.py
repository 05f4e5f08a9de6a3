"""Whether two texts of one wording speak of different things: one word stands for another there."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeAlias

from semantic.matching import akin, parting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Words: TypeAlias = tuple[str, ...]
    Gap: TypeAlias = tuple[Words, Words]

_RUN: Final = 2
"""Words in a row by which texts are put side by side first."""
_NAME: Final = 4
"""Words, or Han characters, that a name has at most."""
_SAME: Final = 0.15
"""Share of words that differ up to which two texts are of one wording: there each exchange is one
of things, for who says a thing anew changes more than that."""
_OTHER: Final = 0.5
"""The same beyond which two texts are no longer put side by side."""


def exchanged(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether something in the words of one text is something else in those of the other: where the
    wording is the same; for each other; or each time that it is named. In O(n log n)."""
    gaps = list(_gaps(one, other))
    share = sum(len(mine) + len(theirs) for mine, theirs in gaps) / (len(one) + len(other) or 1)
    if share > _OTHER:
        return False
    names = {gap for gap in gaps if _replaces(*gap)}
    if names and (share <= _SAME or not names.isdisjoint([gap[::-1] for gap in names])):
        return True
    return _named(one, other) and _named(other, one)


def _named(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one names something again and again that the other never does."""
    there = frozenset(other)
    return any(times > 1 and word not in there for word, times in Counter(one).items())


def _replaces(mine: Words, theirs: Words) -> bool:
    """Whether a name may stand for a name: both are short, and not two spellings of one."""
    if not (0 < len(mine) <= _NAME and 0 < len(theirs) <= _NAME):
        return False
    return len(mine) != len(theirs) or not all(map(akin, mine, theirs))


def _gaps(one: Sequence[str], other: Sequence[str], size: int = _RUN) -> Iterator[Gap]:
    """What differs, between what is the same and in one order: runs of so many words that each text
    has but once, then shorter ones between them."""
    start = begin = 0
    for stop, end in (*_anchors(one, other, size), (len(one), len(other))):
        mine, theirs = _stripped(one[start:stop], other[begin:end])
        start, begin = stop, end
        if size > 1 and mine and theirs:
            yield from _gaps(mine, theirs, size - 1)
        elif mine or theirs:
            yield mine, theirs


def _stripped(one: Sequence[str], other: Sequence[str]) -> Gap:
    """Without what both begin with, and what both end with."""
    start = parting(one, other)
    one, other = one[start:], other[start:]
    end = parting(one[::-1], other[::-1])
    return tuple(one[: len(one) - end]), tuple(other[: len(other) - end])


def _anchors(one: Sequence[str], other: Sequence[str], size: int) -> list[tuple[int, int]]:
    """Where both have a run of so many words that each has but once; most of those in one order."""
    theirs = _once(other, size)
    shared = [(place, theirs[run]) for run, place in _once(one, size).items() if run in theirs]
    # The longest increasing chain (patience sorting): the ends of the best chains of each length,
    # and what stands before each place in the best one that ends there.
    ends: list[int] = []
    tails: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(shared):
        length = bisect_left(ends, place)
        before.append(tails[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        tails[length : length + 1] = [number]
    chain = []
    number = tails[-1] if tails else -1
    while number >= 0:
        chain.append(shared[number])
        number = before[number]
    return chain[::-1]


def _once(words: Sequence[str], size: int) -> dict[Words, int]:
    """Where the runs of so many words are that come but once, in their order."""
    runs = list(zip(*(words[start:] for start in range(size)), strict=False))
    counts = Counter(runs)
    return {run: place for place, run in enumerate(runs) if counts[run] == 1}
