"""A question that speaks of someone, some place or some product, where the other speaks of none."""

from __future__ import annotations

from typing import Final

from semantic.glossary import classed
from semantic.matching import akin
from semantic.reading import Reading
from semantic.stems import folded
from semantic.wordlist import listed

_NARROWING: Final = frozenset(
    listed(
        "kin role tier city country brand drug illness animal language day month weekday year "
        "relative code database system size cloud school leave insurance"
    )
)
"""Classes of which a single member makes a question a narrower one."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one has a name or a narrowing word that the other lacks."""
    if asked.names != stored.names and (_missing(asked, stored) or _missing(stored, asked)):
        return True
    if asked.members == stored.members:
        return False
    one, other = set(asked.members), set(stored.members)
    return _alone(one - other, stored) or _alone(other - one, asked)


def _missing(one: Reading, other: Reading) -> bool:
    return any(
        name not in other.words
        and folded(name) not in other.content
        and not any(akin(name, word) for word in other.words)
        and not classed(name, other.members)
        for name in one.names
    )


def _alone(members: set[tuple[str, str]], other: Reading) -> bool:
    """Whether a member is not in the other, not even misspelt."""
    return any(
        name in _NARROWING and not any(akin(member, word) for word in other.words)
        for name, member in members
    )
