"""A word more in a question that has few: a warranty, and an extended warranty."""

from __future__ import annotations

from typing import Final

from semantic.matching import unmatched
from semantic.reading import Reading
from semantic.wordlist import listed

_FEW: Final = 2
"""Content words among which one more is a narrower question."""

_PLACES: Final = frozenset(listed("under over by from without through during within up off out"))


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether, of two English questions, one is a short one and the other has words besides."""
    if not asked.language == stored.language == "en":
        return False
    if min(_count(asked), _count(stored)) > _FEW:
        return False
    mine, theirs = unmatched(asked.content, stored.content)
    return bool(mine) != bool(theirs)


def _count(reading: Reading) -> int:
    return sum(word not in _PLACES for word in reading.content)
