"""Changed JSON objects: what was not to be changed keeps every character."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.splice import appended, members, replaced, without

names = st.sampled_from(["cache", "model", "a", "", 'quo"te', "\\", "é"])
scalars = st.sampled_from([None, True, 1, -1.5e300, 10**30, "", "}", '{"cache":1}', "é\n😀", ",:"])
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=5,
)
blanks = st.sampled_from(["", " ", "\n\t", "  \r\n"])


@st.composite
def objects(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """An object's text with any blanks and repeats, and its members as spelled."""
    spelled = []
    for _ in range(draw(st.integers(0, 4))):
        name = json.dumps(draw(names), ensure_ascii=draw(st.booleans()))
        value = json.dumps(
            draw(values), ensure_ascii=draw(st.booleans()), indent=draw(st.none() | st.just(1))
        )
        spelled.append((name, value))
    inside = ",".join(
        draw(blanks) + name + draw(blanks) + ":" + draw(blanks) + value + draw(blanks)
        for name, value in spelled
    )
    return draw(blanks) + "{" + (inside or draw(blanks)) + "}" + draw(blanks), spelled


def nested(text: str) -> list[tuple[str, Any]]:
    """The members of the object, in order, repeats kept; inner objects as such lists."""
    found: list[tuple[str, Any]] = json.loads(text, object_pairs_hook=list)
    return found


@given(objects())
def test_every_member_is_found_where_it_lies(made: tuple[str, list[tuple[str, str]]]) -> None:
    text, spelled = made

    found = members(text)

    assert [
        (text[m.start :].startswith(n), text[m.value : m.end])
        for m, (n, _) in zip(found, spelled, strict=True)
    ] == [(True, value) for _, value in spelled]
    assert [m.name for m in found] == [json.loads(name) for name, _ in spelled]


@given(objects(), names)
def test_all_copies_of_a_member_go_and_nothing_else(
    made: tuple[str, list[tuple[str, str]]], name: str
) -> None:
    text, _ = made

    left = without(text, name)

    assert nested(left) == [pair for pair in nested(text) if pair[0] != name]
    kept = [text[m.start : m.end] for m in members(text) if m.name != name]
    assert [left[m.start : m.end] for m in members(left)] == kept


def test_an_object_without_the_member_is_the_same_object() -> None:
    text = ' {"a" : {"cache": 1} }\n'

    assert without(text, "cache") is text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ('{"cache":{},"a":1}', '{"a":1}'),
        ('{"a":1,"cache":{}}', '{"a":1}'),
        ('{"a":1, "cache":{}, "b":2}', '{"a":1, "b":2}'),
        ('{"cache":1,"a":1,"cache":{"x":[1,2]}}', '{"a":1}'),
        ('{ "cache":1 }', "{  }"),
        ('{"c\\u0061che":1,"a":1}', '{"a":1}'),
        ('{"a":[{"cache":1}],"cache":{}}', '{"a":[{"cache":1}]}'),
    ],
)
def test_a_member_goes_with_its_comma(text: str, left: str) -> None:
    assert without(text, "cache") == left


@given(objects(), names)
def test_a_value_is_replaced_wherever_its_name_is(
    made: tuple[str, list[tuple[str, str]]], name: str
) -> None:
    text, _ = made

    after = replaced(text, name, '"new"')

    assert nested(after) == [(n, "new" if n == name else value) for n, value in nested(text)]
    assert [after[m.value : m.end] for m in members(after) if m.name != name] == [
        text[m.value : m.end] for m in members(text) if m.name != name
    ]


@given(objects(), names)
def test_an_appended_member_is_the_last(made: tuple[str, list[tuple[str, str]]], name: str) -> None:
    text, _ = made

    after = appended(text, name, '{"x":1}')

    assert nested(after) == [*nested(text), (name, [("x", 1)])]
    assert after.startswith(text[: text.rindex("}")].rstrip())


@pytest.mark.parametrize(
    "text", ["", "[]", "5", '{"a"}', '{"a":1', '{"a":1 "b":2}', "\ufeff{}", "{,}"]
)
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        members(text)


def test_a_number_longer_than_python_reads_is_passed_over() -> None:
    text = '{"cache":1,"a":' + "9" * 5000 + "}"

    assert without(text, "cache") == '{"a":' + "9" * 5000 + "}"
