"""Whether a node's cache began anew: proven by what the node says, or no more than doubted.

A connection that was refused may be a restart, or this gateway's network, or a queue that was full.
What is doubted is still gone by; the node's next words about usage settle it.
"""

from __future__ import annotations

from typing import Final

LOST: Final = 8
"""Reports in a row of nothing, where much was held, after which a node counts as restarted. A few
say no more than that old prompts were driven out whole."""
DOUBTED: Final = 2
"""The same, where there was reason to doubt before."""


class Restarts:
    """Of one node's cache."""

    __slots__ = ("doubted", "lost", "number", "tells")

    def __init__(self) -> None:
        self.number = 0
        """Counts them."""
        self.lost = 0
        """Reports of nothing, in a row."""
        self.doubted = False
        self.tells = False
        """Whether it ever said what it had kept, or says when it begins anew."""

    def begin(self) -> None:
        """It began anew."""
        self.number += 1
        self.lost, self.doubted = 0, False

    def doubt(self) -> bool:
        """It could not be reached; whether it will tell what that was."""
        self.doubted = self.tells
        return self.tells

    def kept(self) -> None:
        """It had kept what was thought: it is the same life."""
        self.lost, self.doubted = 0, False

    def missed(self, *, everything: bool) -> bool:
        """It had kept less of much than was thought, or nothing at all; whether that proves a new
        life."""
        if not everything:
            self.kept()
            return False
        self.lost += 1
        return self.lost >= (DOUBTED if self.doubted else LOST)

    def __repr__(self) -> str:
        return f"<Restarts {self.number}{', doubted' if self.doubted else ''}>"
