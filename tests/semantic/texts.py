"""Texts as readings, without any operator's terms unless a test brings some."""

from __future__ import annotations

from semantic.reading import Reading, read
from semantic.settings import Terms

NONE = Terms()


def reading(text: str, terms: Terms = NONE) -> Reading:
    return read(text, terms)


def both(one: str, other: str, terms: Terms = NONE) -> tuple[tuple[Reading, Reading], ...]:
    """The pair in both directions: a guard is asked without regard to who came first."""
    first, second = read(one, terms), read(other, terms)
    return (first, second), (second, first)
