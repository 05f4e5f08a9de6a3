"""On what it hangs: if, only if, even if, as long as, and unless."""

from __future__ import annotations

import re
from typing import Final

from semantic.reading import Reading

_ENGLISH: Final = re.compile(
    r"\b(?:(?P<only>only (?:if|when|once|after)|if and only if)"
    r"|(?P<even>even (?:if|when|though)|(?:al)?though|despite|in spite of|regardless(?= of| if"
    r"| whether)|no matter|whether or not)"
    r"|(?P<unless>unless)"
    r"|(?P<long>(?:as|so) long as|provided|on condition|only on condition)"
    r"|(?P<if>if|when|in case|assuming|supposing))\b"
)
_HAN: Final = re.compile(
    "(?P<only>只有(?=.{1,30}才))"
    "|(?P<even>即使|即便|哪怕|就算|纵使|虽然|虽说|无论|不论|不管)"
    "|(?P<unless>除非)"
    "|(?P<long>只要(?!求))"
    "|(?P<if>如果|要是|假如|假设|若是|倘若|万一|一旦|的话)"
)
_MARKED: Final = frozenset(("only", "even", "unless"))
"""A question without any of them is another one; a mere `if` may be told in other words."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether they hang on their conditions in two ways."""
    if asked.language != stored.language:
        return False
    one, other = _kinds(asked), _kinds(stored)
    if one & _MARKED != other & _MARKED:
        return True
    return bool(one and other) and one.isdisjoint(other)


def _kinds(reading: Reading) -> set[str]:
    if reading.language == "zh":
        return {found.lastgroup or "" for found in _HAN.finditer(reading.text)}
    return {found.lastgroup or "" for found in _ENGLISH.finditer(" ".join(reading.words))}
