"""The same words with their parts exchanged: from A to B and from B to A."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from typing import Final

from semantic.glossary import ENGLISH, HAN, NOTHING
from semantic.matching import apart, moved, rotated
from semantic.reading import Reading
from semantic.stems import base, stem
from semantic.tongue import Language
from semantic.words import AUXILIARY, EMPTY

_ACTS: Final = frozenset(("do", "does", "did", "i"))
_ARTICLES: Final = frozenset(("a", "an", "the"))
_CLAUSE: Final = 3
"""Words of the shortest clause."""
_FRONTS: Final = frozenset(("in", "on", "at", "for", "with", "into", "during", "under", "within"))
"""English words that begin a phrase which may be told first or last."""
_HOW: Final = frozenset("如何怎么样为什啥咋吗呢")
_ASKED: Final = frozenset("多几何怎咋哪")
_QUANTITY: Final = frozenset("多久少长时间候什么几钱次一遍回怎何样咋哪点")
_LOST: Final = frozenset(("忘", "忘了", "忘记", "丢", "丢了", "丢失", "遗失"))
"""What is lost is said to be so, or to have been lost by someone: no one else is meant."""
_WHEN: Final = frozenset(("weekday", "day", "daytime", "season", "year", "relative"))
"""Classes of words that say when."""
_MANY: Final = {"en": 3, "zh": 6, "other": 6}
"""Words that make an order."""
_FEW: Final = 2
_NAME: Final = 2
"""Letters by which two Chinese names are known to be the same."""
_GIVES: Final = re.compile("(?<![供不还交发])[给向替帮借欠赔][了过]?")
"""Chinese words with who acts before them and to or for whom behind."""
_MAY: Final = re.compile(
    "(?:怎么|如何|怎样|能不能|可不可以|可以|能|会|要|应该|该|必须|想|没有?|不|都)+$"
)


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether two sides of a word such as `to`, or two names, have changed places."""
    if _swapped(asked.pivots, stored.pivots) or _shuffled(asked, stored):
        return True
    if any(
        _reordered(one, other)
        for one, other in (
            (asked.names, stored.names),
            (asked.members, stored.members),
            (asked.persons, stored.persons),
        )
    ):
        return True
    if _exchanged(asked, stored) or _given(asked, stored) or _given(stored, asked):
        return True
    if not (asked.turned and stored.turned) or len(asked.body) != len(stored.body):
        return False
    if sorted(asked.body) != sorted(stored.body) or rotated(asked.body, stored.body):
        return False
    return asked.language != "zh" or not _topical(asked.words, stored.words)


def _shuffled(asked: Reading, stored: Reading) -> bool:
    """Whether one has just the words of the other in another order, as `milk chocolate` has those
    of `chocolate milk`. Whole clauses may change places, and so may what a Chinese text is about;
    how it is done is asked before it or behind."""
    one, other = (
        tuple(stem(word) for word in reading.words if word not in _ARTICLES)
        for reading in (asked, stored)
    )
    if one == other or sorted(one) != sorted(other):
        return False
    if asked.language == "zh":
        return not (rotated(one, other) or _topical(one, other)) and _told(one) != _told(other)
    return not any(
        one[place:] + one[:place] == other
        and (_CLAUSE <= place <= len(one) - _CLAUSE or _FRONTS & {one[0], other[0]})
        for place in range(2, len(one) - 1)
    )


