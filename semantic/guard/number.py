"""Numbers that differ, or stand in another order, ask something else."""

from __future__ import annotations

from semantic.reading import Reading


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether the numbers are not the same, in the same order."""
    if asked.numbers == stored.numbers:
        return False
    if len(asked.numbers) != len(stored.numbers):
        return True
    return not all(map(_same, asked.numbers, stored.numbers))


def _same(one: str, other: str) -> bool:
    """An hour without a half of the day is a bare number to those who leave out the hour's sign."""
    return one == other
