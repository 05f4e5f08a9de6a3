"""Whether a node is asked, by probes: one that is silent is left out until it answered again and
one call went well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from proxy.core.breaker import Verdict

    State: TypeAlias = Literal["in", "out", "trial"]
    Sign: TypeAlias = Literal["alive", "silent", "refused", "unwell"]
    """What came of a probe. silent: nothing, in time; refused: nobody listens there; unwell: an
    answer that says so, or is none."""

_PATIENCE: Final = 2
"""Failed probes in a row after which a node is out."""
_STEP: Final = 2.0
"""Seconds of silence that one probe may prove: a gateway that stood still itself heard nothing."""


class Health:
    """Of one node. Without probes it stays in for ever: nothing would bring it back."""

    def __init__(self, *, probed: bool = False) -> None:
        self.state: State = "in"
        self._probed = probed
        self.silence = 0.0
        """Seconds for which neither its probes were answered nor anything else came of it."""
        self._looked, self._heard = 0.0, 0
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

    def suspect(self) -> None:
        """A first byte is late, and nothing else came meanwhile: as good as a failed probe."""
        if self.state == "in":
            self._failures = max(1, self._failures)

    def probe(self, sign: Sign, *, mono: float, heard: int) -> None:
        """A probe is over. `mono`: now, in monotonic seconds. `heard`: a count that grows with all
        that comes of the node otherwise."""
        quiet = sign == "silent" and heard == self._heard
        self.silence = self.silence + min(_STEP, mono - self._looked) if quiet else 0.0
        self._looked, self._heard = mono, heard
        if sign == "alive":
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
