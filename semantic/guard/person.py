"""Who is spoken of: I or you, where it is not asked how all do it."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from semantic.reading import Reading

_FOR_ALL: Final = frozenset(("how", "todo", "where", "fix", "price"))
"""Types in which I and you are anyone."""
_HE: Final = frozenset(("he", "him", "his", "himself"))
_SHE: Final = frozenset(("she", "her", "hers", "herself"))


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one speaks of its asker alone, and the other of the one spoken to alone; or only one
    of him, or of her; or one of a thing of yours, and the other of any."""
    if asked.language == stored.language == "en" and (
        _third(asked) != _third(stored) or _any(asked, stored) or _any(stored, asked)
    ):
        return True
    if asked.language != stored.language or not _FOR_ALL.isdisjoint(
        (asked.question, stored.question)
    ):
        return False
    one, other = frozenset(asked.persons), frozenset(stored.persons)
    return bool(one and other) and one.isdisjoint(other)


def _third(reading: Reading) -> tuple[bool, bool]:
    return not _HE.isdisjoint(reading.words), not _SHE.isdisjoint(reading.words)


def _any(asked: Reading, stored: Reading) -> bool:
    """Whether one speaks of a plumber, and the other of your plumber."""
    yours = {thing for whose, thing in pairwise(stored.words) if whose == "your"}
    return any(which in ("a", "an") and thing in yours for which, thing in pairwise(asked.words))
