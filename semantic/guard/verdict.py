"""Which guard, if any, refuses a pair."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from semantic.guard import (
    actor,
    cause,
    clause,
    code,
    condition,
    deed,
    demand,
    extra,
    kind,
    language,
    length,
    mood,
    name,
    narrow,
    negation,
    number,
    opposite,
    order,
    part,
    person,
    preposition,
    question,
    relation,
    slot,
    swap,
    tense,
    term,
    type,
    variant,
    voice,
)
from semantic.reading import Reading
from semantic.settings import Settings
from semantic.wordlist import listed

Guard: TypeAlias = Callable[[Reading, Reading], bool]

BASE: Final[dict[str, Guard]] = {
    "number": number.differ,
    "negation": negation.differ,
    "question": question.differ,
    "mood": mood.differ,
    "part": part.differ,
    "term": term.differ,
    "length": length.differ,
    "name": name.differ,
    "variant": variant.differ,
    "code": code.differ,
    "kind": kind.differ,
    "opposite": opposite.differ,
    "order": order.differ,
    "deed": deed.differ,
    "relation": relation.differ,
    "condition": condition.differ,
    "clause": clause.differ,
    "person": person.differ,
    "voice": voice.differ,
    "tense": tense.differ,
    "cause": cause.differ,
    "actor": actor.differ,
    "demand": demand.differ,
    "preposition": preposition.differ,
}
"""Cheap ones first."""
BALANCED: Final[dict[str, Guard]] = {
    "narrow": narrow.differ,
    "swap": swap.differ,
    "extra": extra.differ,
}
"""What a single word exchanged or added may do, whichever word it is."""
STRICT: Final[dict[str, Guard]] = {**BALANCED, "type": type.differ, "slot": slot.differ}
"""And several of them, where most words are equal."""
_OPPOSED: Final = tuple(
    BASE[name]
    for name in listed(
        "number negation mood part kind opposite relation voice condition clause person"
    )
)
"""Those that no way of asking the same, in any order, makes refuse."""
_PROFILES: Final = {"strict": STRICT, "balanced": BALANCED}


def opposed(asked: Reading, stored: Reading) -> bool:
    """Whether questions with one canonical form say opposite things all the same."""
    return any(differ(asked, stored) for differ in _OPPOSED)


def refusal(asked: Reading, stored: Reading, settings: Settings) -> str:
    """The name of the first guard that refuses; empty: the stored answer may be served."""
    if not settings.cross_language and language.differ(asked, stored):
        return "language"
    for found, differ in BASE.items():
        if differ(asked, stored):
            return found
    more = _PROFILES.get(settings.profile, {})
    return next((found for found, differ in more.items() if differ(asked, stored)), "")
