"""Settings: what is accepted, and what an error says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxy.config import Config, ConfigError, load, parse
from proxy.quantity import seconds, size

EXAMPLE = Path(__file__).parent.parent / "config.example.toml"


def uncommented(text: str) -> str:
    """The example with its examples in use: lines that begin with `#` and no blank."""
    return re.sub(r"^#(?=\S)", "", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0, 0.0),
        (1.5, 1.5),
        ("90", 90.0),
        ("90s", 90.0),
        ("250ms", 0.25),
        ("5m", 300.0),
        ("1.5h", 5400.0),
        ("7d", 604800.0),
        ("2w", 1209600.0),
        (" 5 M ", 300.0),
    ],
)
def test_a_duration_is_read_as_seconds(written: str | float, meant: float) -> None:
    assert seconds(written) == meant


@pytest.mark.parametrize("written", ["", "5y", "-5m", "5m30s", "m", -1, True, float("inf"), [5]])
def test_what_is_no_duration_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        seconds(written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0, 0),
        (4096, 4096),
        ("4096", 4096),
        ("1B", 1),
        ("1kB", 1000),
        ("64KiB", 65536),
        ("64mib", 67108864),
        ("1.5 GiB", 1610612736),
        ("2TB", 2000000000000),
    ],
)
def test_a_size_is_read_as_bytes(written: str | int, meant: int) -> None:
    assert size(written) == meant


@pytest.mark.parametrize("written", ["", "64MiBs", "-1MiB", "MiB", -1, True, 1.5, [5]])
def test_what_is_no_size_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="expected a size"):
        size(written)


NODE = '[[upstream]]\nname = "a"\nurl = "http://a/v1"\n'


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("[server]\nprot = 1", "server"),
        ("[server]\nport = 70000", "server.port"),
        ("[server]\nport = '80'", "server.port"),
        ("[server]\nworkers = 0", "server.workers"),
        ("[server]\nmax_body_bytes = '1 potato'", "server.max_body_bytes"),
        ("[cache]\nttl = 'soon'", "cache.ttl"),
        ("[cache]\nttl = true", "cache.ttl"),
        ("[cache]\njitter = 1.0", "cache.jitter"),
        ("[cache]\nnormalize = 'hard'", "cache.normalize"),
        ("[cache.memory]\nmax_bytes = -1", "cache.memory.max_bytes"),
        ("[cache.redis]\ntimeout = 0", "cache.redis.timeout"),
        ("[cache.redis]\nprefix = ''", "cache.redis.prefix"),
        ("[server]\nport = 9000\n[admin]\nport = 9000", "admin.port"),
        (
            '[server]\nport = 9001\nworkers = 2\n[peers]\nport = 9000\nsecret_env = "S"',
            "peers.port",
        ),
        ("[breaker]\nfailure_ratio = 0.0", "breaker.failure_ratio"),
        ("[breaker]\nmin_calls = 0", "breaker.min_calls"),
        ("[breaker]\nopen_for = -1", "breaker.open_for"),
        ("[breaker]\nwindow = 0", "breaker.window"),
        ("[overload]\nmax_attempts = 0", "overload.max_attempts"),
        ("[overload]\nretry_ratio = 2.0", "overload.retry_ratio"),
        ("[limits]\nrequests_per_minute = -1", "limits.requests_per_minute"),
        ("[semantic]\nmode = 'maybe'", "semantic.mode"),
        ("[semantic]\nembedder = 'word2vec'", "semantic.embedder"),
        ("[semantic]\nmin_similarity = 1.5", "semantic.min_similarity"),
        ("[semantic]\nmax_error_rate = 0", "semantic.max_error_rate"),
        ("[semantic]\nantonyms = [['a']]", "semantic.antonyms[0]"),
        ("[semantic]\nindex = 'localhost'", "semantic.index"),
        (
            "[semantic]\nindex = 'redis://a'\n[cache.encryption]\nkey = 'env:K'",
            "semantic.index",
        ),
        ("[semantic.judge]\nmode = 'sync'", "semantic.judge"),
        ("[semantic.judge]\nmode = 'async'\nurl = 'http://a/v1'", "semantic.judge"),
        ("[[upstream]]\nname = 'a'", "upstream[0]"),
        (NODE + NODE.replace("http", "ftp").replace('"a"', '"b"'), "upstream[1].url"),
        (NODE.replace("/v1", "/v1?x=1"), "upstream[0].url"),
        (NODE + "events = 'tcp://*:5557'", "upstream[0].events"),
        (NODE + "events = 'http://a:5557'", "upstream[0].events"),
        (NODE + "events = 'tcp://a:65536'", "upstream[0].events"),
        (NODE + "events = 'tcp://a'", "upstream[0].events"),
        (NODE + "events = 'tcp://a:1'\nevents_replay = 'a:2'", "upstream[0].events_replay"),
        (NODE + "events_replay = 'tcp://a:2'", "upstream[0].events"),
        (NODE + NODE, "upstream[0].name"),
        (NODE + "zone = 3", "upstream[0].zone"),
        ("[[cache.mask]]\nname = 'a'\npattern = '('", "cache.mask[0]"),
        ("[[cache.rule]]\nttl = 1\ntext = '('", "cache.rule[0].text"),
        ("[[tenant]]\nname = 'a'", "tenant[0]"),
        ("[admin]\nhost = '0.0.0.0'", "admin.token_env"),
    ],
)
def test_an_error_names_the_settings_path(text: str, path: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)

    assert f"`{path}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_text_that_is_not_toml_says_where() -> None:
    with pytest.raises(ConfigError, match=r"not TOML: .*line 2"):
        parse("[server]\nport 8080")


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("［server］\r\nport = 1", "［"),
        ("[server]\nport＝1", "＝"),
        ("[[upstream]]\nname = “a”", "“"),
    ],
)
def test_a_sign_that_looks_like_one_of_tomls_is_shown(text: str, sign: str) -> None:
    with pytest.raises(ConfigError, match=rf"not TOML: .*: {sign} is not ASCII; only comments"):
        parse(text)


def test_a_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text("[server]\nport = 1", "utf-8-sig")

    assert load(tmp_path / "settings.toml").server.port == 1


def test_a_file_in_another_encoding_is_told_from_one_that_is_away(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_bytes("# 中文".encode("gbk"))

    with pytest.raises(ConfigError, match=r"settings\.toml: it is not in UTF-8 \(byte 2\)"):
        load(path)
    with pytest.raises(ConfigError, match=r"^cannot read .*away\.toml: No such file or directory$"):
        load(tmp_path / "away.toml")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_a_file_that_cannot_be_read_is_a_bad_configuration(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "hotprefix.toml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError, match=r"cannot read .*hotprefix\.toml"):
        load(path)


def test_off_loopback_a_token_opens_the_admin_port() -> None:
    config = parse("[admin]\nhost = '0.0.0.0'\ntoken_env = 'ADMIN_TOKEN'")

    assert config.admin.token_env == "ADMIN_TOKEN"


def test_the_example_holds_the_defaults() -> None:
    assert load(EXAMPLE) == Config()


def test_the_examples_in_the_example_load() -> None:
    config = parse(uncommented(EXAMPLE.read_text(encoding="utf-8")))

    assert [node.name for node in config.upstream] == ["openai"]
    assert [model.target for model in config.model] == ["gpt-4o-mini"]
    assert [tenant.key_env for tenant in config.tenant] == ["SUPPORT_KEY"]
    assert [mask.name for mask in config.cache.mask] == ["session"]
    assert [rule.ttl for rule in config.cache.rule] == [600.0]
