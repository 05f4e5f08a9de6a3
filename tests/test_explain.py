"""`hotprefix explain` as it is run."""

from __future__ import annotations

import argparse
import io
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from proxy.cli import explain
from proxy.core.request import Lookup
from tests.asking import arrival, chat, lookup

if TYPE_CHECKING:
    from pathlib import Path

BARE = arrival(chat("hi"))


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    explain.add(parser.add_subparsers())
    args = parser.parse_args(["explain", *words])
    code: int = args.run(args)
    return code


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    def save(name: str, content: Any) -> str:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return save


def test_a_whole_request_has_the_key_it_has_on_the_path(saved: Any, capsys: Any) -> None:
    whole = {
        "method": "post",
        "path": "/v1/chat/completions?x=1",
        "headers": dict(BARE.headers),
        "body": json.loads(BARE.body),
    }

    assert run(saved("a", whole)) == 0

    expected = lookup(arrival(chat("hi"), query="x=1"))
    assert isinstance(expected, Lookup)
    assert expected.key.hex() in capsys.readouterr().out


def test_how_an_answer_would_live_is_told(saved: Any, capsys: Any, tmp_path: Path) -> None:
    config = tmp_path / "a.toml"
    config.write_text('[cache]\ncalendars = ["XNYS", "XHKG"]')
    tags = {"tags": ["exchange:XNYS", "exchange:XHKG", "permanent"]}

    assert run(saved("a", chat("a", cache=tags)), "--config", str(config)) == 0

    told = "3600 s before jitter, and no longer than to the next close of XHKG or XNYS, pinned"
    assert told in capsys.readouterr().out


def test_a_body_may_be_given_as_the_text_it_was(saved: Any, capsys: Any) -> None:
    path = "/v1/chat/completions"
    as_object = saved(
        "a", {"path": path, "body": {"model": "m"}, "headers": [["openai-beta", "x"]]}
    )
    as_text = saved("b", {"path": path, "body": '{ "model":"m"}', "headers": {"OpenAI-Beta": "x"}})

    assert run(as_object, as_text) == 0
    assert "yes: one key" in capsys.readouterr().out


def test_two_requests_are_compared(saved: Any, capsys: Any) -> None:
    assert run(saved("a", chat("a ")), saved("b", chat("a", seed=1))) == 0

    out = capsys.readouterr().out
    assert "no: different keys" in out
    assert "$.messages[0].content" in out
    assert "$.seed" in out


def test_two_spellings_that_meet_are_told(saved: Any, capsys: Any) -> None:
    assert run(saved("a", chat("a ")), saved("b", chat("a"))) == 0
    assert "yes: one normalized key" in capsys.readouterr().out


def test_a_request_that_is_passed_on_says_why(saved: Any, capsys: Any) -> None:
    assert run(saved("a", chat(store=True))) == 0
    assert "store_true: " in capsys.readouterr().out


def test_a_bare_body_is_for_the_operation_named(saved: Any, capsys: Any) -> None:
    body = saved("a", {"model": "e", "input": ["a", "b"]})

    assert run(body, "--endpoint", "embeddings") == 0
    assert "item 1 " in capsys.readouterr().out


def test_standard_input_is_read(capsys: Any) -> None:
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(BARE.body))
    try:
        code = run("-")
    finally:
        sys.stdin = before

    assert code == 0
    assert '"content":"hi"' in capsys.readouterr().out


@pytest.mark.parametrize(
    "content",
    [
        {"path": "/v1/models", "body": {}},
        {"path": "/v1/chat/completions", "method": "GET", "body": {}},
        {"path": 5, "body": {}},
        {"path": "/v1/completions", "headers": 5, "body": {}},
        {"path": "/v1/completions", "headers": [5], "body": {}},
        {"path": "/v1/completions", "headers": {"x-cache": "maybe"}, "body": {}},
    ],
)
def test_what_is_no_request_or_refused_fails(saved: Any, capsys: Any, content: Any) -> None:
    assert run(saved("a", content)) == 1
    assert capsys.readouterr().err.startswith("hotprefix: ")


def test_a_file_that_is_not_there_fails(capsys: Any) -> None:
    assert run("not-there.json") == 1
    assert "not-there.json" in capsys.readouterr().err


def test_a_stranger_is_refused_where_tenants_are_configured(saved: Any, capsys: Any) -> None:
    config = saved("c", b'[[tenant]]\nname = "blue"\nkey_env = "PATH"')

    assert run(saved("a", chat()), "--config", config) == 1
    assert "no credential" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        (b"[cache]\nttl = 'soon'", "`cache.ttl`"),
        (b"[[tenant]]\nname='a'\nkey_env='NOT_SET'", "`tenant[0].key_env`"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_named(
    saved: Any, capsys: Any, text: bytes, setting: str
) -> None:
    assert run(saved("a", chat()), "--config", saved("c", text)) == 2
    assert setting in capsys.readouterr().err


def test_standard_input_cannot_be_both() -> None:
    assert run("-", "-") == 2


def test_questions_that_may_be_compared_are_told(saved: Any, capsys: Any, tmp_path: Path) -> None:
    config = tmp_path / "a.toml"
    config.write_text('[semantic]\nmode = "shadow"')
    files = saved("a", chat("refund process")), saved("b", chat("how do I get a refund"))

    assert run(*files, "--config", str(config)) == 0
    told = capsys.readouterr().out
    assert told.count("compared by meaning within scope") == 2
    assert "perhaps: questions of one scope" in told

    assert run(*files) == 0
    assert "no: different keys" in capsys.readouterr().out
