"""`hotprefix purge` and `hotprefix stats` against a real admin port."""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from aiohttp.test_utils import TestServer

from proxy.adapters.admin import Operations, application
from proxy.adapters.console import ConsoleError, ask
from proxy.cli import purge, stats
from proxy.config import Admin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from proxy.core.entry import Key
    from proxy.core.message import Arrival
    from proxy.core.warming import Result

KEY = "0123456789abcdef" * 4


async def nothing(key: Key | None) -> bool:
    return True


async def no_decisions() -> list[dict[str, object]]:
    return []


async def unknown(name: str) -> None:
    """No request is known."""


async def unheard(request: str) -> None:
    """No hit of it is known."""


async def no_warming(asked: Arrival, node: str, everywhere: bool) -> list[Result]:
    return []


NUMBERS = {"workers": 2.0}
OPERATIONS = Operations(
    lambda: True, bytes, lambda: NUMBERS, no_decisions, unknown, nothing, unheard, no_warming
)


class Running:
    """A proxy of which only the admin port is there, and its configuration file."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self.purged: list[Key | None] = []

    async def purge(self, key: Key | None) -> bool:
        self.purged.append(key)
        return key is None or key.hex() == KEY

    async def command(self, *words: str) -> int:
        parser = argparse.ArgumentParser()
        commands = parser.add_subparsers()
        purge.add(commands)
        stats.add(commands)
        args = parser.parse_args([*words, "--config", str(self.config)])
        code: int = await asyncio.to_thread(args.run, args)
        return code


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    running = Running(tmp_path / "hotprefix.toml")
    numbers = {"workers": 2.0, "hit_ratio": 0.75, "tiers": {"disk": {"bytes": 1234567.0}}}
    operations = Operations(
        lambda: True,
        bytes,
        lambda: numbers,
        no_decisions,
        unknown,
        running.purge,
        unheard,
        no_warming,
    )
    async with TestServer(application(operations, None)) as server:
        running.config.write_text(f"[admin]\nport = {server.port}\n")
        yield running


async def test_purge_all(running: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert await running.command("purge", "--all") == 0
    assert running.purged == [None]
    assert capsys.readouterr().out == "purged all\n"


async def test_purge_of_one_key(running: Running) -> None:
    assert await running.command("purge", "--key", KEY) == 0
    assert running.purged == [bytes.fromhex(KEY)]


async def test_purge_of_an_unknown_key_fails_with_one_line(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await running.command("purge", "--key", "f" * 64) == 1
    assert capsys.readouterr().err == "hotprefix: 404: No such entry.\n"


@pytest.mark.parametrize("words", [(), ("--key", "0123"), ("--all", "--key", KEY)])
async def test_an_unclear_purge_is_a_usage_error(running: Running, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as ended:
        await running.command("purge", *words)

    assert ended.value.code == 2
    assert running.purged == []


async def test_stats_are_one_line_a_number(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await running.command("stats") == 0

    shown = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert shown == [["workers", "2"], ["hit_ratio", "0.75"], ["tiers.disk.bytes", "1,234,567"]]


async def test_the_token_comes_from_the_variable_that_the_configuration_names() -> None:
    async with TestServer(application(OPERATIONS, "operator-secret")) as server:
        admin = Admin(port=server.port or 0, token_env="OPERATOR_TOKEN")
        environment = {"OPERATOR_TOKEN": "operator-secret"}
        answer = await asyncio.to_thread(ask, admin, environment, "/admin/stats")
        with pytest.raises(ConsoleError, match=r"^401: Admin token required"):
            await asyncio.to_thread(ask, admin, {}, "/admin/stats")

    assert answer == {"workers": 2.0}


async def test_the_token_is_not_shown_to_a_web_proxy() -> None:
    """HTTP_PROXY holds for everything a process asks, unless it is told otherwise."""
    async with TestServer(application(OPERATIONS, None)) as server:
        program = (
            "from proxy.adapters.console import ask; from proxy.config import Admin;"
            f"print(ask(Admin(port={server.port}), {{}}, '/admin/stats'))"
        )
        environment = {**os.environ, "http_proxy": "http://127.0.0.1:1", "no_proxy": ""}
        ran = await asyncio.to_thread(
            subprocess.run, [sys.executable, "-c", program], env=environment, capture_output=True
        )

    assert ran.stdout == b"{'workers': 2.0}\n"


@pytest.mark.parametrize("words", [("purge", "--all"), ("stats",)])
async def test_without_a_proxy_it_fails_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    running = Running(tmp_path / "hotprefix.toml")
    running.config.write_text("[admin]\nport = 1\n")

    assert await running.command(*words) == 1
    assert capsys.readouterr().err.startswith("hotprefix: no proxy at 127.0.0.1:1 ")


@pytest.mark.parametrize("words", [("purge", "--all"), ("stats",)])
async def test_a_bad_configuration_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...]
) -> None:
    running = Running(tmp_path / "hotprefix.toml")
    running.config.write_text("[admin]\nprot = 1\n")

    assert await running.command(*words) == 2
    assert "prot" in capsys.readouterr().err
