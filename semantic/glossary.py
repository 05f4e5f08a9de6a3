"""What an operator's terms, beside the built-in lists, find in a text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from semantic import classes, han_opposites, opposites
from semantic.letters import plain
from semantic.settings import Terms
from semantic.wordlist import entries, named

if TYPE_CHECKING:
    from collections.abc import Iterable

_OWN: Final = 100_000
"""Numbers of an operator's pairs begin here, beyond those of the built-in ones; ..."""
_OWN_CLASS: Final = "own"
"""... and so do the names of classes."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a word says by itself."""

    poles: tuple[int, ...] = ()
    """Numbers of the pairs that it belongs to, negative for the second side."""
    members: tuple[tuple[str, str], ...] = ()
    """A class, and which member of it the word is."""


@dataclass(frozen=True, slots=True)
class Glossary:
    """The operator's terms, made ready."""

    protected: re.Pattern[str] | None
    terms: re.Pattern[str] | None
    facts: dict[str, Facts]
    synonyms: re.Pattern[str] | None
    first: dict[str, str]
    """The word that stands for a synonym."""

    def rewritten(self, text: str) -> str:
        """A lower-case text with each synonym as the first of its set."""
        if self.synonyms is None:
            return text
        return self.synonyms.sub(lambda found: self.first[found[0]], text)


@lru_cache(maxsize=64)
def glossary(terms: Terms) -> Glossary:
    """Make an operator's terms ready."""
    poles: dict[str, tuple[int, ...]] = {}
    for number, pair in enumerate(terms.antonyms, start=_OWN):
        for sign, word in zip((1, -1), map(plain, pair), strict=True):
            poles[word] = (*poles.get(word, ()), sign * number)
    members: dict[str, tuple[tuple[str, str], ...]] = {}
    for number, words in enumerate(terms.classes):
        for word in map(plain, words):
            members[word] = (*members.get(word, ()), (f"{_OWN_CLASS}{number}", word))
    facts = {word: Facts(poles.get(word, ()), members.get(word, ())) for word in {*poles, *members}}
    first = {plain(word): plain(words[0]) for words in terms.synonyms for word in words}
    return Glossary(
        _pattern(terms.protected_terms),
        _pattern(tuple(facts)),
        facts,
        _pattern(tuple(first)),
        first,
    )


def own(poles: Iterable[int], members: Iterable[tuple[str, str]]) -> list[str]:
    """What an operator's terms say of a text, in an order of its own."""
    said = [f"{kind}={name}" for kind, name in members if kind.startswith(_OWN_CLASS)]
    return sorted(said + [str(pole) for pole in poles if abs(pole) >= _OWN])


def _pattern(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """Finds any of some words, the longest first; Latin ones only whole."""
    listed = sorted({plain(word) for word in words if word.strip()}, key=lambda word: -len(word))
    if not listed:
        return None
    return re.compile("|".join(map(_whole, listed)))


def _whole(word: str) -> str:
    before = r"(?<![a-z0-9])" if word[0].isascii() and word[0].isalnum() else ""
    after = r"(?![a-z0-9])" if word[-1].isascii() and word[-1].isalnum() else ""
    return f"{before}{re.escape(word)}{after}"


def _facts(pairs: str, listed: str) -> dict[str, Facts]:
    poles: dict[str, list[int]] = {}
    for number, pair in enumerate(entries(pairs), start=1):
        for sign, side in zip((1, -1), pair.split("|"), strict=True):
            for word in side.split(","):
                poles.setdefault(word.strip().replace(" ", ""), []).append(sign * number)
    members: dict[str, list[tuple[str, str]]] = {}
    for name, things in named(listed).items():
        for thing in things:
            names = thing.split("/")
            for word in names:
                members.setdefault(word, []).append((name, names[0]))
    return {
        word: Facts(tuple(poles.get(word, ())), tuple(members.get(word, ())))
        for word in {*poles, *members}
    }


ENGLISH: Final = _facts(opposites.ENGLISH, classes.ENGLISH)
HAN: Final = _facts(han_opposites.HAN, classes.HAN)
NOTHING: Final = Facts()


def classed(word: str, members: Iterable[tuple[str, str]]) -> bool:
    """Whether an English word is one of these members of classes, by whatever name."""
    return not set(ENGLISH.get(word, NOTHING).members).isdisjoint(members)
