"""Whether a node is asked, by probes: one that is silent is left out until it answered again and
one call went well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from proxy.core.breaker import Verdict

    State: TypeAlias = Literal["in", "out", "trial"]

_PATIENCE: Final = 2
"""Failed probes in a row after which a node is out."""


class Health:
    """Of one node. Without probes it stays in for ever: nothing would bring it back."""

    def __init__(self, *, probed: bool = False) -> None:
        self.state: State = "in"
        self._probed = probed
        self._failures = 0
        self._trials = 0
        """That were begun, ever."""
        self._running = 0
        """The number of the one that runs; 0: none does."""

    @property
    def takes(self) -> bool:
        """Whether it may have a call: of one on trial, one at a time."""
        return self.state == "in" or (self.state == "trial" and not self._running)

    @property
    def doubted(self) -> bool:
        """Whether the next probe should come at once."""
        return self.state != "out" and self._failures > 0

    def probe(self, *, answered: bool) -> None:
        """A probe is over."""
        if answered:
            self._failures = 0
            if self.state == "out":
                self.state = "trial"
            return
        self._failures += 1
        if self.state == "trial" or self._failures >= _PATIENCE:
            self._leave()

    def refused(self) -> None:
        """It could not be reached: no second look is needed."""
        if self._probed:
            self._leave()

    def begin(self) -> int:
        """A call is made; the number of the trial that it is, or 0."""
        if self.state != "trial" or self._running:
            return 0
        self._trials += 1
        self._running = self._trials
        return self._running

    def end(self, trial: int, verdict: Verdict) -> None:
        """A trial is over. What says nothing of the node leaves it on trial; and so does one that
        was begun before it was last out."""
        if trial != self._running or not trial:
            return
        self._running = 0
        if verdict == "success":
            self.state = "in"
        elif verdict == "failure":
            self._leave()

    def _leave(self) -> None:
        self.state, self._running = "out", 0
