"""Opposite words, or a word and its negated form: buy and sell, safe and unsafe."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from semantic.affixes import LETTERS, PREFIXES, SUFFIXES
from semantic.glossary import HAN
from semantic.reading import Reading

_PREFIXES: Final = ("un", "in", "dis", "non", "im", "il", "ir", "de", "mis")
_PAIRED: Final = tuple(tuple(line.split()) for line in PREFIXES.strip().splitlines())
_ENDED: Final = tuple(tuple(line.split()) for line in SUFFIXES.strip().splitlines())
_STEM: Final = 3
"""Letters of the shortest stem."""
_LETTERS: Final = frozenset(LETTERS.split()) | frozenset(pair[::-1] for pair in LETTERS.split())


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one has one side of a pair of opposites, and the other the other side."""
    if asked.poles != stored.poles and (
        _turned(asked.poles, stored.poles) or _turned(stored.poles, asked.poles)
    ):
        return True
    if asked.language == "zh":
        return _letter(asked.text, stored.text) or _letter(
            "".join(asked.content), "".join(stored.content)
        )
    mine = set(asked.words).difference(stored.words)
    theirs = set(stored.words).difference(asked.words)
    return (
        _prefixed(mine, stored.words)
        or _prefixed(theirs, asked.words)
        or any(_formed(one, other) for one in mine for other in theirs)
    )


def _turned(one: frozenset[int], other: frozenset[int]) -> bool:
    return any(pole not in other and -pole in other and -pole not in one for pole in one)


def _prefixed(words: set[str], other: tuple[str, ...]) -> bool:
    """Whether one of some words is a negated word of the other, by its prefix."""
    for word in words:
        if word == "non":
            return True
        for prefix in _PREFIXES:
            if word.startswith(prefix) and word[len(prefix) :] in other:
                return len(word) > len(prefix) + 2
    return False


@lru_cache(maxsize=16384)
def _formed(one: str, other: str) -> bool:
    """Whether two words are opposite by how they begin, or end, round one stem."""
    if one[-_STEM:] == other[-_STEM:]:
        return any(
            _stem(one, here) == _stem(other, there) != ""
            for pair in _PAIRED
            for here, there in (pair, pair[::-1])
        )
    return one[:_STEM] == other[:_STEM] and any(
        _stem(one[::-1], here[::-1]) == _stem(other[::-1], there[::-1]) != ""
        for pair in _ENDED
        for here, there in (pair, pair[::-1])
    )


def _stem(word: str, prefix: str) -> str:
    """What follows the prefix, if it is long enough to be a stem."""
    rest = word.removeprefix(prefix)
    return rest if rest != word and len(rest) >= _STEM else ""


def _letter(one: str, other: str) -> bool:
    """Whether two Chinese texts of one length differ in opposite letters, not in their order."""
    if len(one) != len(other) or one == other:
        return False
    pairs = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    mine, theirs = {here for here, _ in pairs}, {there for _, there in pairs}
    return any(
        _against(here, there) for here, there in pairs if here not in theirs and there not in mine
    )


def _against(here: str, there: str) -> bool:
    if here + there in _LETTERS:
        return True
    known = here in HAN and there in HAN
    return known and _turned(frozenset(HAN[here].poles), frozenset(HAN[there].poles))
