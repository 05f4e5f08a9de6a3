"""Two members of one class: two weekdays, two cities, two currencies."""

from __future__ import annotations

from semantic.reading import Reading


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether, of some class, each has a member that the other lacks."""
    if asked.members == stored.members:
        return False
    one, other = set(asked.members), set(stored.members)
    mine = {name for name, _ in one - other}
    return not mine.isdisjoint(name for name, _ in other - one)
