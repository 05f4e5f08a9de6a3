"""The times of the warming schedules, as cron writes them, and the requests in their files."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from proxy.config import ConfigError, UnsetError
from proxy.core.events import ScheduleUnread
from proxy.core.recorded import RecordError, recorded
from proxy.warmer import Errand

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from proxy.config import Schedule, Warming
    from proxy.core.message import Arrival
    from proxy.ports import Clock, Emit


class Schedules:
    """Says what is due. A time at which nobody asked is not made up for."""

    def __init__(
        self, settings: Warming, environ: Mapping[str, str], clock: Clock, emit: Emit
    ) -> None:
        """Raises: ConfigError."""
        self._clock, self._emit = clock, emit
        self._zone = zone(settings)
        self._tables = settings.schedule
        self._keys = [_key(one, i, environ) for i, one in enumerate(settings.schedule)]
        self._next = [_next(one, i, self._now()) for i, one in enumerate(settings.schedule)]

    def due(self) -> list[Errand]:
        """What has become due since it was last asked."""
        found, now = [], self._now()
        for i, one in enumerate(self._tables):
            at = self._next[i]
            if at is not None and at <= now:
                self._next[i] = _next(one, i, now)
                name = f"warm\0{one.cron}\0{one.file}\0{at.timestamp():.0f}".encode()
                found.append(Errand(name, partial(self._read, one.file, self._keys[i])))
        return found

    async def _read(self, file: str, key: str) -> list[Arrival]:
        """What can be read; what cannot is told."""
        found, unread = await asyncio.to_thread(_arrivals, file, key)
        if unread is not None:
            self._emit(unread)
        return found

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now(), self._zone)

    def __repr__(self) -> str:
        return f"<Schedules {len(self._tables)}>"


def _arrivals(file: str, key: str) -> tuple[list[Arrival], ScheduleUnread | None]:
    """The requests of a file, and what of it could not be read."""
    try:
        lines = Path(file).expanduser().read_bytes().splitlines()
    except (OSError, RuntimeError, ValueError) as error:  # a home that is none, a null byte
        return [], ScheduleUnread(file, type(error).__name__)
    found, wrong = [], []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            found.append(recorded(line, key))
        except RecordError as error:
            wrong.append((number, str(error)))
    return found, ScheduleUnread(file, "", len(wrong), *wrong[0]) if wrong else None


def unread(settings: Warming) -> Iterator[tuple[int, ScheduleUnread]]:
    """What could not be read now of the schedules that are in effect, with their places."""
    if settings.mode == "on":
        for i, one in enumerate(settings.schedule):
            _, found = _arrivals(one.file, "")
            if found is not None:
                yield i, found


def readable(settings: Warming) -> None:
    """Whether all of it can be read now. Raises: ConfigError."""
    for i, one in unread(settings):
        told = (
            f"{one.file}, line {one.line}: {one.why}" if one.lines else f"{one.file}: {one.error}"
        )
        told += f" (and {one.lines - 1} more)" if one.lines > 1 else ""
        raise ConfigError(f"{told} - at `warming.schedule[{i}].file`")


def zone(settings: Warming) -> tzinfo:
    """Raises: ConfigError."""
    if settings.timezone == "UTC":
        return UTC  # without asking the system, which may know no zones
    try:
        return ZoneInfo(settings.timezone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        told = f"expected a time zone such as UTC or Asia/Shanghai, got {settings.timezone!r}"
        raise ConfigError(f"{told} - at `warming.timezone`") from error


def _next(table: Schedule, index: int, now: datetime) -> datetime | None:
    """The next time after now; None: there is none. Raises: ConfigError."""
    try:
        return next(CronSim(table.cron, now), None)
    except CronSimError as error:
        where = f"warming.schedule[{index}].cron"
        told = f"expected a cron expression such as '55 7 * * 1-5', got {table.cron!r}: {error}"
        raise ConfigError(f"{told} - at `{where}`") from error


def _key(table: Schedule, index: int, environ: Mapping[str, str]) -> str:
    if not table.key_env:
        return ""
    if not (value := environ.get(table.key_env)):
        raise UnsetError(table.key_env, f"warming.schedule[{index}].key_env")
    return value
