"""Nearly equal questions with a word exchanged: each such word may be the one that matters."""

from __future__ import annotations

from typing import Final

from semantic.matching import unmatched
from semantic.reading import Reading

_SHARED: Final = {"en": 0.5, "zh": 0.33}
"""Share of the longer one's words from which on two questions are nearly equal; an unknown Chinese
word counts as several, a letter each."""
_OTHER: Final = 0.5


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether, most words being equal, each has a word that is none of the other's."""
    mine, theirs = unmatched(asked.content, stored.content)
    if not mine or not theirs:
        return False
    longest = max(len(asked.content), len(stored.content))
    return longest - max(len(mine), len(theirs)) >= _SHARED.get(asked.language, _OTHER) * longest
