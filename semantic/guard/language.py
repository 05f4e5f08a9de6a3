"""An answer in another language is not the one that was asked for."""

from __future__ import annotations

from semantic.reading import Reading


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether the questions are in two languages."""
    return asked.tongue != stored.tongue
