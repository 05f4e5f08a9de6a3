"""British spelling and American, as one of the two."""

from __future__ import annotations

from typing import Final

from semantic.rewriting import rewritten, rules

_RULES: Final = rules(
    (
        (r"(?<=..)our(?=$|able|ite|al|ing|ed|ful|less|hood)(?<!tour)(?<!hour)(?<!flour)", "or"),
        (r"(?<=...)([iy])s(?=(?:e|ed|er|ing|ation)$)", r"\1z"),
        (r"(?<=[aeiou][^aeiou]el)l(?=ed$|ing$|er$)", ""),
        (r"(?<=..)([tb])re$", r"\1er"),
        (r"(?<=..)(?<!prol)ogue$", "og"),
        (r"(?<=[nf]en)ce$", "se"),
        (r"(?<=sul)ph(?=at|ur|id)", "f"),
        (r"(?<!^d)a(?=em)|(?<=p)a(?=ed)|(?<=^f)o(?=et)|^o(?=es)|(?<=rrh)o(?=e)|(?<=n)a(?=ec)", ""),
    )
)
_SHORT: Final = 5
"""Letters of the shortest word that is spelt in two ways by a rule."""


def spelt(word: str) -> str:
    """A word as it is spelt in America. Words that are spelt so nowhere come out as none; but two
    that are two in both spellings stay two."""
    return word if len(word) < _SHORT else rewritten(word, _RULES)
