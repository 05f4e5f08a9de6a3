"""Questions of the same words, whatever their order, form and spelling."""

from __future__ import annotations

from typing import Final

from semantic.canonical import defines
from semantic.han_light import weighty
from semantic.matching import moved, same
from semantic.near import near
from semantic.profiles import threshold_alike
from semantic.reading import Reading
from semantic.settings import Settings

_CLOSE: Final = ({"how", "where"}, {"when", "long"}, {"", "what"}, {"", "count"})
"""Types that one answer may do for."""
_BEING: Final = frozenset(("", "is", "there"))
"""Modals that only state: `is parking free` and `is there free parking`."""

_DEED: Final = 2
"""Where the deed stands in `do you heat`."""
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
    if (
        asked.question in ("", "whether")
        and asked.persons != stored.persons
        and not (_passive(asked, stored) or _passive(stored, asked))
    ):
        return False
    if _deeds(asked, stored) or (len(asked.content) < 2 and defines(asked) != defines(stored)):
        return False
    return moved(asked.content, stored.content, _meet) or _lightly(asked, stored)


def _lightly(asked: Reading, stored: Reading) -> bool:
    """Whether all that one Chinese question has more says nothing there."""
    if not asked.language == stored.language == "zh":
        return False
    mine = weighty(asked)
    return bool(mine) and moved(mine, weighty(stored), _meet)


def _deeds(asked: Reading, stored: Reading) -> bool:
    """Whether two English questions of how begin with two deeds: what is left out of the content
    makes all the difference there."""
    if not asked.language == stored.language == "en":
        return False
    if not {asked.question, stored.question} <= _DOING or not (asked.body and stored.body):
        return False
    return not _meet(asked.body[0], stored.body[0])


def _passive(done: Reading, doing: Reading) -> bool:
    """Whether it is asked if a thing is done, and if you, spoken to, do it: `is the pool heated`
    and `do you heat the pool`."""
    if done.persons or doing.persons != ("you",) or done.words[:1] not in (("is",), ("are",)):
        return False
    last = done.words[-1]
    return (
        doing.words[:2] == ("do", "you")
        and last not in doing.words
        and same(last, doing.words[2] if len(doing.words) > _DEED else "")
    )


def _meet(one: str, other: str) -> bool:
    return same(one, other) or near(one, other)
