"""A question that is negated on one side only."""

from __future__ import annotations

from semantic.reading import Reading


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether only one says no, or only one takes its no back with another."""
    one, other = asked.denials, stored.denials
    return one != other and ((one == 0) != (other == 0) or one % 2 != other % 2)
