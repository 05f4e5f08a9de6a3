"""Bodies of shadow calls: the same prompt or its beginning, and the shortest answer."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import shadow
from proxy.core.endpoint import Endpoint
from proxy.core.prefix import Prompt, prompt
from proxy.core.providers import Rule
from tests.asking import RULES, arrival, chat, lookup

ENGINE = Rule(provider="engine", as_of="", paid=False, min_tokens=16, ttl=0, read=0.0)
OPENAI = Rule(provider="openai", as_of="", limit="max_completion_tokens")
CLAUDE = Rule(provider="anthropic", as_of="", least_output=0)
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"minimum": 1.0}}}]


def written(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode()


def asking(fields: dict[str, Any], endpoint: Endpoint, rule: Rule = ENGINE) -> dict[str, Any]:
    made = shadow.whole(written(fields), endpoint, rule)
    assert made is not None
    read: dict[str, Any] = json.loads(made)
    return read


def chain(body: bytes, endpoint: Endpoint = Endpoint.CHAT) -> Prompt:
    request = msgspec.structs.replace(lookup(arrival(chat())).request, endpoint=endpoint)
    made = prompt(body, request, RULES)
    assert made is not None
    return made


def common(one: Prompt, other: Prompt) -> int:
    """Tokens that both begin with."""
    shared = 0
    for a, b in zip(one.chain, other.chain, strict=False):
        if a.digest != b.digest:
            break
        shared = a.tokens
    return shared


@pytest.mark.parametrize(
    ("endpoint", "rule", "given_limits", "limits"),
    [
        (Endpoint.CHAT, ENGINE, {}, {"max_tokens": 1}),
        (Endpoint.CHAT, ENGINE, {"max_tokens": 500}, {"max_tokens": 1}),
        (Endpoint.CHAT, OPENAI, {}, {"max_completion_tokens": 1}),
        (Endpoint.CHAT, OPENAI, {"max_tokens": 500}, {"max_tokens": 1}),
        (Endpoint.CHAT, ENGINE, {"max_completion_tokens": 9}, {"max_completion_tokens": 1}),
        (
            Endpoint.CHAT,
            ENGINE,
            {"max_completion_tokens": 9, "max_tokens": 9},
            {"max_completion_tokens": 1},
        ),
        (Endpoint.COMPLETIONS, OPENAI, {}, {"max_tokens": 1}),
        (Endpoint.MESSAGES, CLAUDE, {"max_tokens": 500}, {"max_tokens": 0}),
        (Endpoint.MESSAGES, ENGINE, {"max_tokens": 500}, {"max_tokens": 1}),
        (Endpoint.RESPONSES, OPENAI, {"max_output_tokens": 99}, {"max_output_tokens": 16}),
    ],
)
def test_the_answer_is_as_short_as_the_provider_lets_it_be(
    endpoint: Endpoint, rule: Rule, given_limits: dict[str, int], limits: dict[str, int]
) -> None:
    made = asking({"model": "m", **given_limits}, endpoint, rule)

    assert made == {"model": "m", **limits}


def test_all_else_that_makes_the_prompt_is_as_it_was() -> None:
    """Numbers too: a template writes 1.0 otherwise than 1."""
    fields = {**chat("hello 😀"), "tools": TOOLS, "cache_salt": "s", "seed": 1}
    longer = {"stream": True, "stream_options": {"include_usage": True}, "n": 4, "best_of": 4}
    made = asking({**fields, **longer}, Endpoint.CHAT)

    assert made == {**fields, "max_tokens": 1}
    assert '"minimum":1.0' in json.dumps(made, separators=(",", ":"))


@pytest.mark.parametrize("body", [b"", b"[]", b"not json", b"\xff"])
def test_what_is_no_request_has_no_form(body: bytes) -> None:
    assert shadow.whole(body, Endpoint.CHAT, ENGINE) is None
    assert shadow.opening(body, Endpoint.CHAT) is None
    assert shadow.earlier(body, Endpoint.CHAT) is None
    assert shadow.shortened(body, Endpoint.CHAT, 100) is None


def test_embeddings_have_no_prompt_that_is_kept() -> None:
    assert shadow.whole(written({"model": "m", "input": "x"}), Endpoint.EMBEDDINGS, ENGINE) is None


SECRET = "what only this one asks"
SYSTEM = {"role": "system", "content": "Be careful. " * 400}
DEVELOPER = {"role": "developer", "content": "Say no more than is needed. " * 100}
TURNS = [
    {"role": "user", "content": "first " * 50},
    {"role": "assistant", "content": "answer " * 50},
    {"role": "user", "content": SECRET},
]
LONG: dict[str, Any] = {"model": "m", "tools": TOOLS, "messages": [SYSTEM, DEVELOPER, *TURNS]}


@pytest.mark.parametrize(
    ("fields", "endpoint"),
    [
        (LONG, Endpoint.CHAT),
        ({"model": "m", "system": "Be careful.", "messages": TURNS}, Endpoint.MESSAGES),
        ({"model": "m", "instructions": "Be careful.", "input": TURNS}, Endpoint.RESPONSES),
        ({"model": "m", "instructions": "Be careful.", "input": SECRET}, Endpoint.RESPONSES),
    ],
)
def test_an_opening_ends_before_the_first_turn(fields: dict[str, Any], endpoint: Endpoint) -> None:
    """What it holds back is what one client alone has said."""
    body = written(fields)
    made = shadow.opening(body, endpoint)
    assert made is not None
    whole, begun = chain(body, endpoint), chain(made, endpoint)

    assert common(whole, begun) == whole.chain[whole.layers[1] - 1].tokens
    assert SECRET.encode() not in made
    assert b"first first" not in made
    assert b'"role":"user"' in made


def test_earlier_turns_end_before_the_last_one() -> None:
    body = written(LONG)
    made = shadow.earlier(body, Endpoint.CHAT)
    assert made is not None
    whole = chain(body)

    assert common(whole, chain(made)) == whole.chain[whole.layers[2] - 1].tokens
    assert SECRET.encode() not in made


@pytest.mark.parametrize("fields", [chat("one"), {"model": "m", "messages": []}, {"model": "m"}])
def test_without_earlier_turns_there_is_nothing_to_keep(fields: dict[str, Any]) -> None:
    assert shadow.earlier(written(fields), Endpoint.CHAT) is None


texts = st.text(st.sampled_from('ab 退😀"\\\n'), min_size=1, max_size=3000)
messages = st.lists(
    st.builds(
        lambda role, text: {"role": role, "content": text},
        st.sampled_from(["user", "assistant", "system"]),
        texts,
    ),
    min_size=1,
    max_size=6,
)


@given(messages, st.integers(10, 4000))
def test_what_is_cut_off_is_a_beginning_of_the_whole(
    turns: list[dict[str, Any]], tokens: int
) -> None:
    """All of it that there was room for, and no more."""
    body = written({"model": "m", "messages": turns})
    made = shadow.shortened(body, Endpoint.CHAT, tokens)
    assert made is not None
    whole, cut = chain(body), chain(made)
    within = [one.tokens for one in whole.chain if one.tokens <= 0.8 * tokens - 20 * len(turns)]

    assert cut.tokens <= tokens + 20
    assert common(whole, cut) >= max(within, default=0)


@pytest.mark.parametrize(
    ("fields", "endpoint", "kept"),
    [
        ({"prompt": "a" * 9000}, Endpoint.COMPLETIONS, {"prompt": "a" * 4000}),
        ({"prompt": ["a" * 9000]}, Endpoint.COMPLETIONS, {"prompt": ["a" * 4000]}),
        ({"prompt": [1234] * 9000}, Endpoint.COMPLETIONS, {"prompt": [1234] * 1000}),
        ({"prompt": [[1234] * 9000]}, Endpoint.COMPLETIONS, {"prompt": [[1234] * 1000]}),
        (
            {"system": "a" * 9000, "messages": TURNS},
            Endpoint.MESSAGES,
            {"system": "a" * 4000, "messages": [{"role": "user", "content": "."}]},
        ),
        (
            {"instructions": "a" * 3000, "input": "b" * 9000},
            Endpoint.RESPONSES,
            {"instructions": "a" * 3000, "input": "b" * 1000},
        ),
    ],
)
def test_a_long_text_is_cut_inside(
    fields: dict[str, Any], endpoint: Endpoint, kept: dict[str, Any]
) -> None:
    made = shadow.shortened(written(fields), endpoint, 1000)
    assert made is not None
    read = json.loads(made)

    assert {name: read[name] for name in kept} == kept


def test_a_picture_is_not_cut_in_two() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}}
    turns = [{"role": "system", "content": "s"}, {"role": "user", "content": [picture]}]
    made = shadow.shortened(written({"messages": turns}), Endpoint.CHAT, 1000)
    assert made is not None

    assert json.loads(made)["messages"] == [turns[0], {"role": "user", "content": "."}]


@pytest.mark.parametrize("role", [["system"], {"a": 1}, None, 3])
def test_whatever_a_role_is_an_opening_has_an_end(role: Any) -> None:
    body = json.dumps({"messages": [{"role": role, "content": "a"}]}).encode()

    made = shadow.opening(body, Endpoint.CHAT)

    assert made is not None
    assert json.loads(made) == {"messages": [{"role": "user", "content": "."}]}
