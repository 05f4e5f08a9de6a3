"""Whether one kind of command is worth sending to a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

TOO_MANY: Final = 5
"""Failures, less what succeeded meanwhile, after which a server is left alone until a probe
succeeds."""


class Circuit:
    """Closed: commands pass. Open: only probes do."""

    def __init__(self, turned: Callable[[], None]) -> None:
        """`turned`: called whenever it opens or closes."""
        self.open = False
        self.error = ""
        """The class of the last failure."""
        self._failures = 0
        self._turned = turned

    def failed(self, error: str) -> None:
        """Count a failure. What fails together, such as all calls of a connection, counts once."""
        self._failures += 1
        self.error = error
        self._turn(self.open or self._failures >= TOO_MANY)

    def succeeded(self) -> None:
        """A reply in time. It closes nothing: some may still be under way when one opens. Nor does
        it undo all failures: a full Redis still runs what writes nothing in the end."""
        self._failures = max(0, self._failures - 1)

    def probed(self, error: str = "") -> None:
        """A probe ended, well or with an error; either way that is how it is."""
        self._failures = 0
        self.error = error
        self._turn(bool(error))

    def _turn(self, open_: bool) -> None:
        if open_ != self.open:
            self.open = open_
            self._turned()
