"""Breakers: a node that fails at a model is left alone for a while, then asked by one call."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from proxy.core.rolling import Rolling

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.config import Breaker as Settings
    from proxy.core.events import BreakerState

Verdict: TypeAlias = Literal["success", "failure", "neither"]
"""What a call says of the node. Neither: its client left, or it was refused for what it asked."""

_KEPT: Final = 4096
"""Breakers that are kept: clients choose the names of models, and so how many there could be."""


class Pass:
    """One call's leave to go through; given back once, whatever becomes of the call."""

    __slots__ = ("_ended", "era", "flows")

    def __init__(self, era: int) -> None:
        self.era = era
        """The breaker's when the call began: what came before it opened says nothing after."""
        self.flows: float | None = None
        """Since when (monotonic seconds) bytes of a good answer arrive."""
        self._ended = False

    def end(self) -> bool:
        """False if it was given back before."""
        ended, self._ended = self._ended, True
        return not ended


class Breaker:
    """closed ─ too many failures ─► open ─ time ─► half open ─ one success ─► closed
    └ one failure ─► open"""

    def __init__(self, settings: Settings) -> None:
        self.state: BreakerState = "closed"
        self.era = 0
        """Grows with each change of state."""
        self._settings = settings
        self._until = 0.0
        self._probe: Pass | None = None
        self._row = 0
        self._counts = Rolling(settings.window, 3)

    def admits(self, mono: float) -> bool:
        """Whether a call may begin now."""
        return self.wait(mono) == 0.0

    def wait(self, mono: float) -> float:
        """Seconds until a call may begin, as far as is known; 0: now."""
        if self.state == "closed":
            return 0.0
        if self.state == "open":
            return max(0.0, self._until - mono)
        probe = self._probe
        if probe is None:
            return 0.0
        # A long answer that arrives well must not keep everybody else out until its end.
        since = mono if probe.flows is None else probe.flows
        return max(0.0, since + self._settings.open_for - mono)

    def begin(self) -> Pass:
        """A call begins that was admitted; after the open time it is the probe."""
        if self.state == "open":
            self._move("half_open")
        started = Pass(self.era)
        if self.state == "half_open":
            self._probe = started
        return started

    def end(self, call: Pass, verdict: Verdict, *, slow: bool, mono: float) -> None:
        """A call is over, or what became of it is certain."""
        if not call.end():
            return
        if self._probe is call:
            self._probe = None
        if call.era != self.era or (verdict == "neither" and not slow):
            return
        failed = verdict == "failure"
        if self.state == "closed":
            self._count(mono, failed=failed, slow=slow)
        elif failed or slow:
            self._open(mono)
        else:
            self._move("closed")

    def _count(self, mono: float, *, failed: bool, slow: bool) -> None:
        self._row = self._row + 1 if failed else 0
        self._counts.add(mono, 1, int(failed), int(slow))
        calls, failures, late = self._counts.totals(mono)
        settings = self._settings
        if calls < settings.min_calls:
            return
        # So many in a row are certain enough, however much went well before they began.
        dead = self._row >= settings.min_calls
        if (
            dead
            or failures >= settings.failure_ratio * calls
            or late >= settings.slow_ratio * calls
        ):
            self._open(mono)

    def _open(self, mono: float) -> None:
        self._until = mono + self._settings.open_for
        self._move("open")

    def _move(self, state: BreakerState) -> None:
        self.state, self.era = state, self.era + 1
        self._probe, self._row = None, 0
        self._counts = Rolling(self._settings.window, 3)


class Breakers:
    """The breakers of all nodes and models. One is made by its first failure."""

    def __init__(self, settings: Settings, moved: Callable[[str, str, BreakerState], None]) -> None:
        """`moved` is told of each change of state, with node and model."""
        self._settings = settings
        self._moved = moved
        self._kept: OrderedDict[tuple[str, str], Breaker] = OrderedDict()
        self._tripped: set[tuple[str, str]] = set()

    def __bool__(self) -> bool:
        """Whether any is open, or half so."""
        return bool(self._tripped)

    def wait(self, node: str, model: str, mono: float) -> float:
        """Seconds until a call may begin, as far as is known; 0: now."""
        breaker = self._kept.get((node, model))
        return 0.0 if breaker is None else breaker.wait(mono)

    def begin(self, node: str, model: str) -> Pass:
        """A call begins that was admitted."""
        breaker = self._kept.get((node, model))
        if breaker is None:
            return Pass(0)
        state, started = breaker.state, breaker.begin()
        self._told((node, model), breaker, state)
        return started

    def end(
        self, node: str, model: str, call: Pass, verdict: Verdict, *, slow: bool, mono: float
    ) -> None:
        """A call is over, or what became of it is certain."""
        name = (node, model)
        breaker = self._kept.get(name)
        if breaker is None:
            # What never failed needs no memory, and neither do names that nobody serves.
            if verdict != "failure" and not slow:
                return
            breaker = self._made(name)
        state = breaker.state
        breaker.end(call, verdict, slow=slow, mono=mono)
        self._told(name, breaker, state)

    def tripped(self, node: str) -> int:
        """For how many models the node is not asked as usual."""
        return sum(name[0] == node for name in self._tripped)

    def _made(self, name: tuple[str, str]) -> Breaker:
        breaker = self._kept[name] = Breaker(self._settings)
        if len(self._kept) > _KEPT:
            dropped, _ = self._kept.popitem(last=False)
            self._tripped.discard(dropped)
        return breaker

    def _told(self, name: tuple[str, str], breaker: Breaker, before: BreakerState) -> None:
        self._kept.move_to_end(name)
        if breaker.state == before:
            return
        if breaker.state == "closed":
            self._tripped.discard(name)
        else:
            self._tripped.add(name)
        self._moved(*name, breaker.state)

    def __repr__(self) -> str:
        return f"<Breakers kept={len(self._kept)} tripped={len(self._tripped)}>"
