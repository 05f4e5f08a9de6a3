"""An operator's own names: in both texts or in neither."""

from __future__ import annotations

from semantic.reading import Reading


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether a protected term is in one of the two only."""
    return asked.protected != stored.protected