def _topical(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether something is named in one Chinese text before what asks how or how much, and in the
    other behind: 疫苗多久打一次, 多久打一次疫苗."""
    start, end = apart(one, other)
    here, there = one[start:end], other[start:end]
    for place in range(1, len(here)):
        if here[place:] + here[:place] == there:
            parts = here[:place], here[place:]
            return not _LOST.isdisjoint(parts[0][:1] + parts[1][:1]) or (
                end == len(one)
                and min(map(len, parts)) > 1
                and any(_asks(part) for part in parts)
                and any(_ASKED.isdisjoint(part) for part in parts)
            )
    return False


def _asks(words: tuple[str, ...]) -> bool:
    """Whether they ask how or how much of a deed, not how much alone."""
    return not _ASKED.isdisjoint(words) and any(
        word not in _QUANTITY and not any(kind == "unit" for kind, _ in _members(word))
        for word in words
    )


def _told(words: tuple[str, ...]) -> list[str]:
    """Words without those that ask, and those that say when: in Chinese, both come before what is
    spoken of or behind."""
    return [
        word
        for word in words
        if word not in _HOW and not any(kind in _WHEN for kind, _ in _members(word))
    ]


def _members(word: str) -> tuple[tuple[str, str], ...]:
    return HAN.get(word, NOTHING).members


def _exchanged(asked: Reading, stored: Reading) -> bool:
    """Whether who does it and to whom it is done have changed places: `can I sue my employer` has
    the words of `can my employer sue me`, and `谁打了我` those of `我打了谁`. Where no person is
    spoken of, one run of words may stand elsewhere, and no two."""
    if asked.persons != stored.persons:
        return False
    one, other = tuple(map(base, asked.content)), tuple(map(base, stored.content))
    if sorted(one) != sorted(other):
        return _crossed(asked.content, stored.content, asked.language)
    if asked.question == stored.question == "who" and _sought(asked) != _sought(stored):
        return True
    if one == other:
        return False
    spoken = bool(asked.persons) and not (_by_me(asked) and _by_me(stored))
    return spoken or not moved(one, other) or _compounded(asked, stored)


def _crossed(one: tuple[str, ...], other: tuple[str, ...], language: Language) -> bool:
    """Whether, but for a word or two, both have the same words, with more than one run of them
    elsewhere."""
    mine, theirs = _kept(one, other), _kept(other, one)
    if len(mine) < _MANY[language] or max(len(one), len(other)) > len(mine) + _FEW:
        return False
    return not moved(tuple(mine), tuple(theirs))


def _compounded(asked: Reading, stored: Reading) -> bool:
    """Whether two English nouns, one beside the other, have changed places: a guest house and a
    house guest, a driving test and a test drive. What tells of a state, or how, may stand on either
    side."""
    if asked.language != "en":
        return False
    nouns = [
        {
            (base(left), base(right))
            for left, right in pairwise(reading.words)
            if left.isalpha() and right.isalpha() and not {left, right} & EMPTY
        }
        for reading in (asked, stored)
    ]
    return any(
        (right, left) in nouns[1] and not (_tells(left) or _tells(right))
        for left, right in nouns[0]
    )


def _tells(word: str) -> bool:
    return word.endswith("ly") or ENGLISH.get(word, NOTHING).poles != ()


def _kept(one: tuple[str, ...], other: tuple[str, ...]) -> list[str]:
    """The words of one that the other has as well, as often as it has them."""
    left = Counter(other)
    kept = []
    for word in one:
        if left[word] > 0:
            left[word] -= 1
            kept.append(word)
    return kept


def _by_me(reading: Reading) -> bool:
    """Whether it asks, in English, what the asker does: no one else can be who does it."""
    return any(here in AUXILIARY and there == "i" for here, there in pairwise(reading.words))


def _sought(reading: Reading) -> bool:
    """Whether it asks to whom something is done, not who does it."""
    words = reading.words
    if "谁" in words:
        return "我" in words and words.index("我") < words.index("谁")
    return not _ACTS.isdisjoint(words)


def _swapped(
    one: tuple[tuple[str, str, str], ...], other: tuple[tuple[str, str, str], ...]
) -> bool:
    return any((pivot, right, left) in other for pivot, left, right in one if left != right)


def _given(asked: Reading, stored: Reading) -> bool:
    """Whether, of two Chinese texts, who receives in one gives in the other."""
    if not asked.language == stored.language == "zh":
        return False
    text = asked.text
    to = {(found[0][0], text[found.end() :][:_NAME]) for found in _GIVES.finditer(text)}
    return bool(to) and any(
        (found[0][0], _MAY.sub("", stored.text[: found.start()])[-_NAME:]) in to
        for found in _GIVES.finditer(stored.text)
    )


def _reordered(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether both have the same distinct things, in another order."""
    return (
        len(one) == len(other)
        and one != other
        and len(set(one)) == len(one)
        and set(one) == set(other)
    )
