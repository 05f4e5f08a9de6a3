"""The figures of an English text, each written in one way."""

from __future__ import annotations

from typing import Final

from semantic.rewriting import rewritten, rules

_NOON: Final = 12
_FIGURES: Final = rules(
    (
        (
            (r"(?<![\d:.])([1-9]|1[01])(?::(\d\d))? ?p\.?m\b\.?"),
            lambda found: f"{int(found[1]) + _NOON}:{found[2] or '00'}",
        ),
        ((r"(?<=\d) ?(?:percent|per cent)\b"), "%"),
        ((r"(?<=\d),(?=\d{3}(?!\d))"), ""),
        (
            (r"\$ ?(\d+(?:\.\d+)?)(?!\w|\.\d| ?(?:million|billion|thousand|hundred))"),
            r"\1 dollars",
        ),
        (
            (
                r"(?<=\d)(?:st|nd|rd|th)\b"
                r"(?: of(?= (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))?"
            ),
            "",
        ),
        (
            (
                r"\b((?:jan|febr)uary|march|april|may|june|july|august|(?:sept|nov|dec)ember|october"
                r"|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec) (\d{1,2})\b(?![:%\d])"
            ),
            r"\2 \1",
        ),
    )
)


def figures(text: str) -> str:
    """An English text with its figures written in one way: 15:00, 20%, 1000 dollars, 3 of May."""
    return rewritten(text, _FIGURES)
