"""Words that speak of a part, or of nothing else: half of it, only they, all of them."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from semantic.reading import Reading
from semantic.wordlist import listed

_ONLY: Final = frozenset(listed("only solely exclusively half"))
"""Of two questions with and without one of these, each asks something else."""
_AMOUNTS: Final = {
    word: place
    for place, words in enumerate(
        ("all every each both whole entire everyone everybody", "some several", "most", "either",
         "few little")
    )
    for word in words.split()
}  # fmt: skip
_STATING: Final = frozenset(("is", "there", "did", "will"))
"""Asked whether it is so, `any` is some; asked whether it may be, `any` is each."""
_FINDING: Final = frozenset(("", "what", "who", "count"))
"""Types that `any` of what is looked for is enough for."""
_TESTS: Final = frozenset(("if", "whether"))
_SCARCE: Final = frozenset(("few", "little"))
"""Of which, with an article, there are some."""
_MANY: Final = _AMOUNTS["few"] + 1
_COUNTED: Final = frozenset(("how", "as", "so", "too"))
"""Words that take the sense of a great number from `many`."""
_HAN_ONLY: Final = re.compile(
    r"仅|唯独|只(?![要是好不])(?<![一两几多少每这那\d]只)|(?<![点大过多])半(?![夜岛导径球身])"
)
_HAN_AMOUNT: Final = re.compile(
    "(所有|全部|全体|一切|每个)|(有些|某些|部分(?!别)|一些)|(大部分|大多数|多数)|(任一|一方|其中一)"
)


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether only one is of a part alone, or they are of two amounts of the same."""
    if _parts(asked) != _parts(stored):
        return True
    if _not_all(asked) != _not_all(stored):
        return True
    one, other = _amounts(asked), _amounts(stored)
    return bool(one and other) and one.isdisjoint(other)


def _not_all(reading: Reading) -> bool:
    """Whether it says of an English whole that not all of it is so."""
    return any(
        before == "not" and _AMOUNTS.get(word) == _AMOUNTS["all"]
        for before, word in pairwise(reading.words)
    )


def _parts(reading: Reading) -> int:
    """How many words narrow a question down; what is too much, is so for something."""
    if reading.language == "zh":
        return len(_HAN_ONLY.findall(reading.text))
    return sum(word in _ONLY for word in reading.words) + ("too" in reading.words[:-1])


def _amounts(reading: Reading) -> set[int]:
    if reading.language == "zh":
        return {found.lastindex or 0 for found in _HAN_AMOUNT.finditer(reading.text)}
    words = reading.words
    found = {_AMOUNTS[word] for word in words if word in _AMOUNTS}
    if "any" in words and _some(reading):
        found.add(_AMOUNTS["some"])
    for before, word in pairwise(words):
        if word in _SCARCE and before == "a":
            found.discard(_AMOUNTS[word])
            found.add(_AMOUNTS["some"])
        if word == "many" and before not in _COUNTED:
            found.add(_MANY)
    return found


def _some(reading: Reading) -> bool:
    """Whether, in an English question, `any` is some, not each."""
    if reading.question == "whether":
        return reading.modal in _STATING
    return reading.question in _FINDING or not _TESTS.isdisjoint(reading.words)
