"""`hotprefix check` and `hotprefix demo`, run as a user runs them."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from proxy.cli import check, demo, serve
from proxy.config import parse
from tests.test_config import EXAMPLE, uncommented

FULL = uncommented(EXAMPLE.read_text(encoding="utf-8"))


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("hotprefix")
    commands = parser.add_subparsers(required=True)
    check.add(commands)
    demo.add(commands)
    serve.add(commands)
    return parser


def command(*argv: str) -> int:
    args = parser().parse_args(argv)
    code: int = args.run(args)
    return code


def test_what_is_printed_loads_as_the_same_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "full.toml"
    odd = 'namespace = "a \\"quoted\\" \\\\ \\u007f 名"'
    path.write_text(FULL.replace('namespace = ""', odd, 1).replace('ttl = "1h"', "ttl = 90.25"))
    code = command("check", str(path))
    printed = capsys.readouterr().out

    assert code == 0
    assert parse(printed) == parse(path.read_text())
    assert parse(printed).cache.ttl == 90.25


def test_an_exchange_that_does_not_exist_is_one_line_and_no_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    path.write_text('[cache]\ncalendars = ["XNYS", "NOPE"]')

    assert command("check", str(path)) == 2

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.endswith("'NOPE' - at `$.cache.calendars[1]`\n")


def test_a_schedule_without_its_file_is_no_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    table = '[[warming.schedule]]\ncron = "* * * * *"\nfile = "none.jsonl"'
    path.write_text(f'[warming]\nmode = "on"\n{table}')

    assert command("check", str(path)) == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_lengths_of_time_and_sizes_are_printed_in_units() -> None:
    text = (
        "[cache]\nttl = 7200\n[cache.disk]\nmax_bytes = 2147483648\n[cache.redis]\ntimeout = 0.005"
    )
    lines = list(check.effective(parse(text), {}))

    assert 'ttl = "2h"' in lines
    assert 'max_bytes = "2GiB"' in lines
    assert "timeout = 0.005" in lines


def test_secrets_are_named_and_never_shown() -> None:
    text = FULL.replace("https://api.openai.com", "https://me:hunter2@api.openai.com")
    text = text.replace('#key_env = ""', 'key_env = "OPENAI_API_KEY"')
    environment = {"SUPPORT_KEY": "sk-hidden", "ANOTHER": "hunter3"}
    printed = "\n".join(check.effective(parse(text), environment))

    assert 'key_env = "SUPPORT_KEY"  # set' in printed
    assert 'url = "https://***@api.openai.com/v1"' in printed
    assert not [secret for secret in ("sk-hidden", "hunter2", "hunter3") if secret in printed]


def test_a_variable_that_is_not_there_is_remarked() -> None:
    lines = list(check.effective(parse('[admin]\ntoken_env = "NOT_THERE"'), {}))

    assert 'token_env = "NOT_THERE"  # not set' in lines


def test_a_bad_file_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("[server]\nport = 'x'")
    code = command("check", str(path))
    out, err = capsys.readouterr()

    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "`$.server.port`" in err


def test_the_demo_takes_durations() -> None:
    args = parser().parse_args(["demo", "--latency", "250ms", "--token-delay", "0.5"])

    assert (args.latency, args.token_delay, args.host) == (0.25, 0.5, "127.0.0.1")


def test_a_demo_that_cannot_listen_fails_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    # 192.0.2.0/24 belongs to nobody (RFC 5737): no machine can listen there.
    code = command("demo", "--host", "192.0.2.1")

    assert code == 1
    assert capsys.readouterr().err.startswith("hotprefix: cannot listen on 192.0.2.1:")


def test_the_demo_says_where_it_is_and_ends_on_a_signal() -> None:
    argv = [sys.executable, "-m", "proxy", "demo", "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        said = demo.stdout.readline()
        url = said.split()[-1]
        with urllib.request.urlopen(f"{url}/models") as answer:
            labelled = answer.headers["x-demo-upstream"]
        demo.send_signal(signal.SIGTERM)
        code = demo.wait(5)

    assert "no model behind it" in said
    assert labelled == "true"
    assert code == 0


SECRETS = {"SHORT": "hunter2", "NO_KEY": "hunter2 is no key", "ONE": "same", "TWO": "same"}
TENANT = '[[tenant]]\nname = "{}"\nkey_env = "{}"\n'
BAD = {
    '[cache.redis]\nurl = "redis://:hunter2@host:port"': "$.cache.redis.url",
    '[cache.redis]\nurl = "http://:hunter2@host"': "$.cache.redis.url",
    '[cache.redis]\nurl = "rediss://host"\nca_file = "/none"': "$.cache.redis.ca_file",
    '[cache.objects]\nurl = "s3:bucket"': "$.cache.objects.url",
    '[cache.encryption]\nkey = "vault:x"': "$.cache.encryption.key",
    '[cache.encryption]\nkey = "env:NO_KEY"': "$.cache.encryption.key",
    '[cache.encryption]\nkey = "file:/none"': "$.cache.encryption.key",
    '[cache.encryption]\nold_keys = ["file:/none"]': "$.cache.encryption.key",
    '[peers]\nsecret_env = "SHORT"': "$.peers.secret_env",
    '[cache]\ncalendars = ["NOPE"]': "$.cache.calendars[0]",
    f"{TENANT.format('a', 'ONE')}{TENANT.format('b', 'TWO')}": "$.tenant[1].key_env",
}


@pytest.mark.parametrize("name", ["check", "serve"])
@pytest.mark.parametrize("bad", BAD)
def test_what_cannot_be_used_is_one_line_with_the_setting_and_without_secrets(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    bad: str,
) -> None:
    for variable, value in SECRETS.items():
        monkeypatch.setenv(variable, value)
    path = tmp_path / "bad.toml"
    path.write_text(bad + '\n[[upstream]]\nname = "u"\nurl = "http://127.0.0.1:1/v1"\n')

    code = command(name, *(["--config"] if name == "serve" else []), str(path))

    said = capsys.readouterr()
    assert (code, said.out) == (2, "")
    assert said.err.count("\n") == 1
    assert BAD[bad] in said.err
    assert "hunter2" not in said.err
    assert "same\n" not in said.err


UNSET = (
    '[admin]\ntoken_env = "GONE"\n[peers]\nsecret_env = "GONE"\n'
    '[cache.redis]\nurl = "redis://host"\npassword_env = "GONE"\n'
    '[cache.encryption]\nkey = "env:GONE"\n'
    '[[upstream]]\nname = "u"\nurl = "http://127.0.0.1:1/v1"\nkey_env = "GONE"\n'
    '[[tenant]]\nname = "a"\nkey_env = "GONE"\n'
)


def test_variables_that_only_the_gateway_has_are_no_mistake_in_a_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    path.write_text(UNSET)

    assert command("check", str(path)) == 0
    assert capsys.readouterr().out.count("# not set") == 6
    assert command("serve", "--config", str(path)) == 2
    assert "GONE is not set" in capsys.readouterr().err


@pytest.mark.parametrize(
    "url", ["redis://me:hunter2@host/0", "redis://:hun@ter2/hunter2@host:1/0", "rediss://hunter2@h"]
)
def test_a_password_inside_a_url_is_not_shown(url: str) -> None:
    printed = "\n".join(check.effective(parse(f'[cache.redis]\nurl = "{url}"'), {}))

    assert "hunter2" not in printed
    assert "ter2" not in printed
    assert f"***@{url.rpartition('@')[2]}" in printed
