"""Questions of two types: why and when, where and how much."""

from __future__ import annotations

from typing import Final

from semantic.reading import Reading

_FAMILIES: Final = {
    "why": "why",
    "when": "time",
    "long": "time",
    "often": "often",
    "where": "where",
    "who": "who",
    "price": "price",
    "much": "price",
    "count": "count",
    "how": "how",
    "todo": "how",
    "fix": "how",
}
"""Types that exclude each other; whether, what and measures go with any."""
_CLOSE: Final = frozenset({frozenset({"how", "where"}), frozenset({"price", "count"})})
"""Where to apply for it and how to are one answer to those who ask."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether the types exclude each other."""
    if asked.question == stored.question:
        return False
    one, other = _FAMILIES.get(asked.question), _FAMILIES.get(stored.question)
    if one is None or other is None:
        return bool(asked.question and stored.question) and asked.content == stored.content
    if one == other:
        return False
    return frozenset((one, other)) not in _CLOSE
