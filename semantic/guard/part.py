"""Words that speak of a part, or of nothing else: half of it, only they, all of them."""

from __future__ import annotations

import re
from typing import Final

from semantic.reading import Reading
from semantic.wordlist import listed

_ONLY: Final = frozenset(listed("only solely exclusively half"))
"""Of two questions with and without one of these, each asks something else."""
_AMOUNTS: Final = {
    word: place
    for place, words in enumerate(
        ("all every each both whole entire everyone everybody", "some several few", "most",
         "either")
    )
    for word in words.split()
}  # fmt: skip
_STATING: Final = frozenset(("is", "there", "did", "will"))
"""Asked whether it is so, `any` is some; asked whether it may be, `any` is each."""
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
    one, other = _amounts(asked), _amounts(stored)
    return bool(one and other) and one.isdisjoint(other)


def _parts(reading: Reading) -> int:
    """How many words narrow a question down."""
    if reading.language == "zh":
        return len(_HAN_ONLY.findall(reading.text))
    return sum(word in _ONLY for word in reading.words)


def _amounts(reading: Reading) -> set[int]:
    if reading.language == "zh":
        return {found.lastindex or 0 for found in _HAN_AMOUNT.finditer(reading.text)}
    found = {_AMOUNTS[word] for word in reading.words if word in _AMOUNTS}
    if "any" in reading.words and reading.question == "whether" and reading.modal in _STATING:
        found.add(_AMOUNTS["some"])
    return found
