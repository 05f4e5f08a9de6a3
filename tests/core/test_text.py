"""Where bodies hold texts, and which of them count to the letter."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.core.endpoint import Endpoint
from proxy.core.text import asked, places

USER = {"role": "user", "content": "u"}
PARTS = [
    {"type": "text", "text": "a"},
    {"type": "image_url", "image_url": {"url": "x"}, "text": "no"},
    {"type": "text", "text": 5},
    "no",
]


@pytest.mark.parametrize(
    ("endpoint", "fields", "expected"),
    [
        (Endpoint.CHAT, {"messages": [{"role": "system", "content": "s"}, USER]}, ["s", "u"]),
        (Endpoint.CHAT, {"messages": [{"role": "user", "content": PARTS}]}, ["a"]),
        (Endpoint.CHAT, {"messages": [5, {"role": "user"}, {"content": None}]}, []),
        (Endpoint.CHAT, {"messages": "no", "input": "no", "instructions": "no"}, []),
        (
            Endpoint.CHAT,
            {"messages": [{"role": "assistant", "content": "a"}, USER]},
            ["a", "u"],
        ),
        (Endpoint.CHAT, {"messages": [USER, {"role": "tool", "content": "t"}]}, ["u", "t!"]),
        (Endpoint.CHAT, {"messages": [USER, {"role": "function", "content": "t"}]}, ["u", "t!"]),
        (Endpoint.CHAT, {"messages": [USER, {"role": "assistant", "content": "a"}]}, ["u", "a!"]),
        (Endpoint.MESSAGES, {"system": "s", "messages": [USER]}, ["s", "u"]),
        (Endpoint.MESSAGES, {"system": [{"type": "text", "text": "s"}]}, ["s"]),
        (
            Endpoint.MESSAGES,
            {"messages": [{"content": [{"type": "tool_result", "content": "no"}, *PARTS]}]},
            ["a"],
        ),
        (Endpoint.RESPONSES, {"instructions": "s", "input": "u"}, ["s", "u"]),
        (
            Endpoint.RESPONSES,
            {
                "input": [
                    {"role": "user", "content": [{"type": "input_text", "text": "u"}]},
                    {"type": "function_call_output", "output": "no"},
                    USER,
                ]
            },
            ["u", "u"],
        ),
        (Endpoint.COMPLETIONS, {"prompt": "p", "suffix": "no"}, ["p!"]),
        (Endpoint.COMPLETIONS, {"prompt": ["p", "q", [1]]}, ["p!", "q!"]),
        (Endpoint.COMPLETIONS, {"prompt": [1, 2]}, []),
        (Endpoint.EMBEDDINGS, {"input": ["a", "b"]}, ["a!", "b!"]),
        (Endpoint.EMBEDDINGS, {"input": None}, []),
    ],
)
def test_texts(endpoint: Endpoint, fields: dict[str, Any], expected: list[str]) -> None:
    """A text that counts to the letter has a mark here."""
    found = places(endpoint, fields)

    assert [place.text + "!" * place.literal for place in found] == expected


def test_a_place_can_be_written_to() -> None:
    fields: dict[str, Any] = {"input": "u", "instructions": "s"}

    for place in places(Endpoint.RESPONSES, fields):
        place.holder[place.name] = place.text.upper()

    assert fields == {"input": "U", "instructions": "S"}


@pytest.mark.parametrize(
    ("endpoint", "fields", "expected"),
    [
        (Endpoint.CHAT, {"messages": [USER, {"role": "user", "content": "last"}]}, "last"),
        (Endpoint.CHAT, {"messages": [{"role": "user", "content": [*PARTS, *PARTS]}]}, "a\na"),
        (Endpoint.CHAT, {"messages": [USER, {"role": "assistant", "content": "a"}]}, "u"),
        (Endpoint.CHAT, {"messages": [USER, {"role": "user", "content": []}, 5]}, "u"),
        (Endpoint.CHAT, {"messages": [{"role": "system", "content": "s"}]}, ""),
        (Endpoint.CHAT, {"messages": 5, "prompt": "no"}, ""),
        (Endpoint.MESSAGES, {"system": "s", "messages": [USER]}, "u"),
        (Endpoint.RESPONSES, {"instructions": "s", "input": "i"}, "i"),
        (Endpoint.RESPONSES, {"input": [USER, {"type": "function_call_output"}]}, "u"),
        (
            Endpoint.RESPONSES,
            {"input": [{"role": "user", "content": [{"type": "input_text", "text": "i"}]}]},
            "i",
        ),
        (Endpoint.COMPLETIONS, {"prompt": ["a", "b"]}, "b"),
        (Endpoint.COMPLETIONS, {"prompt": [1, 2], "messages": [USER]}, ""),
        (Endpoint.EMBEDDINGS, {"input": "i"}, "i"),
    ],
)
def test_the_last_that_the_user_said(
    endpoint: Endpoint, fields: dict[str, Any], expected: str
) -> None:
    assert asked(endpoint, fields) == expected
