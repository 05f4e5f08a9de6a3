"""`hotprefix warm` against a real admin port."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp.test_utils import TestServer

from proxy.adapters.admin import Operations, application
from proxy.cli import warm
from proxy.core.recorded import RecordError
from proxy.core.warming import Result

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from proxy.core.entry import Key
    from proxy.core.message import Arrival

BODY = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}


def warmed(node: str = "a", spent: int = 2000) -> Result:
    return Result(node, "warmed", 2000, spent)


def later(outcome: str = "busy", node: str = "a", spent: int = 0) -> Result:
    return Result(node, outcome, 2000, spent, again=0.01)


class Running:
    """A proxy of which only the admin port is there. It answers by its script, one answer after
    the other, the last one again and again."""

    def __init__(self, folder: Path) -> None:
        self.config, self.file = folder / "hotprefix.toml", folder / "prompts.jsonl"
        self.script: list[list[Result] | RecordError] = [[warmed()]]
        self.wished: list[tuple[Arrival, str, bool]] = []
        self.file.write_text(json.dumps(BODY))

    async def warm(self, asked: Arrival, node: str, everywhere: bool) -> list[Result]:
        self.wished.append((asked, node, everywhere))
        told = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(told, RecordError):
            raise told
        return told

    async def command(self, *words: str) -> int:
        parser = argparse.ArgumentParser()
        warm.add(parser.add_subparsers())
        args = parser.parse_args(["warm", *words, "--config", str(self.config)])
        code: int = await asyncio.to_thread(args.run, args)
        return code


async def no_decisions() -> list[dict[str, object]]:
    return []


async def unknown(name: str) -> None:
    """No request is known."""


async def nothing(key: Key | None) -> bool:
    return False


async def unheard(request: str) -> None:
    """No hit of it is known."""


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    running = Running(tmp_path)
    operations = Operations(
        lambda: True, bytes, dict, no_decisions, unknown, nothing, unheard, running.warm
    )
    async with TestServer(application(operations, None)) as server:
        running.config.write_text(f"[admin]\nport = {server.port}\n")
        yield running


async def test_each_line_is_warmed_and_told(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    anthropic = {"path": "/v1/messages", "body": BODY, "headers": {"anthropic-version": "1"}}
    running.file.write_text(f"{json.dumps(BODY)}\n\n{json.dumps(anthropic)}\n")
    running.script = [[warmed()], [Result("b", "held", 2000)]]
    code = await running.command(str(running.file))

    assert code == 0
    assert [asked.path for asked, _, _ in running.wished] == [
        "/v1/chat/completions",
        "/v1/messages",
    ]
    assert capsys.readouterr().out.splitlines() == [
        "line 1: warmed at a, 2,000 tokens computed of about 2,000",
        "line 3: held at b, 0 tokens computed of about 2,000",
        "2 prompts: 1 held, 1 warmed; 2,000 tokens computed",
    ]


async def test_it_is_asked_again_while_that_makes_sense(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the node computed before it was interrupted counts."""
    running.script = [[later("cancelled", spent=800)], [later()], [warmed("b", 1200)]]

    assert await running.command(str(running.file)) == 0
    assert len(running.wished) == 3
    assert capsys.readouterr().out.endswith("1 prompts: 1 warmed; 2,000 tokens computed\n")


@pytest.mark.parametrize("outcome", ["paid", "refused", "budget"])
async def test_what_is_not_held_in_the_end_is_a_failure(running: Running, outcome: str) -> None:
    again = 0.01 if outcome == "budget" else 0.0
    running.script = [[Result("a", outcome, 2000, again=again)]]

    assert await running.command(str(running.file), "--wait", "0.05") == 1
    assert (len(running.wished) > 1) == (outcome == "budget")


async def test_nodes_and_keys_can_be_named(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIENT", "sk-1")
    code = await running.command(str(running.file), "--node", "b", "--key-env", "CLIENT")
    ((asked, node, everywhere),) = running.wished

    assert (code, node, everywhere) == (0, "b", False)
    assert ("authorization", "Bearer sk-1") in asked.headers


async def test_of_all_nodes_only_those_are_asked_again_that_may_do_it_later(
    running: Running,
) -> None:
    """A paid one would be paid twice."""
    running.script = [[warmed("a"), later(node="b")], [warmed("b")]]

    assert await running.command(str(running.file), "--all-nodes") == 0
    assert [(node, everywhere) for _, node, everywhere in running.wished] == [
        ("", True),
        ("b", False),
    ]


async def test_a_line_that_holds_no_request_is_named_before_anything_is_sent(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    running.file.write_text(f"{json.dumps(BODY)}\nnot json\n")

    assert await running.command(str(running.file)) == 1
    assert "prompts.jsonl, line 2: not a request" in capsys.readouterr().err
    assert running.wished == []


async def test_a_refusal_of_the_proxy_names_the_line(
    running: Running, capsys: pytest.CaptureFixture[str]
) -> None:
    running.script = [RecordError("no node serves it")]

    assert await running.command(str(running.file)) == 1
    assert capsys.readouterr().err == "hotprefix: line 1: 400: no node serves it\n"


async def test_standard_input_is_read(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(BODY).encode())))

    assert await running.command("-") == 0
    assert len(running.wished) == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


async def test_a_terminal_shows_a_bar(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    shown, said = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setattr(sys, "stdout", said)
    running.file.write_text(f"{json.dumps(BODY)}\n" * 2)

    assert await running.command(str(running.file)) == 0
    assert f"[{'#' * 15}{'.' * 15}] 1/2 warmed" in shown.getvalue()
    assert f"[{'#' * 30}] 2/2 warmed\n" in shown.getvalue()
    assert said.getvalue() == "2 prompts: 2 warmed; 4,000 tokens computed\n"


@pytest.mark.parametrize(
    ("config", "words", "code"),
    [
        ("[admin]\nport = 1\n", ["{file}"], 1),
        ("[admin]\nprot = 1\n", ["{file}"], 2),
        ("[admin]\nport = 1\n", ["{file}", "--key-env", "SURELY_NOT_SET"], 2),
        ("[admin]\nport = 1\n", ["{file}.none"], 1),
    ],
)
async def test_what_is_wrong_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], config: str, words: list[str], code: int
) -> None:
    running = Running(tmp_path)
    running.config.write_text(config)
    spelled: list[Any] = [word.format(file=running.file) for word in words]

    assert await running.command(*spelled) == code
    assert capsys.readouterr().err.startswith("hotprefix: ")
