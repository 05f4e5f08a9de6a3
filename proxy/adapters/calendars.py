"""Session closes of exchanges, as the package `exchange_calendars` knows them.

It loads pandas, which takes 100 MB and half a second: so a process of its own says what is asked,
as JSON, and ends. That process runs this module.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from proxy.config import ConfigError
from proxy.mistake import lacking

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from proxy.ports import Clock

_DAY: Final = 86400.0
_BEHIND: Final = 30 * _DAY
"""Seconds: so far back there was a close, whatever was celebrated."""
_AHEAD: Final = 400 * _DAY
"""Seconds: a gateway whose daily question fails can go on for a year."""
_AGAIN: Final = 3600.0
"""Seconds to the next question, at least."""
_MOST: Final = 500
"""Closes of one exchange: more than those of the days that are asked for."""
_TIMEOUT: Final = 60.0
"""Seconds; all calendars there are take ten."""


class Calendars:
    """The closes of some exchanges, always about a year ahead."""

    def __init__(self, named: Mapping[str, str], clock: Clock) -> None:
        """`named`: exchanges, each with the setting that names it."""
        self.closings: dict[str, tuple[float, ...]] = {}
        """Kept current in place."""
        self._named = named
        self._clock = clock
        self._asked = 0.0

    def load(self) -> None:
        """Ask now, and wait for it. Raises: ConfigError."""
        now = self._clock.now()
        self.closings |= closings(self._named, now)
        self._asked = now

    async def run(self) -> None:
        """Ask again once a day, until cancelled. Where that fails, what is known goes on."""
        while self._named:
            due = self._asked + _DAY - self._clock.now()
            await self._clock.sleep(max(_AGAIN, due))
            with suppress(ConfigError):
                await asyncio.to_thread(self.load)

    def __repr__(self) -> str:
        return f"<Calendars {' '.join(self._named)}>"


def closings(named: Mapping[str, str], now: float) -> dict[str, tuple[float, ...]]:
    """The closes of exchanges around `now` and for a year after it, as unix seconds. `named`: as
    `Calendars` takes it.

    Raises: ConfigError, for an exchange that is not known and for a package that is missing.
    """
    if not named:
        return {}
    said = _asked(str(now), *named)
    if said.get("missing"):
        where = next(iter(named.values()))
        raise ConfigError(f"{lacking('calendars')} - at `{where}`")
    for name in said.get("unknown", ()):
        raise ConfigError(f"no exchange has the calendar {name!r} - at `{named[name]}`")
    return {name: tuple(closes) for name, closes in said["closings"].items()}


def _asked(*arguments: str) -> dict[str, Any]:
    """What this module says in a process of its own. Raises: ConfigError."""
    command = [sys.executable, "-m", "proxy.adapters.calendars", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"the calendars cannot be read: {type(error).__name__}") from error
    if done.returncode:
        last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
        raise ConfigError(f"the calendars cannot be read: {last}")
    try:
        said: dict[str, Any] = json.loads(done.stdout)
    except ValueError as error:
        raise ConfigError("the calendars cannot be read: what was said is no JSON") from error
    return said


def main(now: float, names: Iterable[str]) -> None:
    """Write what is known as JSON."""
    try:
        import exchange_calendars  # an extra, and too heavy for whoever only asks
    except ModuleNotFoundError:
        json.dump({"missing": True}, sys.stdout)
        return
    closes, unknown = {}, []
    for name in names:
        try:
            closes[name] = _closes(exchange_calendars, name, now)
        except exchange_calendars.errors.InvalidCalendarName:
            unknown.append(name)
    json.dump({"closings": closes, "unknown": unknown}, sys.stdout)


def _closes(package: Any, name: str, now: float) -> list[float]:
    first, last = _date(now - _BEHIND), _date(now + _AHEAD)
    try:
        calendar = package.get_calendar(name, start=first, end=last)
    except ValueError:  # some know their holidays for this year only, and say no more than those
        calendar = package.get_calendar(name)
    return [close.timestamp() for close in calendar.closes[-_MOST:]]


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
