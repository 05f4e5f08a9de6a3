"""English words without their endings, and as one of those that ask the same."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from semantic.irregular import VERB
from semantic.spelling import spelt
from semantic.synonyms import SYNONYMS
from semantic.wordlist import listed
from semantic.words import NOUN_OF

_IRREGULAR: Final = {
    "children": "child", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth",
    "mice": "mouse", "wives": "wife", "knives": "knife", "lives": "life",
    "news": "news", "glasses": "glasses", "customs": "customs", "goods": "goods",
    "shorts": "shorts", "premises": "premises", "clothes": "clothes",
}  # fmt: skip
"""Also what is another thing by its s."""

_VOWELS: Final = re.compile("[aeiouy]")
_SHORT: Final = 5
_ENDED: Final = re.compile(r"(..+)(?:ing|ed)")
_DOUBLED: Final = re.compile(r".*[aeiouy]([bdgmnprtvkl])\1")
_SILENT: Final = re.compile(
    r".*(?:[vuz]|[^e]c|[^aeiou]s|[aeiou][sz]|[dr]g|ath|[^aeiou][lx]|ang|eng|[^aeiouw]ag|eag)"
    r"|(?:de|re|un|dis|out|over|mis|pre|up|down)?[^aeiou]*[aiouy][^aeiouwxy]"
    r"|.*[^aeiouy][aiou][bdkp]"
    r"|.*[^aeiou](?:at|ar|ir|ur|in|il|ut|ot|et|um|am|un|ag)|.*(?:reat|quir|quot|pon|com)"
    r"|.*[^aeiou]it"
)
"""What lost its e before an ending: no English word ends so."""
_PLAIN: Final = frozenset(
    listed(
        "access add assess audit benefit bias bless boss budget bus chat combat commit credit "
        "cross deposit develop discuss dress drop edit egg err exit express focus format gas "
        "guess hang "
        "inherit install interpret kiss limit market miss pass permit pivot plan possess press "
        "process profit program put shut stop stress submit target toss treat visit"
    )
)
"""Verbs that look as if they had."""


@lru_cache(maxsize=16384)
def base(word: str) -> str:
    """A verb without its ing or ed; a word without either as it is."""
    if word in VERB:
        return VERB[word]
    ended = _ENDED.fullmatch(word)
    if ended is None or not _VOWELS.search(ended[1]):
        return word
    root = ended[1]
    if root in _PLAIN or VERB.get(root) == root:
        return root
    if root[:-1] in _PLAIN and root[-1] == root[-2]:
        return root[:-1]
    doubled = _DOUBLED.fullmatch(root)
    if doubled:
        return root[:-1] if doubled[1] != "l" or len(root) > _SHORT else root
    return f"{root}e" if _SILENT.fullmatch(root) else root


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A noun or verb without its s."""
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    if word.endswith(("shes", "ches", "xes", "sses", "zes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=16384)
def folded(word: str) -> str:
    """A word as one of those that ask the same."""
    plain = stem(word)
    if plain.endswith("est") and plain[:-3] in SYNONYMS:
        return f"{SYNONYMS[plain[:-3]]}est"
    return SYNONYMS.get(plain) or spelt(plain)


def topic(word: str) -> str:
    """A word as its topic: a deed by its verb."""
    plain = folded(word)
    return NOUN_OF.get(plain, plain)
