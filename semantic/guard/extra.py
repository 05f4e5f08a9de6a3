"""A word more: a warranty and an extended one, a carrot cake and its frosting."""

from __future__ import annotations

import re
from typing import Final

from semantic.matching import parting, unmatched
from semantic.reading import Reading
from semantic.wordlist import listed
from semantic.words import EMPTY

_FEW: Final = 2
"""Content words among which one more is a narrower question, wherever it stands."""
_PLACES: Final = frozenset(
    listed("under over by from without through during within up off out per")
)
_LOOSE: Final = EMPTY | _PLACES
"""Words that make no phrase with the one beside them."""
_HAN_FEW: Final = 3
"""Letters of a question with no more than a word or two."""
_HAN_WORD: Final = 2
"""Letters of most Chinese nouns; a single one more is often no more than a particle."""
_HAN_HEADS: Final = frozenset(
    "店器机盖套盒架卡厂员师费率税证车站厅馆室场剂膜板柜桌椅布纸笔刷刀袋箱壳座垫罩油液粉汁汤酱皮"
)
"""Letters that make another noun of the one before."""
_HAN_ENDED: Final = re.compile("$|[,。?!;吗呢]|怎|如何|多|几|什么|哪|为|的|在|要|需|是|有|会|能|可")
"""What follows a Chinese noun at its end."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one is the other with a word more, and asks of something else by that."""
    if asked.language == stored.language == "zh":
        return _headed(asked, stored) or _headed(stored, asked)
    if not asked.language == stored.language == "en":
        return False
    if _grown(asked.body, stored.body) or _grown(stored.body, asked.body):
        return True
    if min(_count(asked), _count(stored)) > _FEW:
        return False
    mine, theirs = unmatched(asked.content, stored.content)
    return bool(mine) != bool(theirs)


def _count(reading: Reading) -> int:
    return sum(word not in _PLACES for word in reading.content)


def _grown(long: tuple[str, ...], short: tuple[str, ...]) -> bool:
    """Whether an English body has one word more than another, in one phrase with a word beside
    it: in front it narrows the thing, behind it makes another of it."""
    if len(long) != len(short) + 1:
        return False
    place = parting(long, short)
    if long[place + 1 :] != short[place:] or long[place] in _LOOSE:
        return False
    before, after = long[place - 1 : place], long[place + 1 : place + 2]
    if before and before[0] not in _LOOSE:
        return True
    return bool(after) and after[0] not in _LOOSE and before not in (("you",), ("i",), ("we",))


def _headed(long: Reading, short: Reading) -> bool:
    """Whether a Chinese text has a noun more, directly behind one of the other's."""
    more = len(long.body) - len(short.body)
    if more < 1:
        return False
    place = parting(long.body, short.body)
    if long.body[place + more :] != short.body[place:]:
        return False
    word = "".join(long.body[place : place + more])
    if len("".join(short.body)) <= _HAN_FEW and len(word) >= _HAN_WORD:
        return True
    if place == 0:
        return False
    if not word.isalpha() or (len(word) < _HAN_WORD and word not in _HAN_HEADS):
        return False
    found = long.text.find(word)
    return found >= 0 and _HAN_ENDED.match(long.text, found + len(word)) is not None
