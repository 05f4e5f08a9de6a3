"""Who is spoken of: I or you, where it is not asked how all do it."""

from __future__ import annotations

from typing import Final

from semantic.reading import Reading

_FOR_ALL: Final = frozenset(("how", "todo", "where", "fix", "price"))
"""Types in which I and you are anyone."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one speaks of its asker alone, and the other of the one spoken to alone."""
    if asked.language != stored.language or not _FOR_ALL.isdisjoint(
        (asked.question, stored.question)
    ):
        return False
    one, other = frozenset(asked.persons), frozenset(stored.persons)
    return bool(one and other) and one.isdisjoint(other)
