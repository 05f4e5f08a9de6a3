"""Names that differ: capitalised words in English, Latin words in Chinese."""

from __future__ import annotations

from semantic.glossary import classed
from semantic.reading import Reading
from semantic.stems import folded


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether each has a name that the other lacks."""
    if asked.names == stored.names:
        return False
    return _missing(asked, stored) and _missing(stored, asked)


def _missing(one: Reading, other: Reading) -> bool:
    """Whether a name of one is no word of the other."""
    return any(
        name not in other.words
        and folded(name) not in other.content
        and not classed(name, other.members)
        for name in one.names
    )
