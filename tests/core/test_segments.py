"""The parts of a prompt, and breakpoints that are none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import canonical
from proxy.core.segments import segments, written

MARK = {"cache_control": {"type": "ephemeral"}}
CHAT = ("messages",)

names = st.sampled_from(["cache_control", "content", "x"])
values = st.recursive(
    st.none() | st.integers() | st.text(max_size=4) | st.just('"cache_control"') | names,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=10,
)


def unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: unmarked(one) for name, one in value.items() if name != "cache_control"}
    return [unmarked(one) for one in value] if isinstance(value, list) else value


def of(**fields: Any) -> list[tuple[bytes, bytes]]:
    return list(segments(fields, CHAT))


@given(values)
def test_breakpoints_are_left_out_at_any_depth_and_nothing_else(value: Any) -> None:
    assert written(value) == canonical.encoded(unmarked(value))


@given(st.lists(values | st.fixed_dictionaries({"role": st.just("user"), "content": values})))
def test_every_message_is_written_without_breakpoints(messages: list[Any]) -> None:
    assert of(messages=messages) == of(messages=unmarked(messages))


def test_a_breakpoint_may_be_spelled_with_escapes() -> None:
    body = rb'{"messages":[{"role":"user","content":"a","cache\u005fcontrol":{"type":"e"}}]}'

    assert of(**msgspec.json.decode(body)) == of(messages=[{"role": "user", "content": "a"}])


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": "a", **MARK},
        {"role": "user", "content": [{"type": "text", "text": "a", **MARK}]},
        {"role": "user", "content": [{"type": "text", "text": "a", **MARK}], **MARK},
    ],
)
def test_a_marked_turn_is_the_same_turn(message: dict[str, Any]) -> None:
    assert of(messages=[message]) == [(b"user", b"a")]


@pytest.mark.parametrize("role", ["", "user", "r" * 64])
def test_a_turn_that_is_a_text_is_that_text(role: str) -> None:
    assert of(messages=[{"content": "{a", "role": role}]) == [(role.encode(), b"{a")]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "r" * 65, "content": "a"},
        {"role": "user", "content": "a", "name": "n"},
        {"role": "user", "text": "a"},
        {"role": None, "content": "a"},
        {"content": "a"},
    ],
)
def test_anything_else_is_what_no_text_can_be(message: dict[str, Any]) -> None:
    [(_, text)] = of(messages=[message])

    assert text == b"\xff" + canonical.encoded(message)


def test_an_earlier_answer_is_no_message() -> None:
    [(role, _)] = segments({"previous_response_id": "r"}, ("previous_response_id",))
    [(other, _)] = segments({"conversation": "r"}, ("conversation",))

    assert role != other
    with pytest.raises(UnicodeDecodeError):
        role.decode()


def test_a_text_about_breakpoints_is_a_text() -> None:
    text = 'Set "cache_control" here.'

    assert of(messages=[{"role": "user", "content": text}])[0][1].count(b"cache_control") == 1


def test_a_member_that_has_only_a_breakpoint_is_none() -> None:
    assert of(tools=MARK, functions={}, messages=[]) == []


def test_parts_come_in_the_order_of_engines() -> None:
    told = {"input": "q", "instructions": "i", "functions": [2], "tools": [1]}

    assert [role for role, _ in segments(told, ("instructions", "input"))] == [
        b"tools",
        b"functions",
        b"system",
        b"user",
    ]
