"""What one may and what one must, what was and what will be: the same words in another mood."""

from __future__ import annotations

import re
from typing import Final

from semantic.reading import Reading

_FORCE: Final = {
    "can": "may",
    "could": "may",
    "may": "may",
    "must": "must",
    "need": "must",
    "should": "must",
    "shall": "must",
}
"""Who should do it is told what who must is told: only leave and duty exclude each other."""
_WILL: Final = frozenset(("will", "would"))
_WAS: Final = frozenset(("did", "was", "were", "had"))
_HAS: Final = frozenset(("has", "have"))
_PRESENT: Final = _HAS | frozenset(("do", "does", "is", "are", "am", "can", "will"))
_HEAD: Final = 4
"""Words within which an English question says its tense: `how many days did`."""
_AHEAD: Final = re.compile(
    "将要|即将|将(?![军来])|(?<![学社事机开协约体都误理领])会(?![员议计客场长])"
    r"|(?:就要|快要|快|(?<![需主重想不只])要)\w{1,2}了(?=[吗么没,,。?!]|$|怎|如|该|会)"
)
"""Chinese verbs have no tense; these words say that it is yet to come, or likely."""
_DONE: Final = re.compile(
    "已经|曾经|(?<![为除罢])了(?=[吗么没,,。?!]|$|什么|谁|哪|多少|几|怎|如何|该|会)"
    "|(?<=[^通超经不])过(?=[吗么没,,。?!]|$)"
)

_BOUNDED: Final = frozenset(("who", "when", "long", "often", "count", "age"))
"""Types of Chinese questions that ask for the bound of what one may, or must."""
_HAN_MAY: Final = re.compile(
    "可以|能够|允许|(?<![功智性可技节才电热核风阳动势潜职体机产全])能(?![力量源耗效])"
)
_HAN_MUST: Final = re.compile(
    "(?:必须|需要?|应该|该|(?<![主重想只不概简摘纪])要)(?![求点么是不紧素闻费多几花]|.*才)"
)
"""What takes so long until it is done, only takes it: 要煮几分钟才熟."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one asks for leave and the other for a duty, or one of what was and the other not."""
    forces = _FORCE.get(_first(asked)), _FORCE.get(_first(stored))
    if None not in forces and forces[0] != forces[1]:
        return True
    if asked.language == stored.language == "en" and asked.question == stored.question == "whether":
        return _wills(asked, stored) or _later(asked, stored) or _later(stored, asked)
    if asked.language == stored.language == "zh":
        if (_leave(asked) and _duty(stored)) or (_duty(asked) and _leave(stored)):
            return True
        return _came(asked.text, stored.text) or _came(stored.text, asked.text)
    return _later(asked, stored) or _later(stored, asked)


def _leave(reading: Reading) -> bool:
    """Whether a Chinese question asks who may, or how much one may at most."""
    return reading.question in _BOUNDED and _HAN_MAY.search(reading.text) is not None


def _duty(reading: Reading) -> bool:
    """Whether a Chinese question asks who must, or how much one must at least."""
    return reading.question in _BOUNDED and _HAN_MUST.search(reading.text) is not None


def _first(reading: Reading) -> str:
    """The modal that governs the question."""
    return reading.modal.split()[0] if reading.modal else ""


def _wills(asked: Reading, stored: Reading) -> bool:
    """Whether of only one it is asked if it will be so, and of the other if it may or must; or, of
    no one who speaks, if it is and if it should be."""
    one, other = _first(asked), _first(stored)
    if (one in _WILL) != (other in _WILL):
        return one in _FORCE or other in _FORCE
    if asked.persons or stored.persons:
        return False
    return {one, other} in ({"is", "should"}, {"is", "must"})


def _later(asked: Reading, stored: Reading) -> bool:
    """Whether, of two English questions, only the other is of the past. What is told beside the
    question does not count, and of one without an auxiliary (`who wrote it`) nothing is known."""
    head, other = frozenset(asked.words[:_HEAD]), frozenset(stored.words[:_HEAD])
    if asked.question == "why" or not _WAS.isdisjoint(head) or _PRESENT.isdisjoint(head):
        return False
    return not _WAS.isdisjoint(other) or ("will" in head and not _HAS.isdisjoint(other))


def _came(one: str, other: str) -> bool:
    """Whether, of two Chinese texts, one asks what is yet to come and the other what has."""
    return (
        _AHEAD.search(one) is not None
        and _AHEAD.search(other) is None
        and _DONE.search(other) is not None
        and _DONE.search(_AHEAD.sub("", one)) is None
    )
