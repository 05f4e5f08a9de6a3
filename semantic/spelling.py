"""British spelling and American, as one of the two."""

from __future__ import annotations

import re
from typing import Final

_RULES: Final = (
    (r"(?<=..)our(?=$|able|ite|al|ing|ed|ful|less|hood)(?<!tour)(?<!hour)(?<!flour)", "or"),
    (r"(?<=...)([iy])s(?=(?:e|ed|er|ing|ation)$)", r"\1z"),
    (r"(?<=[aeiou][^aeiou]el)l(?=ed$|ing$|er$)", ""),
    (r"(?<=..)([tb])re$", r"\1er"),
    (r"(?<=..)(?<!prol)ogue$", "og"),
    (r"(?<=[nf]en)ce$", "se"),
    (r"(?<=sul)ph(?=at|ur|id)", "f"),
    (r"(?<!^d)a(?=em)|(?<=p)a(?=ed)|(?<=^f)o(?=et)|^o(?=es)|(?<=rrh)o(?=e)|(?<=n)a(?=ec)", ""),
)
_SPELLINGS: Final = tuple((re.compile(british), american) for british, american in _RULES)
_SHORT: Final = 5
"""Letters of the shortest word that is spelt in two ways by a rule."""


def spelt(word: str) -> str:
    """A word as it is spelt in America. Words that are spelt so nowhere come out as none; but two
    that are two in both spellings stay two."""
    if len(word) < _SHORT:
        return word
    for british, american in _SPELLINGS:
        word = british.sub(american, word)
    return word
