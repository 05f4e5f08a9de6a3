"""Exchanges' session closes, as a process of its own tells them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.calendars import Calendars, closings
from proxy.config import ConfigError
from proxy.core.closing import after
from tests.fakes import FakeClock, settle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

YEAR = 365 * 86400.0


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def test_exchanges_close_where_and_when_they_do() -> None:
    """New York an hour earlier by our clock in summer, early on the day after Thanksgiving, and
    not at all on a Sunday."""
    known = closings({"XNYS": "", "XHKG": ""}, at("2026-07-01"))

    assert after(known["XNYS"], at("2026-07-01T12:00")) == at("2026-07-01T20:00")
    assert after(known["XNYS"], at("2026-12-01T12:00")) == at("2026-12-01T21:00")
    assert after(known["XNYS"], at("2026-11-27T12:00")) == at("2026-11-27T18:00")
    assert after(known["XNYS"], at("2026-07-05T12:00")) == at("2026-07-06T20:00")
    assert after(known["XHKG"], at("2026-07-02T04:00")) == at("2026-07-02T08:00")


def test_a_year_is_known_ahead_and_the_last_close_behind() -> None:
    now = at("2026-07-01")
    known = closings({"XNYS": ""}, now)["XNYS"]

    assert known[0] < now
    assert known[-1] > now + YEAR
    assert list(known) == sorted(set(known))


def test_an_exchange_that_knows_its_holidays_for_some_years_only_closes_daily_after_them() -> None:
    known = closings({"XSHG": ""}, at("2099-02-15"))["XSHG"]

    assert known[-1] < at("2099-02-15")
    assert after(known, at("2099-02-15")) == at("2099-02-15T07:00")


def test_an_exchange_that_does_not_exist_is_named_with_its_setting() -> None:
    named = {"XNYS": "cache.calendars[0]", "NOPE": "cache.rule[3].calendar"}
    with pytest.raises(ConfigError) as caught:
        closings(named, at("2026-07-01"))

    assert "'NOPE'" in str(caught.value)
    assert "`cache.rule[3].calendar`" in str(caught.value)


def test_a_package_that_is_missing_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path, monkeypatch, "raise ModuleNotFoundError('exchange_calendars')")
    with pytest.raises(ConfigError, match=r"pip install 'hotprefix\[calendars\]'"):
        closings({"XNYS": "cache.calendars[0]"}, at("2026-07-01"))


def test_a_package_that_fails_is_an_error_with_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(tmp_path, monkeypatch, "raise RuntimeError('out of sorts')")
    with pytest.raises(ConfigError, match=r"RuntimeError: out of sorts$"):
        closings({"XNYS": "cache.calendars[0]"}, at("2026-07-01"))


def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A package of that name that comes before the real one."""
    (tmp_path / "exchange_calendars.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


def standing_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package whose only session ends when it is asked for last: it has the day in its name."""
    broken(
        tmp_path,
        monkeypatch,
        "class errors:\n"
        "    class InvalidCalendarName(Exception): pass\n"
        "class get_calendar:\n"
        "    def __init__(self, name, start, end):\n"
        "        import datetime\n"
        "        self.closes = [datetime.datetime.fromisoformat(end)]\n",
    )


class Watched(FakeClock):
    """Says how long was slept."""

    def __init__(self) -> None:
        super().__init__()
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await super().sleep(seconds)


async def until(holds: Callable[[], bool]) -> None:
    """A process does not follow the clock that is moved by hand."""
    for _ in range(1000):
        if holds():
            return
        await asyncio.sleep(0.01)
    raise AssertionError


async def test_closes_are_asked_for_anew_once_a_day(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing_in(tmp_path, monkeypatch)
    clock = Watched()
    calendars = Calendars({"XNYS": ""}, clock)
    calendars.load()
    shown = calendars.closings
    first = shown["XNYS"]
    async with asyncio.TaskGroup() as group:
        task = group.create_task(calendars.run())
        await settle()
        clock.advance(86400.0)
        await until(lambda: len(clock.slept) == 2)
        task.cancel()

    assert clock.slept == [86400.0, 86400.0]
    assert shown["XNYS"][0] == first[0] + 86400.0


async def test_where_asking_fails_what_is_known_goes_on_and_it_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    standing_in(tmp_path, monkeypatch)
    clock = Watched()
    calendars = Calendars({"XNYS": ""}, clock)
    calendars.load()
    first = calendars.closings["XNYS"]
    broken(tmp_path, monkeypatch, "raise RuntimeError")
    async with asyncio.TaskGroup() as group:
        task = group.create_task(calendars.run())
        await settle()
        clock.advance(86400.0)
        await until(lambda: len(clock.slept) == 2)
        known = calendars.closings["XNYS"]
        standing_in(tmp_path, monkeypatch)
        clock.advance(3600.0)
        await until(lambda: len(clock.slept) == 3)
        task.cancel()

    assert known == first
    assert clock.slept == [86400.0, 3600.0, 86400.0]
    assert calendars.closings["XNYS"] != first


async def test_who_names_no_exchange_starts_no_process() -> None:
    calendars = Calendars({}, FakeClock())
    calendars.load()
    await calendars.run()

    assert calendars.closings == {}
