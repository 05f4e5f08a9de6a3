"""One word exchanged for another, all else being equal: the smallest step to another question."""

from __future__ import annotations

from typing import Final

from semantic.matching import unmatched
from semantic.reading import Reading

_LONGEST: Final = {"zh": 2}
"""Content words of one thing: an unknown Chinese word of two letters counts as two."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether each has one word that is none of the other's, and no more."""
    if asked.language != stored.language:
        return False
    mine, theirs = unmatched(asked.content, stored.content)
    if not mine or not theirs:
        return False
    return max(len(mine), len(theirs)) <= _LONGEST.get(asked.language, 1)
