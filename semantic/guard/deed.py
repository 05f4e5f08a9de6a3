"""How to do it: to wash what is painted is not to paint what is washed."""

from __future__ import annotations

from typing import Final

from semantic.reading import Reading
from semantic.stems import base

_VERBS: Final = frozenset(("found", "ground", "saw", "bore", "wound", "bound", "lay", "fell"))
"""Verbs that are the past of others."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether, of two English questions of how, what is done in one is what has been done in the
    other, and the other way round; or one is the past of the other."""
    if not asked.language == stored.language == "en":
        return False
    if not asked.question == stored.question == "how" or asked.body[:1] == stored.body[:1]:
        return False
    if not _VERBS.isdisjoint(asked.body[:1] + stored.body[:1]):
        return True
    if (
        not (asked.body and stored.body)
        or asked.body[0] in stored.body
        or stored.body[0] in asked.body
    ):
        return False  # said elsewhere, in the same form
    one, other = [base(word) for word in asked.body], [base(word) for word in stored.body]
    return one[0] != other[0] and sorted(one) == sorted(other)
