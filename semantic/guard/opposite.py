"""Opposite words, or a word and its negated form: buy and sell, safe and unsafe."""

from __future__ import annotations

from typing import Final

from semantic.glossary import HAN
from semantic.reading import Reading

_PREFIXES: Final = ("un", "in", "dis", "non", "im", "il", "ir", "de", "mis")


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one has one side of a pair of opposites, and the other the other side."""
    if asked.poles != stored.poles and (
        _turned(asked.poles, stored.poles) or _turned(stored.poles, asked.poles)
    ):
        return True
    if asked.language == "zh":
        return _letter(asked.text, stored.text)
    return _prefixed(asked.words, stored.words) or _prefixed(stored.words, asked.words)


def _turned(one: frozenset[int], other: frozenset[int]) -> bool:
    return any(pole not in other and -pole in other and -pole not in one for pole in one)


def _prefixed(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether a word of one is a negated word of the other, by its prefix."""
    for word in set(one).difference(other):
        if word == "non":
            return True
        for prefix in _PREFIXES:
            if word.startswith(prefix) and word[len(prefix) :] in other:
                return len(word) > len(prefix) + 2
    return False


def _letter(one: str, other: str) -> bool:
    """Whether two Chinese texts of one length differ in opposite letters alone."""
    if len(one) != len(other) or one == other:
        return False
    return any(
        _turned(frozenset(HAN[here].poles), frozenset(HAN[there].poles))
        for here, there in zip(one, other, strict=True)
        if here != there and here in HAN and there in HAN
    )
