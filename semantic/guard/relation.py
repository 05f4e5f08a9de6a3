"""The same thing behind another preposition: to it or from it, before it, during it or after it."""

from __future__ import annotations

import re
from typing import Final

from semantic.reading import Reading
from semantic.wordlist import any_of, listed

_RELATIONS: Final = {
    "to": "to", "into": "to", "onto": "to", "towards": "to", "from": "from",
    "before": "before", "until": "before", "till": "before", "during": "during",
    "while": "during", "when": "during", "throughout": "during", "after": "after", "since": "after",
    "for": "for", "against": "against", "inside": "in", "outside": "outside",
    "under": "under", "below": "under", "over": "over", "above": "over",
    "at": "at", "on": "at", "in": "at", "upon": "at", "within": "at",
    "with": "with", "as": "as", "about": "about", "regarding": "about",
}  # fmt: skip
_APART: Final = (
    {"to", "from"},
    {"before", "during", "after"},
    {"at", "before", "after"},
    {"as", "with", "about", "from"},
    {"as", "for", "about"},
    {"for", "against"},
    {"in", "outside"},
    {"under", "over"},
)
"""Relations that exclude each other."""
_BARE: Final = frozenset(
    listed("a an the my your our his her their its this that any some all i you we they it he she")
)
_FIXED: Final = frozenset(listed("different similar compared due according used have need able"))
"""Words that want their preposition: one is different from it, and to it."""

_HAN_BEFORE: Final = {"从": "from", "到": "to", "往": "to", "向": "to", "至": "to", "给": "to"}
_HAN_AFTER: Final = {
    "之前": "before", "以前": "before", "前": "before",
    "之后": "after", "以后": "after", "后": "after",
    "期间": "during", "过程中": "during", "的时候": "during", "时": "during", "中": "during",
}  # fmt: skip
_HAN: Final = re.compile(
    r"([从往向至]|(?<![迟直收得达不没想找遇感看听受签])到|(?<![供不还交发])给)([a-z0-9+#]+|\w\w)"
)
_NOUNS: Final = "端台面年天期来往果续勤者代间刻候长区段差常效速尚光文国学心药等介"
"""Letters with which 前, 后, 时 and 中 make a noun."""
_HAN_POST: Final = re.compile(rf"(\w\w)({any_of(_HAN_AFTER)})(?![{_NOUNS}])")


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether something stands in two relations that exclude each other."""
    if asked.language == stored.language == "zh":
        one, other = _han(asked.text), _han(stored.text)
    elif asked.language == stored.language == "en":
        one, other = _english(asked.words), _english(stored.words)
    else:
        return False
    return any(_apart(one[thing], other[thing]) for thing in one.keys() & other.keys()) or (
        asked.language == "zh" and (_sooner(one, stored.text) or _sooner(other, asked.text))
    )


def _sooner(said: dict[str, set[str]], other: str) -> bool:
    """Whether what comes before something in one Chinese text comes with it in the other; after
    it and with it are often said for each other."""
    return any(
        relations == {"before"} and re.search(rf"{re.escape(thing)}(?!之?前|以前)", other)
        for thing, relations in said.items()
    )


def _apart(one: set[str], other: set[str]) -> bool:
    """Whether all that is said of a thing here excludes all that is said of it there."""
    return one.isdisjoint(other) and any(
        not one.isdisjoint(apart) and not other.isdisjoint(apart) for apart in _APART
    )


def _english(words: tuple[str, ...]) -> dict[str, set[str]]:
    """Things, and the relations that each stands in; what is asked for, as it stands in front of
    its preposition, has no name."""
    found: dict[str, set[str]] = {}
    for place, word in enumerate(words):
        relation = _RELATIONS.get(word)
        if relation is None or (place and words[place - 1] in _FIXED):
            continue
        thing = next((thing for thing in words[place + 1 :] if thing not in _BARE), "")
        found.setdefault(thing, set()).add(relation)
    return found


def _han(text: str) -> dict[str, set[str]]:
    """Things, by their first two letters or their Latin name, and their relations."""
    found: dict[str, set[str]] = {}
    for before in _HAN.finditer(text):
        found.setdefault(before[2], set()).add(_HAN_BEFORE[before[1]])
    for after in _HAN_POST.finditer(text):
        found.setdefault(after[1], set()).add(_HAN_AFTER[after[2]])
    return found
