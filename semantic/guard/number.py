"""Numbers that differ, or stand in another order, ask something else."""

from __future__ import annotations

from semantic.reading import Reading


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether the numbers are not the same, in the same order."""
    return asked.numbers != stored.numbers
