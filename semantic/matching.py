"""Words of two questions put side by side: which have no counterpart."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from operator import eq
from typing import TYPE_CHECKING, Final

from semantic.glossary import ENGLISH, HAN, NOTHING
from semantic.irregular import VERB
from semantic.lookalikes import LOOKALIKES
from semantic.near import near
from semantic.synonyms import SYNONYMS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ENDINGS: Final = ("ing", "ed", "er", "al", "ly", "ment", "ion", "es", "s", "e", "d", "y", "ies")
_VOWELS: Final = frozenset("aeiou")
_NAMED: Final = frozenset(("unit", "currency", "code", "database", "weekday", "month"))
"""Classes whose members have several names each, and nothing else in common."""
_WORDS: Final[dict[str, list[str]]] = {}
"""To a word that stands for several that ask the same, those."""
for _word, _first in SYNONYMS.items():
    _WORDS.setdefault(_first, []).append(_word)
_DOUBLED: Final = re.compile(r"(.*[aeiou]([bdgmnprt]))\2(?:ing|ed)")
_LONG: Final = 5
"""Letters from which on a single slip of the pen leaves a word known."""


def unmatched(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The words of each that the other has not, in any form or spelling."""
    mine = _without(one, other)
    theirs = _without(other, one)
    if not mine or not theirs:
        return mine, theirs
    for word in tuple(mine):
        for counterpart in theirs:
            if same(word, counterpart) or near(word, counterpart):
                mine.remove(word)
                theirs.remove(counterpart)
                break
    _join(mine, theirs)
    _join(theirs, mine)
    return mine, theirs


def same(one: str, other: str) -> bool:
    """Whether two words are one, in some form or spelling, or name one thing."""
    return one == other or akin(one, other) or _one_thing(one, other) or _misspelt(one, other)


@lru_cache(maxsize=16384)
def _misspelt(one: str, other: str) -> bool:
    """Whether one is, by a slip of the pen, some other word for other: recieve, and get."""
    return any(
        _slipped(here, word)
        for here, there in ((one, other), (other, one))
        if here.isascii() and here.isalpha() and here not in _WORDS
        for word in _WORDS.get(there, ())
    )


def _join(parts: list[str], wholes: list[str]) -> None:
    """Take out two words that are written as one on the other side."""
    for left, right in tuple(pairwise(parts)):
        if left + right in wholes and left in parts and right in parts:
            wholes.remove(left + right)
            parts.remove(left)
            parts.remove(right)


def _one_thing(one: str, other: str) -> bool:
    """Whether two words name one thing: km and kilometre, JS and JavaScript."""
    named = {(kind, name) for kind, name in _members(one) if kind in _NAMED}
    return not named.isdisjoint(_members(other))


def _members(word: str) -> tuple[tuple[str, str], ...]:
    return (ENGLISH.get(word) or HAN.get(word) or NOTHING).members


def _without(one: tuple[str, ...], other: tuple[str, ...]) -> list[str]:
    return [word for word in one if word not in other]


@lru_cache(maxsize=16384)
def akin(one: str, other: str) -> bool:
    """Whether two words are forms of one, or one is the other with a slip of the pen."""
    if not (one.isalpha() and other.isalpha() and one.isascii() and other.isascii()):
        return False
    return not _doubled(one, other) and (_inflected(one, other) or _slipped(one, other))


def _doubled(one: str, other: str) -> bool:
    """Whether a doubled letter makes two verbs of them: hoping and hopping, planed and planned."""
    short, long = sorted((one, other), key=len)
    found = _DOUBLED.fullmatch(long)
    return found is not None and short == found[1] + long[found.end(2) + 1 :]


def _inflected(one: str, other: str) -> bool:
    one, other = VERB.get(one, one), VERB.get(other, other)
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    if len(short) < 3 or short[:3] != long[:3]:
        return False
    if long == f"{short}e" and {one, other} <= LOOKALIKES:
        return False  # breath and breathe
    return not _roots(one).isdisjoint(_roots(other))


def _roots(word: str) -> set[str]:
    roots = {word}
    for ending in _ENDINGS[:2] + _ENDINGS[7:10]:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            root = word[: -len(ending)]
            roots.add(root)
            if len(root) > 3 and root[-1] == root[-2]:
                roots.add(root[:-1])
    return roots


def parting(one: Sequence[str], other: Sequence[str]) -> int:
    """Up to where they are the same."""
    place, least = 0, min(len(one), len(other))
    while place < least and one[place] == other[place]:
        place += 1
    return place


def apart(
    one: tuple[str, ...], other: tuple[str, ...], meet: Callable[[str, str], bool] = eq
) -> tuple[int, int]:
    """Between which places two orders of as many words differ. `meet`: whether two are one."""
    start, end = 0, len(one)
    while start < end and meet(one[start], other[start]):
        start += 1
    while end > start and meet(one[end - 1], other[end - 1]):
        end -= 1
    return start, end


def rotated(
    one: tuple[str, ...], other: tuple[str, ...], meet: Callable[[str, str], bool] = eq
) -> bool:
    """Whether one is the other, begun elsewhere: what was said last is said first."""
    return len(one) == len(other) and any(
        all(map(meet, one[place:] + one[:place], other)) for place in range(max(1, len(one)))
    )


def moved(
    one: tuple[str, ...], other: tuple[str, ...], meet: Callable[[str, str], bool] = eq
) -> bool:
    """Whether other is one with at most one run of words moved."""
    if len(one) != len(other):
        return False
    start, end = apart(one, other, meet)
    return rotated(one[start:end], other[start:end], meet)


def _slipped(one: str, other: str) -> bool:
    """One letter more or fewer, another vowel, or two letters exchanged; unless both are words."""
    if one in LOOKALIKES and other in LOOKALIKES:
        return False
    if min(len(one), len(other)) < _LONG - 1 or one[0] != other[0]:
        return False
    if abs(len(one) - len(other)) > 1 or max(len(one), len(other)) < _LONG:
        return False
    start = parting(one, other)
    if start == min(len(one), len(other)):
        return True
    return (
        one[start + 1 :] == other[start:]
        or one[start:] == other[start + 1 :]
        or (
            min(len(one), len(other)) > _LONG
            and {one[start], other[start]} <= _VOWELS
            and one[start + 1 :] == other[start + 1 :]
        )
        or (
            one[start + 2 :] == other[start + 2 :]
            and one[start : start + 2] == other[start : start + 2][::-1]
        )
    )
