"""English words without their endings, and as one of those that ask the same."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from semantic.words import NOUN_OF, SYNONYMS

_IRREGULAR: Final = {
    "children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "wives": "wife", "knives": "knife", "lives": "life",
}  # fmt: skip


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A noun or verb without its s."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("shes", "ches", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=16384)
def folded(word: str) -> str:
    """A word as one of those that ask the same."""
    plain = stem(word)
    if plain.endswith("est") and plain[:-3] in SYNONYMS:
        return f"{SYNONYMS[plain[:-3]]}est"
    return SYNONYMS.get(plain, plain)


def topic(word: str) -> str:
    """A word as its topic: a deed by its verb."""
    plain = folded(word)
    return NOUN_OF.get(plain, plain)
