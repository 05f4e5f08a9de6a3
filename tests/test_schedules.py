"""Schedules of warming: when they are due, and what their files hold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.schedules import Schedules, readable
from proxy.config import ConfigError, UnsetError, parse
from proxy.core.events import ScheduleUnread
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from pathlib import Path

    from proxy.core.events import Event

MORNING = 20_000 * 86400.0 + 8 * 3600 + 54 * 60 + 50
"""Ten seconds before five to nine."""


class Desk:
    """Schedules by a clock that is moved."""

    def __init__(
        self, file: Path | str = "f", cron: str = "55 8 * * *", more: str = "", **environ: str
    ) -> None:
        self.clock = FakeClock(now=MORNING)
        self.events: list[Event] = []
        table = f'[[warming.schedule]]\ncron = "{cron}"\nfile = "{file}"\n'
        settings = parse(f"[warming]\n{more}\n{table}").warming
        if environ:
            named = next(iter(environ))
            settings = parse(f'[warming]\n{more}\n{table}key_env = "{named}"\n').warming
        self.schedules = Schedules(settings, environ, self.clock, self.events.append)

    def due(self, seconds: float = 0.0) -> int:
        self.clock.advance(seconds)
        return len(self.schedules.due())


def test_a_schedule_is_due_once_when_its_time_comes() -> None:
    desk = Desk()

    assert [desk.due(seconds) for seconds in (0, 9, 1, 1, 3600, 86400 - 3602, 1)] == [
        0,
        0,
        1,
        0,
        0,
        0,
        1,
    ]


def test_six_fields_begin_with_seconds() -> None:
    desk = Desk(cron="*/5 * * * * *")

    assert [desk.due(1) for _ in range(10)] == [0, 0, 0, 0, 1, 0, 0, 0, 0, 1]


def test_a_time_that_nobody_was_there_for_is_not_made_up_for() -> None:
    desk = Desk()

    assert (desk.due(3 * 86400), desk.due()) == (1, 0)


def test_all_gateways_call_a_time_by_one_name() -> None:
    one, other = Desk(), Desk()
    one.clock.advance(10)
    other.clock.advance(10.9)
    names = [errand.name for desk in (one, other) for errand in desk.schedules.due()]
    one.clock.advance(86400)
    names += [errand.name for errand in one.schedules.due()]

    assert names[0] == names[1] != names[2]


@pytest.mark.parametrize(("zone", "due"), [("UTC", 1), ("Asia/Shanghai", 0), ("Africa/Abidjan", 1)])
def test_a_schedule_goes_by_its_time_zone(zone: str, due: int) -> None:
    assert Desk(more=f'timezone = "{zone}"').due(10) == due


@pytest.mark.parametrize(
    ("cron", "more", "message"),
    [
        ("61 * * * *", "", r"schedule\[0\]\.cron"),
        ("daily", "", r"schedule\[0\]\.cron"),
        ("", "", r"schedule\[0\]\.cron"),
        ("* * * * *", 'timezone = "Mars/Olympus"', r"warming\.timezone"),
        ("* * * * *", 'timezone = "../etc"', r"warming\.timezone"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_an_error_that_names_it(
    cron: str, more: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        Desk(cron=cron, more=more)


def test_a_key_that_is_not_set_is_an_error() -> None:
    with pytest.raises(UnsetError, match=r"KEY is not set - at `warming.schedule\[0\].key_env`"):
        Desk(KEY="")


async def test_a_file_is_read_when_it_is_due(tmp_path: Path) -> None:
    """Each line that can be; of the others there is a word."""
    file = tmp_path / "morning.jsonl"
    desk = Desk(file, KEY="sk-1")
    desk.clock.advance(10)
    (errand,) = desk.schedules.due()
    bodies = [{"model": "m", "messages": [], "seed": seed} for seed in range(2)]
    file.write_text("\n".join([json.dumps(bodies[0]), "", "not json", json.dumps(bodies[1])]))
    asked = await errand.read()

    assert [json.loads(one.body) for one in asked] == bodies
    assert all(("authorization", "Bearer sk-1") in one.headers for one in asked)
    (told,) = desk.events
    assert told == ScheduleUnread(
        str(file), "", 1, 3, "not a request: JSON is malformed: invalid character (byte 4)"
    )


@pytest.mark.parametrize(
    ("name", "error"),
    [("none", "FileNotFoundError"), ("", "IsADirectoryError"), ("\\u0000", "ValueError")],
)
async def test_a_file_that_cannot_be_read_is_told_each_time(
    tmp_path: Path, name: str, error: str
) -> None:
    """By the name that it has in the settings."""
    file = f"{tmp_path}/../{tmp_path.name}/{name}"
    desk = Desk(file)
    for _ in range(2):
        desk.clock.advance(86400)
        (errand,) = desk.schedules.due()
        assert await errand.read() == []

    assert desk.events == [ScheduleUnread(file.replace("\\u0000", "\0"), error)] * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            None,
            r"morning\.jsonl: FileNotFoundError - at `warming\.schedule\[0\]\.file`",
        ),
        ("{}\n\nno\n{}\n", r"morning\.jsonl, line 3: not a request: [\w ]+ - at"),
        ("{}\nno\n\n[]\n", r"morning\.jsonl, line 2: not a request: [\w ]+ \(and 1 more\) - at"),
        ('{"body": {}, "path": "/x"}\n', r"line 1: POST /x: no operation that has a prompt"),
        ('{"model": "m", "messages": []}\n', ""),
    ],
)
def test_what_cannot_be_read_is_an_error_while_schedules_are_in_effect(
    tmp_path: Path, text: str | None, message: str
) -> None:
    file = tmp_path / "morning.jsonl"
    if text is not None:
        file.write_text(text)
    table = f'[[warming.schedule]]\ncron = "* * * * *"\nfile = "{file}"\n'
    readable(parse(table).warming)
    on = parse(f'[warming]\nmode = "on"\n{table}').warming

    if not message:
        readable(on)
        return
    with pytest.raises(ConfigError, match=message):
        readable(on)
