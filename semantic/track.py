"""A track: from which similarity on hits of one group and kind are served, and what they showed.

closed ─ labels show an error below the budget ─► open from a threshold ─ labels below it too ─┐
   ▲                                                  │  ▲                                     │
   └─────── a wrong label, and they no longer do ◄────┘  └───────── a lower threshold ◄────────┘
"""

from __future__ import annotations

from typing import Final

from semantic.evidence import STEPS, byte, counted, least, refuted, shown

CHANCE: Final = 0.02
"""That a budget is broken, over all that a track ever decides, where traffic stays as it is. In 95
of 100 runs what was served has to be within it, and chance adds to the true rate in short ones."""
_DOUBT: Final = 0.05
"""That evidence against a threshold is chance: it need not be as strong as evidence for one."""
_GROWTH: Final = 1.5
"""By how much evidence grows between two looks."""
_MOST: Final = 16_384
_FEWEST: Final = 512
_ERRORS: Final = 20
"""Wrong labels that a window holds where the error rate is just the budget."""


class Track:
    """What is served from where on. Labels below the threshold come from every would-be hit, above
    it from a sample; so the two are never counted together."""

    def __init__(self, rate: float, floor: int, *, trusted: bool, chance: float = CHANCE) -> None:
        """`rate`: the budget; `floor`: the lowest threshold; `trusted`: served from there until
        evidence is against it, not only once evidence is for it; `chance`: that the budget is
        broken all the same."""
        self.rate = rate
        self.floor = floor
        self.trusted = trusted
        self.opened = floor if trusted else STEPS
        """The step from which on hits are served."""
        self.served = bytearray()
        """Labels from there on, oldest first."""
        self.waiting = bytearray()
        """Labels below, oldest first, since the last change."""
        self.looks = 0
        """How often the threshold might have fallen: each look is a chance to err."""
        self.ahead = 0
        """Labels until the next look."""
        self._window = window(rate)
        self._whole = chance

    def learn(self, number: int, *, wrong: bool) -> None:
        """A would-be hit of this step was right or wrong."""
        label = byte(number, wrong=wrong)
        if number >= self.opened:
            self._add(self.served, label)
            if wrong:
                self._hold()
            return
        self._add(self.waiting, label)
        self.ahead -= 1
        # A wrong label never opens anything, whatever else it counts towards.
        if not wrong and self.ahead <= 0:
            self._look()

    def figures(self) -> tuple[int, int]:
        """Labels from the threshold on (where closed: from the lowest one on), and wrong ones."""
        if self.opened == STEPS:
            return counted(self.waiting, self.floor)
        return counted(self.served, self.opened)

    @property
    def refuted(self) -> bool:
        """Whether hits were served from somewhere on and no longer are."""
        return self.trusted and self.opened > self.floor

    def _add(self, labels: bytearray, label: int) -> None:
        labels.append(label)
        if len(labels) > self._window:
            del labels[0]

    def _hold(self) -> None:
        """Raise the threshold to where the evidence still bears it."""
        if self.trusted:
            held = refuted(self.served, self.opened, self.rate, _DOUBT)
        else:
            held = shown(self.served, self.opened, self.rate, self._chance())
        if held > self.opened:
            self._raise(held)

    def _raise(self, held: int) -> None:
        """What was sampled here says little about what is now counted in full, but a wrong one
        stands for many."""
        fallen = bytes(label for label in self.served if label < 2 * held)
        self.served = bytearray(label for label in self.served if label >= 2 * held)
        self.waiting = bytearray(label for label in self.waiting + fallen if label & 1)
        self.opened, self.ahead = held, 0

    def _look(self) -> None:
        """Lower the threshold to where the evidence since the last change bears it."""
        chance = self._chance()
        enough = least(self.rate, chance)
        if len(self.waiting) < enough:
            self.ahead = enough - len(self.waiting)
            return
        found = shown(self.waiting, self.floor, self.rate, chance)
        self.looks += 1
        self.ahead = int(len(self.waiting) * (_GROWTH - 1.0))
        if found < self.opened:
            for label in self.waiting:
                if label >= 2 * found:
                    self._add(self.served, label)
            self.waiting = bytearray(label for label in self.waiting if label < 2 * found)
            self.opened = found

    def _chance(self) -> float:
        """Of the next look: all of them together make up the whole."""
        return self._whole / ((self.looks + 1) * (self.looks + 2))


def window(rate: float) -> int:
    """Labels that are remembered: older ones fade."""
    return max(_FEWEST, min(_MOST, round(_ERRORS / rate))) if rate > 0.0 else _FEWEST
