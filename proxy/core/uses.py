"""How often something is asked for: lately, and at which hours of a day. Old counts fade."""

from __future__ import annotations

from math import log
from typing import Final

_FADES: Final = 600.0
"""Seconds after which a use counts half. So what was used k times a moment ago is expected within
five minutes with the probability 1 - 2 ** (-k / 2): 0.29, 0.5, 0.65 for one to three uses. In two
public traces it was 0.18 and 0.33, 0.33 and 0.72, 0.41 and 0.72."""
_DAY: Final = 86400.0
_HOUR: Final = 3600.0
_DAILY: Final = 0.5
"""What of an hour's mean is made by the last day that had it."""


class Uses:
    """The uses of one thing. `now`: unix seconds; one that went back changes nothing."""

    __slots__ = ("_days", "_hours", "_recent", "count", "last")

    def __init__(self) -> None:
        self.count = 0
        """All of them."""
        self.last = float("-inf")
        self._recent = 0.0
        self._hours = [0.0] * 24
        """Mean uses in each hour of a day, by UTC."""
        self._days = [0] * 24
        """The day for which each of these stands."""

    def note(self, now: float) -> None:
        """It is used."""
        self._recent = self._faded(now) + 1.0
        self.count += 1
        self.last = max(self.last, now)
        hour, day = _place(now)
        days = max(0, day - self._days[hour])
        self._hours[hour] = self._hours[hour] * (1 - _DAILY) ** days + _DAILY
        self._days[hour] = day

    def again(self, now: float, within: float) -> None:
        """What came of the uses is lost, unless the last one is longer ago than `within` seconds:
        as many are to be expected as there were, as if they had been now."""
        if now - self.last <= within:
            self._recent = max(self._faded(now), float(self.count))
            self.last = max(self.last, now)

    def rate(self, now: float, ahead: float = 0.0) -> float:
        """Uses a second to be expected `ahead` seconds from now: as many as lately, or as usual
        at that hour, whichever is more."""
        hour, day = _place(now + ahead)
        return max(self._faded(now) * log(2) / _FADES, self._mean(hour, day) / _HOUR)

    def _faded(self, now: float) -> float:
        since = max(0.0, now - self.last)
        return float(self._recent * 0.5 ** (since / _FADES))

    def _mean(self, hour: int, day: int) -> float:
        """Of the hour on the days before; days on which nothing came count, but for this one."""
        missed = max(0, day - self._days[hour] - 1)
        return float(self._hours[hour] * (1 - _DAILY) ** missed)

    def __repr__(self) -> str:
        return f"<Uses {self.count}>"


def _place(now: float) -> tuple[int, int]:
    """The hour, and the day."""
    day, seconds = divmod(now, _DAY)
    return int(seconds // _HOUR), int(day)
