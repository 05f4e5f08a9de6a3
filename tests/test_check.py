"""`hotprefix check` and `hotprefix demo`, run as a user runs them."""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from proxy.cli import check, demo, serve
from proxy.config import Config, parse
from tests.test_config import EXAMPLE, uncommented
from tests.test_layout import settings

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
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "full.toml"
    odd = 'namespace = "a \\"quoted\\" \\\\ \\u007f 名"'
    path.write_text(FULL.replace('namespace = ""', odd, 1).replace('ttl = "1h"', "ttl = 90.25"))
    monkeypatch.setenv("SUPPORT_KEY", "sk-support")
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
    assert said.err.startswith(f"hotprefix: {path}: ")
    assert said.err.endswith("'NOPE' - at `cache.calendars[1]`\n")


def test_a_schedule_without_its_file_is_no_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    table = '[[warming.schedule]]\ncron = "* * * * *"\nfile = "none.jsonl"'
    path.write_text(f'[warming]\nmode = "on"\n{table}')

    assert command("check", str(path)) == 2
    assert capsys.readouterr().err.startswith(f"hotprefix: {path}: none.jsonl: ")


def test_a_folder_that_cannot_be_written_is_told_and_the_settings_are_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is no bad file: `serve` goes on without the tier."""
    path = tmp_path / "a.toml"
    path.write_text(f"[cache.disk]\npath = '{path}/cache'")

    assert command("check", str(path)) == 1
    said = capsys.readouterr()
    assert "[server]" in said.out
    assert said.err == (
        f"hotprefix: {path}: cannot write {path}/cache: {path} is no folder"
        " - at `cache.disk.path`\n"
    )


UNUSABLE = (
    "[cache.encryption]\nkey = 'vault:x'",
    "[[upstream]]\nname = 'a'\nurl = 'http://a'\nprovider = 'nobody'",
    "[cache.redis]\nurl = 'http://a'",
    "[cache.objects]\nurl = 'ftp://a'",
    "[warming]\ntimezone = 'Nowhere'",
    "[[tenant]]\nname = 'a'\nkey_env = 'NOT_SET_HERE'",
)


@pytest.mark.parametrize("text", UNUSABLE)
def test_what_cannot_be_served_with_is_told_with_the_files_name(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the file was named; `calibrate` and `explain` read it in the same way."""
    path = tmp_path / "a.toml"
    node = "" if "[[upstream]]" in text else "[[upstream]]\nname = 'a'\nurl = 'http://a'\n"
    path.write_text(node + text)

    assert command("serve", "--config", str(path)) == 2
    by_flag = capsys.readouterr().err
    monkeypatch.setenv("HOTPREFIX_CONFIG", str(path))
    assert command("serve") == 2

    assert by_flag == capsys.readouterr().err
    assert by_flag.startswith(f"hotprefix: {path}: ")
    assert by_flag.count(str(path)) == 1


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
    assert "`server.port`" in err


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
    '[cache.redis]\nurl = "redis://:hunter2@host:port"': "cache.redis.url",
    '[cache.redis]\nurl = "http://:hunter2@host"': "cache.redis.url",
    '[cache.redis]\nurl = "rediss://host"\nca_file = "/none"': "cache.redis.ca_file",
    '[cache.objects]\nurl = "s3:bucket"': "cache.objects.url",
    '[cache.encryption]\nkey = "vault:x"': "cache.encryption.key",
    '[cache.encryption]\nkey = "env:NO_KEY"': "cache.encryption.key",
    '[cache.encryption]\nkey = "file:/none"': "cache.encryption.key",
    '[cache.encryption]\nold_keys = ["file:/none"]': "cache.encryption.key",
    '[peers]\nsecret_env = "SHORT"': "peers.secret_env",
    '[cache]\ncalendars = ["NOPE"]': "cache.calendars[0]",
    f"{TENANT.format('a', 'ONE')}{TENANT.format('b', 'TWO')}": "tenant[1].key_env",
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


NODE = '[[upstream]]\nname = "u"\nurl = "http://127.0.0.1:1/v1"\n'
UNSET = {
    "server.partition_key_env": '[server]\npartition_key_env = "GONE"',
    "admin.token_env": '[admin]\ntoken_env = "GONE"',
    "upstream[0].key_env": f'{NODE}key_env = "GONE"',
    "cache.redis.password_env": '[cache.redis]\nurl = "redis://host"\npassword_env = "GONE"',
    "cache.encryption.key": '[cache.encryption]\nkey = "env:GONE"',
    "cache.encryption.old_keys[0]": (
        '[cache.encryption]\nkey = "env:MASTER"\nold_keys = ["env:GONE"]'
    ),
    "semantic.embedder": '[semantic]\nembedder = "http://a/v1?model=m&key_env=GONE#x"',
    "semantic.judge.key_env": '[semantic.judge]\nkey_env = "GONE"',
    "warming.schedule[0].key_env": (
        '[[warming.schedule]]\ncron = "* * * * *"\nfile = "x"\nkey_env = "GONE"'
    ),
    "peers.secret_env": '[peers]\nsecret_env = "GONE"',
    "tenant[0].key_env": '[[tenant]]\nname = "a"\nkey_env = "GONE"',
    "tenant[0].upstream_key_env": (
        '[[tenant]]\nname = "a"\nkey_env = "MASTER"\nupstream_key_env = "GONE"'
    ),
}


@pytest.mark.parametrize("where", UNSET)
def test_a_variable_that_is_not_there_is_told_by_a_check_and_ends_serve(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setenv("MASTER", "00" * 32)
    path = tmp_path / "a.toml"
    path.write_text(UNSET[where] if "[[upstream]]" in UNSET[where] else f"{UNSET[where]}\n{NODE}")

    checked, said = command("check", str(path)), capsys.readouterr()
    served, ended = command("serve", "--config", str(path)), capsys.readouterr()

    assert checked == 1
    assert said.err == f"hotprefix: {path}: the variable GONE is not set - at `{where}`\n"
    assert parse(said.out) == parse(path.read_text())
    assert served == 2
    assert f"the variable GONE is not set - at `{where}`" in ended.err


def test_every_setting_that_names_a_variable_is_among_those() -> None:
    tried = {re.sub(r"\[\d+\]", "", where).removeprefix("") for where in UNSET}

    assert {".".join(one) for one in settings(Config) if one[1].endswith("_env")} <= tried


def test_all_variables_that_are_not_there_are_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.toml"
    path.write_text(f'{NODE}key_env = "GONE"\n[[tenant]]\nname = "a"\nkey_env = "LOST"\n')

    assert command("check", str(path)) == 1

    told = capsys.readouterr()
    assert ["GONE" in told.err, "LOST" in told.err, told.err.count("\n")] == [True, True, 2]
    assert told.out.count("# not set") == 2


@pytest.mark.parametrize(
    "url", ["redis://me:hunter2@host/0", "redis://:hun@ter2/hunter2@host:1/0", "rediss://hunter2@h"]
)
def test_a_password_inside_a_url_is_not_shown(url: str) -> None:
    printed = "\n".join(check.effective(parse(f'[cache.redis]\nurl = "{url}"'), {}))

    assert "hunter2" not in printed
    assert "ter2" not in printed
    assert f"***@{url.rpartition('@')[2]}" in printed
