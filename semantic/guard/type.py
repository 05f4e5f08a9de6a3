"""Questions of two types, though most of their words are equal."""

from __future__ import annotations

from typing import Final

from semantic.reading import Reading

_CLOSE: Final = (
    {"how", "where"},
    {"how", "todo"},
    {"when", "long"},
    {"price", "much"},
    {"price", "count"},
)
"""Types that one answer may do for."""
_NUMBER: Final = frozenset(("count", "number", "amount", "total", "quantity", "population"))
_HOW: Final = frozenset(("how", "todo"))
_HARD: Final = frozenset(("why", "when", "long", "often", "where", "who", "fix"))
"""Types that `what` does not stand for either; English often asks how, and measures, by it."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether each has a type, and they are not one."""
    types = {asked.question, stored.question}
    if len(types) == 1 or "" in types or types in _CLOSE:
        return False
    if types == {"how", "manner"} and (_passive(asked) or _passive(stored)):
        return False
    if asked.language == "zh" or "what" not in types or not _HARD.isdisjoint(types):
        return True
    what, other = (asked, stored) if asked.question == "what" else (stored, asked)
    if other.question == "count":
        return _NUMBER.isdisjoint(what.content)
    if other.question == "whether":
        return other.modal != "there"
    return other.question in _HOW and "need" in what.words


def _passive(reading: Reading) -> bool:
    """Whether it asks how a thing is made, which is how one makes it."""
    return reading.question == "manner" and reading.words[1:2] in (("is",), ("are",))
