"""What was, what is being done and what will be, told by the verb itself."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from semantic.irregular import VERB
from semantic.matching import akin
from semantic.reading import Reading
from semantic.stems import base
from semantic.wordlist import listed

_WHO: Final = frozenset(("who", "what"))
_ASKER: Final = frozenset(("i", "we"))
_FUTURE: Final = frozenset(("will", "shall"))
_PERFECT: Final = frozenset(("has", "have", "had"))
_BEING: Final = frozenset(("is", "are", "am"))
_BE: Final = frozenset(listed("is are am was were be been being by to for"))
_UNDONE: Final = re.compile(
    r"\b(?:should|could|would|must|might|ought to)(?: not)?(?: \w+){0,3}? have (?:been|\w+ed|had"
    r"|gone|done|taken|told|given|got|made|paid|left|sent|said|bought|kept|known|seen|written)\b"
)
"""What should have been done is no longer to be done."""


_NOW: Final = frozenset(("currently", "now", "presently"))
_ALWAYS: Final = frozenset(("usually", "generally", "normally", "typically", "always", "ever"))
_BEFORE_NOUN: Final = frozenset(("a", "an", "the", "my", "your", "our"))


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether two English questions are of two times."""
    if not asked.language == stored.language == "en":
        return False
    one, other = asked.words, stored.words
    if (_UNDONE.search(" ".join(one)) is None) != (_UNDONE.search(" ".join(other)) is None):
        return True
    return any(
        differs(*pair)
        for differs in (_over, _ahead, _under_way, _at_times, _done)
        for pair in ((one, other), (other, one))
    )


def _over(past: tuple[str, ...], later: tuple[str, ...]) -> bool:
    """Whether who did it, and who does or will do it, is asked."""
    if past[:1] != later[:1] or _WHO.isdisjoint(past[:1]) or min(len(past), len(later)) < 3:
        return False
    deed, verb = past[1], later[1]
    if base(deed) == deed or not (deed.endswith("ed") or deed in VERB):
        return False
    if verb in _FUTURE:
        return any(akin(deed, word) for word in later[2:])
    return verb.endswith("s") and verb not in VERB and akin(deed, verb)


def _ahead(past: tuple[str, ...], later: tuple[str, ...]) -> bool:
    """Whether the asker says that it has happened to them, and that it will."""
    ahead = [
        (who, deed)
        for who, will, deed in zip(later, later[1:], later[2:], strict=False)
        if who in _ASKER and will in _FUTURE
    ]
    behind = [word for word in past if word not in _PERFECT]
    return any(
        who == one and base(deed) != deed and akin(deed, done)
        for who, deed in pairwise(behind)
        for one, done in ahead
    )


def _under_way(done: tuple[str, ...], doing: tuple[str, ...]) -> bool:
    """Whether it is asked if a thing has been done, and if it is being done."""
    return (
        not _PERFECT.isdisjoint(done[:1])
        and not _BEING.isdisjoint(doing[:1])
        and any(word.endswith("ing") and word not in done for word in doing)
    )


def _at_times(now: tuple[str, ...], always: tuple[str, ...]) -> bool:
    """Whether one asks how it is, and the other how it is as a rule."""
    return (
        not _NOW.isdisjoint(now)
        and not _ALWAYS.isdisjoint(always)
        and _NOW.isdisjoint(always)
        and _ALWAYS.isdisjoint(now)
    )


def _done(done: tuple[str, ...], doing: tuple[str, ...]) -> bool:
    """Whether something is in the state of one who has done it in one, and does it in the other:
    developed and developing countries, a used car and the use of a car."""
    for place, word in enumerate(done[1:-1], 1):
        root = base(word)
        if (
            root in (word, "be")
            or word.endswith("ing")
            or word in doing
            or not done[place + 1].isalpha()
        ):
            continue
        if done[place - 1] in _BE or done[place + 1] in _BE:
            continue
        for there, other in enumerate(doing[:-1]):
            if other.endswith("ing") and base(other) == root and doing[there - 1] not in _BE:
                return there > 0 and doing[there + 1] == done[place + 1]
            if other == root and done[place - 1] in _BEFORE_NOUN:
                return True
    return False
