"""A name that goes on: the Pro of a phone, the Server edition of a system."""

from __future__ import annotations

from itertools import pairwise

from semantic.glossary import classed
from semantic.reading import Reading


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether a name of one, or its number, is followed by a further name that the other lacks."""
    if asked.names == stored.names:
        return False
    return _on(asked, stored) or _on(stored, asked)


def _on(one: Reading, other: Reading) -> bool:
    words, known = one.words, {*other.names, *other.numbers}
    return any(
        before in known
        and word in one.names
        and word not in other.words
        and not classed(word, other.members)
        for before, word in pairwise(words)
    )
