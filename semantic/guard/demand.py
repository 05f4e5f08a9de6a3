"""How much is asked for, and in what form: briefly, as a table, with examples, and explain it."""

from __future__ import annotations

import re
from typing import Final

from semantic.reading import Reading
from semantic.wordlist import any_of, listed

_MORE: Final = any_of(
    listed(
        "explain list test comment describe recommend compare show give tell include cite justify "
        "translate summarize summarise say name write provide suggest mention add rank discuss "
        "analyse analyze evaluate draw calculate highlight state"
    )
)
_SHAPES: Final = any_of(
    listed(
        "table list bullet bullets csv json xml yaml markdown html poem rhyme rhymes verse haiku "
        "limerick sonnet song story letter email essay diagram chart graph dialogue script tweet "
        "spreadsheet flowchart timeline"
    )
)
_DEMANDS: Final = re.compile(
    rf"\b(?:(?:and|plus|then)(?: also| then)? (?P<more>{_MORE}|how|when|why|where|what|who|which"
    r"|whether)\b"
    r"|(?P<short>briefly|in brief|in short|concise|concisely|in a nutshell"
    r"|in (?:1|a|a few|a single) (?:short )?(?:sentence|sentences|word|words|line|lines"
    r"|paragraph))\b"
    r"|(?P<long>in (?:\w+ )?(?:detail|depth)|detailed|at length|thorough|thoroughly"
    r"|comprehensive|comprehensively)\b"
    r"|(?P<steps>step by step|stepwise)\b"
    r"|(?P<examples>(?:with|give|giving|include|including|using|add|provide) (?:an? |some |\d )?"
    r"(?:\w+ )?examples?)\b"
    r"|(?P<simple>(?:in|using|with) (?:simple|plain|easy|layman) (?:terms|words|language"
    r"|english))\b"
    rf"|(?:as|in|into) (?:an? )?(?:\w+ )?(?P<shape>{_SHAPES})\b(?! of)"
    r"|(?P<order>alphabetically|chronologically|in (?:alphabetical|chronological|reverse|random)"
    r" order|sorted|ranked|ordered) ?)"
)
_STEPS: Final = frozenset(("how", "todo"))
"""Types that are answered step by step anyway."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether, of two English questions, one asks for something that the other does not."""
    if not asked.language == stored.language == "en":
        return False
    one, other = _demands(asked), _demands(stored)
    if not _STEPS.isdisjoint((asked.question, stored.question)):
        one.discard("steps")
        other.discard("steps")
    return one != other


def _demands(reading: Reading) -> set[str]:
    return {
        found[found.lastgroup or 0]
        if found.lastgroup in ("more", "shape")
        else found.lastgroup or ""
        for found in _DEMANDS.finditer(" ".join(reading.words))
    }
