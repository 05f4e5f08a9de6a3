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
        self._trying = False

    @property
    def takes(self) -> bool:
        """Whether it may have a call: of one on trial, one at a time."""
        return self.state == "in" or (self.state == "trial" and not self._trying)

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

    def begin(self) -> bool:
        """A call is made; whether it is the trial."""
        trial = self.state == "trial" and not self._trying
        self._trying = self._trying or trial
        return trial

    def end(self, verdict: Verdict) -> None:
        """The trial is over. What says nothing of the node leaves it on trial."""
        self._trying = False
        if self.state == "trial":
            if verdict == "success":
                self.state = "in"
            elif verdict == "failure":
                self._leave()

    def _leave(self) -> None:
        self.state, self._trying = "out", False
