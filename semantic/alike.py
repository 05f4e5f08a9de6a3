"""Questions of the same words, whatever their order, form and spelling."""

from __future__ import annotations

from typing import Final

from semantic.matching import akin
from semantic.profiles import threshold_alike
from semantic.reading import Reading
from semantic.settings import Settings

_CLOSE: Final = ({"how", "where"}, {"when", "long"}, {"", "what"}, {"", "count"})
"""Types that one answer may do for."""
_BEING: Final = frozenset(("", "is", "there"))
"""Modals that only state: `is parking free` and `is there free parking`."""

_DOING: Final = frozenset(("how", "todo", "where"))
"""Types whose body begins with what is done."""


def least(settings: Settings, language: str) -> float:
    """The similarity from which on the same words ask the same; `language`: en, zh, other."""
    measured = threshold_alike(settings.profile, settings.embedder, language)
    return max(measured, settings.min_similarity)


def alike(asked: Reading, stored: Reading) -> bool:
    """Whether each content word of one has its counterpart in the other, at most one run of words
    stands elsewhere, and the type is the same."""
    if asked.question != stored.question and {asked.question, stored.question} not in _CLOSE:
        return False
    modals = {asked.modal, stored.modal}
    if (len(modals) > 1 and not modals <= _BEING) or asked.past != stored.past or not asked.content:
        return False
    if asked.question in ("", "whether") and asked.persons != stored.persons:
        return False
    if _deeds(asked, stored):
        return False
    return len(asked.content) == len(stored.content) and _moved(asked.content, stored.content)


def _deeds(asked: Reading, stored: Reading) -> bool:
    """Whether two English questions of how begin with two deeds: what is left out of the content
    makes all the difference there."""
    if not asked.language == stored.language == "en":
        return False
    if not {asked.question, stored.question} <= _DOING or not (asked.body and stored.body):
        return False
    return not _same(asked.body[0], stored.body[0])


def _moved(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether other is one with at most one run of words moved."""
    start, end = 0, len(one)
    while start < end and _same(one[start], other[start]):
        start += 1
    while end > start and _same(one[end - 1], other[end - 1]):
        end -= 1
    middle, theirs = one[start:end], other[start:end]
    return any(
        all(map(_same, middle[place:] + middle[:place], theirs))
        for place in range(max(1, len(middle)))
    )


def _same(one: str, other: str) -> bool:
    return one == other or akin(one, other)
