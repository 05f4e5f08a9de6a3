"""Who acts, of two that face each other: what a candidate asks, and what an interviewer does."""

from __future__ import annotations

import re
from typing import Final

from semantic.glossary import ENGLISH, NOTHING
from semantic.reading import Reading
from semantic.stems import stem

_ACTS: Final = re.compile(
    r"\b(?:should|can|could|must|may|might|will|would|do|does|did|as)"
    r" (?:(?:an?|the|my|your|our|their) )?(\w+)"
)


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether who acts in one English question faces who acts in the other; of what is done by
    someone, the voice tells who does it."""
    if not asked.language == stored.language == "en":
        return False
    if ("by" in asked.words) != ("by" in stored.words):
        return False
    one, other = _sides(asked), _sides(stored)
    return bool(one) and any(-side in other for side in one)


def _sides(reading: Reading) -> frozenset[int]:
    """On which sides of pairs the first who acts stands, as the glossary numbers them."""
    for found in _ACTS.finditer(" ".join(reading.words)):
        if poles := ENGLISH.get(stem(found[1]), NOTHING).poles:
            return frozenset(poles)
    return frozenset()
