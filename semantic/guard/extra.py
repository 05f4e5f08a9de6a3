"""A word more: a warranty and an extended one, a carrot cake and its frosting."""

from __future__ import annotations

from collections import Counter
from typing import Final

from semantic.han_light import light
from semantic.matching import parting, unmatched
from semantic.near import near
from semantic.reading import Reading
from semantic.wordlist import listed
from semantic.words import EMPTY

_FEW: Final = 2
"""Content words among which one more is a narrower question, wherever it stands."""
_PLACES: Final = frozenset(
    listed("under over by from without through during within up off out per")
)
_IDLE: Final = (_PLACES - {"per", "during"}) | frozenset(
    listed(
        "get need require use using possible able cause happen ever myself properly correctly "
        "simply total altogether want try take have kind type sort mean name call time date"
    )
)
"""Words that one of two longer questions may lack: what they say is said by others there."""
_SHOWN: Final = frozenset(listed("bring provide submit present show supply"))
"""Deeds that what is needed is needed for: which papers one must bring."""
_LOOSE: Final = EMPTY | _PLACES
"""Words that make no phrase with the one beside them."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one is the other with a word more, and asks of something else by that."""
    if asked.language == stored.language == "zh":
        return _added(asked, stored)
    if not asked.language == stored.language == "en":
        return False
    if _grown(asked.body, stored.body) or _grown(stored.body, asked.body):
        return True
    mine, theirs = unmatched(asked.content, stored.content)
    if bool(mine) == bool(theirs):
        return False
    few = min(_count(asked), _count(stored)) <= _FEW
    idle = _IDLE | _SHOWN if _needs(asked) and _needs(stored) else _IDLE
    return few or not idle.issuperset(mine + theirs)


def _needs(reading: Reading) -> bool:
    return reading.question == "what" and reading.modal in ("must", "need")


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


def _added(asked: Reading, stored: Reading) -> bool:
    """Whether one of two Chinese questions has more letters, and not only such as say nothing:
    one behind a noun makes another noun, one in front narrows the thing or the deed."""
    if all(unmatched(asked.content, stored.content)):
        return False  # one word for another, of which others judge
    mine, theirs = _left(asked, stored), _left(stored, asked)
    for word in tuple(mine):
        for counterpart in theirs:
            if near(word, counterpart):
                mine.remove(word)
                theirs.remove(counterpart)
                break
    return not (light(mine, asked.text) and light(theirs, stored.text))


def _left(one: Reading, other: Reading) -> list[str]:
    """The words of one that the other has not as often."""
    return list((Counter(one.content) - Counter(other.content)).elements())
