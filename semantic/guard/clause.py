"""Two clauses that have changed places: what is told, and what is asked of it."""

from __future__ import annotations

import re
from typing import Final

from semantic.matching import akin
from semantic.reading import Reading
from semantic.stems import topic
from semantic.words import EMPTY

_HANGS: Final = frozenset(("if", "when", "unless", "while", "because", "once"))
"""English words that begin the clause that is told."""
_DEED: Final = r"[^\W了过完还要能会可没不通经超]"
_DONE: Final = re.compile(
    rf"({_DEED})(?:过|完|了(?=[^了]))"
    rf"|({_DEED}{{1,2}})(?<![售然最今以之背随事先目提面眼])(?:之|以)?[后前]"
)
"""A Chinese deed that is done before, by the letters before what says so."""

_TOLD: Final = re.compile(r"[^\W]*(?:过|完|了|后|前)")
"""Up to the last of them in a clause."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether what is told in one is asked in the other, and the other way round."""
    if asked.language == stored.language == "zh":
        return _done_otherwise(asked.text, stored.text)
    if not asked.language == stored.language == "en":
        return False
    one, other = _split(asked.words), _split(stored.words)
    if one is None or other is None:
        return False
    return _meet(one[0], other[1], but=other[0]) and _meet(one[1], other[0], but=other[1])


def _split(words: tuple[str, ...]) -> tuple[set[str], set[str]] | None:
    """The topics of what is asked, and of what it hangs on; the latter is told last."""
    place = next((place for place, word in enumerate(words) if place and word in _HANGS), 0)
    if not place:
        return None
    return _topics(words[:place]), _topics(words[place + 1 :])


def _topics(words: tuple[str, ...]) -> set[str]:
    return {topic(word) for word in words if word not in EMPTY and word.isalpha()}


def _meet(one: set[str], other: set[str], but: set[str]) -> bool:
    """Whether a topic is in both, and not in a third."""
    return any(
        any(_same(word, there) for there in other) and not any(_same(word, there) for there in but)
        for word in one
    )


def _same(one: str, other: str) -> bool:
    return one == other or akin(one, other)


def _done_otherwise(one: str, other: str) -> bool:
    """Whether, of two Chinese deeds in both texts, each is done in one of them only."""
    mine, theirs = _done(one), _done(other)
    if not mine or not theirs or not mine.isdisjoint(theirs):
        return False
    if any(deed in _told(other) for deed in mine) or any(deed in _told(one) for deed in theirs):
        return False
    return all(deed in other for deed in mine) and all(deed in one for deed in theirs)


def _told(text: str) -> str:
    """All that stands before what says that it is done: of 忘记密码了 one deed is 忘."""
    return "".join(_TOLD.findall(text))


def _done(text: str) -> set[str]:
    return set("".join(deed for found in _DONE.findall(text) for deed in found))
