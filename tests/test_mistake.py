"""What is told of mistakes in the settings: each setting broken in every way that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec.inspect as kinds
import pytest

from proxy.config import Config, ConfigError, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

NEEDED: Final = {
    "upstream": {"name": "'a'", "url": "'http://a/v1'"},
    "provider": {"name": "'a'"},
    "model": {"name": "'a'"},
    "cache.mask": {"name": "'a'", "pattern": "'x'"},
    "warming.schedule": {"cron": "'* * * * *'", "file": "'x'"},
    "static": {"text": "'x'"},
    "tenant": {"name": "'a'", "key_env": "'A'"},
}
"""What a table has to have, as TOML."""
WRONG: Final = {
    "5": "5",
    "true": "true",
    "-7.5": "-7.5",
    "'%'": '"%"',
    "['%']": "a list of 1",
    "{a = 1}": "a table",
    "2026-11-30": "2026-11-30",
}
"""Values as TOML, and as they are told."""
FOREIGN: Final = ("Object", "Expected", "Invalid", "regex", "`int", "`str", "$", "\\", "^", "None")
"""What is no newcomer's word: msgspec's, and parts of patterns."""


def bare(kind: Any) -> Any:
    while isinstance(kind, kinds.Metadata):
        kind = kind.type
    if isinstance(kind, kinds.UnionType):
        return bare(kind.types[0])
    return kind


def every(kind: Any = None, path: str = "", header: str = "") -> Iterator[tuple[str, str, Any]]:
    """The header of each setting's table, its own name, and its kind."""
    table: Any = kind or kinds.type_info(Config)
    for field in table.fields:
        own = bare(field.type)
        inner = bare(own.item_type) if isinstance(own, kinds.VarTupleType) else own
        if isinstance(inner, kinds.StructType):
            below = f"{path}.{field.name}" if path else field.name
            yield from every(inner, below, f"[{below}]" if inner is own else f"[[{below}]]")
        else:
            yield header, field.name, own


SETTINGS: Final = {f"{header.strip('[]')}.{name}": (header, name) for header, name, _ in every()}
CHOICES: Final = {
    f"{header.strip('[]')}.{name}": (header, name, kind.values)
    for header, name, kind in every()
    if isinstance(kind, kinds.LiteralType)
}


def place(header: str, name: str) -> str:
    return f"`{header.strip('[]')}{'[0]' if header.startswith('[[') else ''}.{name}"


def written(header: str, name: str, value: str, *, drop: str = "") -> str:
    """A table with all that it has to have and this."""
    needed = {"token_env": "'A'"} if header == "[admin]" else NEEDED.get(header.strip("[]"), {})
    rows = {**needed, name: value}
    rows.pop(drop, None)
    return "\n".join([header, *(f"{row} = {content}" for row, content in rows.items())])


def told(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    said = str(caught.value)

    assert [word for word in FOREIGN if word in said] == []
    assert "\n" not in said
    return said


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_wrong_value_is_told_with_the_setting_and_with_what_is_expected(setting: str) -> None:
    header, name = SETTINGS[setting]
    refused = []
    for value, shown in WRONG.items():
        text = written(header, name, value)
        try:
            parse(text)
        except ConfigError:
            said = told(text)
            refused.append(value)

            assert place(header, name) in said
            assert f"got {shown}" in said or shown == "a list of 1"  # or what is in it
            assert said.startswith("expected ")

    assert len(refused) >= 4


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_misspelt_setting_is_told_with_the_right_one(setting: str) -> None:
    header, name = SETTINGS[setting]
    misspelt = f"{name[:-2]}{name[-1]}{name[-2]}" if name[-1] != name[-2] else name[:-1]
    said = told(written(header, misspelt, "1", drop=name))

    assert said.startswith("no such setting; did you mean `")
    assert f"did you mean {place(header, name)}`?" in said
    assert said.endswith(f"at {place(header, misspelt)}`")


@pytest.mark.parametrize("setting", CHOICES)
def test_a_choice_that_there_is_not_is_told_with_those_that_there_are(setting: str) -> None:
    header, name, values = CHOICES[setting]
    said = told(written(header, name, f"'{values[0]}s'"))

    assert all(f'"{value}"' in said for value in values)
    assert said.count(f'did you mean "{values[0]}"?') == 1


@pytest.mark.parametrize(
    ("header", "name"), [(f"[[{table}]]", name) for table in NEEDED for name in NEEDED[table]]
)
def test_what_is_missing_is_told(header: str, name: str) -> None:
    other = "models" if header in ("[[upstream]]", "[[tenant]]") else "nothing"
    text = written(header, other, "['*']", drop=name) if other == "models" else header
    text = text if other == "models" else written(header, name, "1", drop=name)

    assert told(text) == f"missing: expected text in quotes - at {place(header, name)}`"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "port = 1",
            "no such setting; did you mean `server.port` or `admin.port` or `peers.port`?",
        ),
        ("[sevrer]", "no such setting; did you mean `server`? - at `sevrer`"),
        ("[[upstreams]]", "no such setting; did you mean `upstream`? - at `upstreams`"),
        ("[cache.memroy]", "no such setting; did you mean `cache.memory`? - at `cache.memroy`"),
        ("[server]\nmax-body-bytes = 1", "did you mean `server.max_body_bytes`?"),
        ("[zone]\ncolour = 1", "no such setting; there are name - at `zone.colour`"),
        ("[cache]\ncolour = 1", "no such setting; config.example.toml has all that there are"),
        ('[zone]\n"a\\nb" = 1', r'at `zone."a'),
        ("[upstream]\nname = 'a'", "expected tables that begin with [[upstream]], got a table"),
        ("[[server]]", "expected a table, as [server] begins one, got a list of tables"),
        ("[server]\nport = '80'", 'got "80"; write it without quotes - at `server.port`'),
        ("[log]\nrequests = 'true'", 'expected true or false, got "true"; write it without'),
        ("[semantic]\nantonyms = [['a']]", "a list of 2 texts in quotes, got a list of 1"),
        ("[semantic]\nclasses = ['a']", "expected a list of texts"),
        (f"[server]\nport = '{'x' * 99}'", f'got "{"x" * 60}…"'),
    ],
)
def test_what_a_newcomer_writes_is_told_in_words(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)

    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_secret_of_a_url_is_told() -> None:
    node = "[[upstream]]\nname = 'a'\nurl = 'http://a'\n"
    said = [
        told("[[upstream]]\nname = 'a'\nurl = 'https://me:hunter2@a/v1?key=hunter3'"),
        told(f"{node}metrics = 'ftp://me:hunter2@a/metrics?key=hunter3'"),
        told("[semantic]\nindex = 'http://me:hunter2@a/?key=hunter3'"),
        told("[semantic]\nindex = 'http://me:hun/hunter2@hunter3@a'"),
    ]

    assert [one for one in said if "hunter" in one] == []
    assert all("***" in one for one in said)
