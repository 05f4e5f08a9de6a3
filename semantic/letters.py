"""The letters that texts are read in: of several that say the same, one."""

from __future__ import annotations

import unicodedata
from typing import Final

from semantic.traditional import LETTERS

_QUOTES: Final = str.maketrans("’‘ʼ＇", "''''")


def compatible(text: str) -> str:
    """A text with its compatible forms folded (NFKC), one apostrophe and single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).split())


def simplified(text: str) -> str:
    """A text in simplified Chinese letters."""
    return text.translate(LETTERS).replace("甚么", "什么")


def plain(word: str) -> str:
    """A word in lower case too, and in simplified letters."""
    return simplified(compatible(word).lower())
