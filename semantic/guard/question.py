"""Questions of two types: why and when, where and how much."""

from __future__ import annotations

import re
from typing import Final

from semantic.reading import Reading

_FAMILIES: Final = {
    "why": "why",
    "when": "time",
    "long": "time",
    "often": "often",
    "where": "where",
    "who": "who",
    "age": "age",
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
_UNTIL: Final = frozenset(("until", "till", "before", "take", "soon", "quickly"))
"""Words with which how long it takes is when it comes."""
_WRITES: Final = frozenset(
    ("write", "draft", "compose", "translate", "summarize", "summarise", "generate", "design",
     "rewrite", "proofread", "paraphrase", "suggest", "recommend", "describe")
)  # fmt: skip
_ANYWHERE: Final = frozenset(
    ("find", "see", "view", "check", "change", "update", "edit", "set", "turnon", "turnoff",
     "enable", "disable", "download", "reset", "apply", "register", "login", "cancel", "enter",
     "upload", "sign", "report", "complain", "signup", "pay", "claim")
)  # fmt: skip
"""Deeds of which where one does it tells how."""
_INNER: Final = re.compile(
    r"\b(?:know|tell|decide|choose|learn|ask|explain|check|see|say|remember|understand|determine"
    r"|describe|show|predict|teach)(?: (?:me|us|him|her|them|someone|people))?"
    r" (how (?:much|many|long|often|far|old)|how|why|where|who|what|which|when|if|whether)\b"
)
_ONE: Final = {"when": "if", "whether": "if", "which": "what"}
_TIMES: Final = {"when", "long"}
_ENDS: Final = {"state", "why"}
"""What comes of it, and what it comes of."""
_CLOCK: Final = re.compile(r"[几哪]点|几号|哪一?天|\bwhat (?:time|date|day)\b")
"""Asks for a time by the clock, or a day: for how long is no answer to it."""
_MEASURE: Final = re.compile(
    "(?:几|多少)([次种层遍趟倍页度米斤克升元块盒瓶杯碗包袋箱]|公斤|千克|厘米)"
)
"""What a Chinese question counts, where it is not the noun behind."""
_ANY: Final = {"元": "块", "千克": "公斤"}


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether the types exclude each other."""
    types = {asked.question, stored.question}
    if types == _ENDS or (types == _TIMES and _clocked(asked) != _clocked(stored)):
        return True
    if asked.language == stored.language == "en" and _else(asked, stored):
        return True
    if asked.question == stored.question:
        return asked.language == "zh" and _measures(asked.text) != _measures(stored.text)
    one, other = _FAMILIES.get(asked.question), _FAMILIES.get(stored.question)
    if one is None or other is None:
        return bool(asked.question and stored.question) and asked.content == stored.content
    if one == other:
        return False
    return frozenset((one, other)) not in _CLOSE


def _else(asked: Reading, stored: Reading) -> bool:
    """Whether two close types of English questions are two all the same: how one does it where
    there is a place for it, how to write a text and the text itself."""
    one, other = _inner(asked), _inner(stored)
    if one and other and one.isdisjoint(other):
        return True
    types = {asked.question, stored.question}
    words = {*asked.words, *stored.words}
    if types == {"how", "where"}:
        return _ANYWHERE.isdisjoint(words)
    if types == _TIMES:
        return _UNTIL.isdisjoint(words)
    told = asked if asked.question == "" else stored
    return types == {"how", ""} and not _WRITES.isdisjoint(told.words[:1])


def _inner(reading: Reading) -> set[str]:
    """What is asked within an English question: how to tell why, or where."""
    return {_ONE.get(word, word) for word in _INNER.findall(" ".join(reading.words))}


def _clocked(reading: Reading) -> bool:
    return _CLOCK.search(reading.text) is not None


def _measures(text: str) -> set[str]:
    return {_ANY.get(unit, unit) for unit in _MEASURE.findall(text)}
