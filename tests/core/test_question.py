"""The question of a request, and its scope: everything else."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.asking import K1, K2, arrival, chat, configured, lookup

COMPARING = configured("[semantic]\nmode = 'shadow'")
TOOLS = [{"type": "function", "function": {"name": "pay", "parameters": {}}}]
PART = {"type": "text", "text": "hello"}
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def asked(body: dict[str, Any], *headers: tuple[str, str], path: str = "", **how: Any) -> Any:
    """The question of a request; None: it has none."""
    path = path or "/v1/chat/completions"
    return lookup(arrival(body, *headers, path=path), how.get("rules", COMPARING)).question


def apart(body: dict[str, Any], *headers: tuple[str, str], path: str = "", **how: Any) -> str:
    """Why a request has none."""
    path = path or "/v1/chat/completions"
    return lookup(arrival(body, *headers, path=path), how.get("rules", COMPARING)).apart


def turns(*texts: str) -> dict[str, Any]:
    """A chat whose turns take turns, the user's last."""
    roles = ["user", "assistant"] * len(texts)
    said = zip(roles, texts, strict=False)
    return {"model": "m", "messages": [{"role": role, "content": text} for role, text in said]}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/chat/completions", chat("hello")),
        ("/v1/chat/completions", chat([PART])),
        ("/v1/chat/completions", turns("hi", "yes?", "hello")),
        ("/v1/messages", {**chat("hello"), "max_tokens": 9}),
        ("/v1/responses", {"model": "m", "input": "hello", "store": False}),
        (
            "/v1/responses",
            {"model": "m", "input": [{"role": "user", "content": "hello"}], "store": False},
        ),
    ],
)
def test_the_last_user_text_is_the_question(path: str, body: dict[str, Any]) -> None:
    question = asked(body, path=path)

    assert question.text == "hello"
    assert len(question.scope) == 32


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (chat(""), "empty"),
        (chat("  \n"), "empty"),
        (chat("x" * 401), "long"),
        (chat([PART, PART]), "shape"),
        (chat([PART, PICTURE]), "shape"),
        (chat([PICTURE]), "shape"),
        (chat("hello", n=2), "several"),
        (chat("hello", logprobs=True), "several"),
        (chat("hello", top_logprobs=3), "several"),
        (chat("hello", tools=TOOLS), "tools"),
        (chat("hello", functions=[{"name": "pay"}]), "tools"),
        (turns("hi", "to be gone on with"), "shape"),
        ({"model": "m", "messages": [{"role": "tool", "content": "42"}]}, "shape"),
        ({"model": "m", "messages": [{"role": "user"}]}, "shape"),
        ({"model": "m", "messages": []}, "shape"),
    ],
)
def test_what_cannot_be_another_questions_answer_says_why(body: dict[str, Any], why: str) -> None:
    assert asked(body) is None
    assert apart(body) == why


def test_tools_may_be_allowed() -> None:
    rules = configured("[semantic]\nmode = 'on'\ntools = true")

    assert asked(chat("hello", tools=TOOLS), rules=rules).text == "hello"


def test_texts_to_be_completed_are_no_questions() -> None:
    """The answer goes on from the last character."""
    body = {"model": "m", "prompt": "hello"}

    assert asked(body, path="/v1/completions") is None
    assert apart(body, path="/v1/completions") == "endpoint"


@pytest.mark.parametrize("mode", ["exact", "normalized"])
def test_a_request_that_wants_no_hits_by_meaning_has_none(mode: str) -> None:
    assert asked(chat("hello"), ("x-cache-mode", mode)) is None
    assert apart(chat("hello", n=2), ("x-cache-mode", mode)) == ""


def test_without_a_semantic_tier_nobody_asks() -> None:
    assert asked(chat("hello"), rules=configured("")) is None
    assert apart(chat("hello", n=2), rules=configured("")) == ""


def test_embeddings_are_of_no_meaning_to_it() -> None:
    assert apart({"model": "m", "input": ["a", "b"]}, path="/v1/embeddings") == ""


def test_other_words_have_the_same_scope() -> None:
    assert asked(chat("hello")).scope == asked(chat("good morning", user="u2", stream=True)).scope


OTHERS: list[tuple[dict[str, Any], tuple[tuple[str, str], ...]]] = [
    (chat("hello", model="n"), ()),
    (chat("hello", temperature=0.5), ()),
    (chat("hello", max_tokens=5), ()),
    (chat("hello", response_format={"type": "json_object"}), ()),
    (chat("hello", some_future_field=1), ()),
    (chat([PART]), ()),
    (turns("hi", "yes?", "hello"), ()),
    (
        {"model": "m", "messages": [{"role": "system", "content": "a"}, *chat("x")["messages"]]},
        (),
    ),
    (chat("hello"), (K2,)),
    (chat("hello"), (("x-cache-namespace", "n"),)),
    (chat("hello"), (("openai-organization", "o"),)),
]


@pytest.mark.parametrize(("body", "headers"), OTHERS)
def test_anything_else_is_another_scope(
    body: dict[str, Any], headers: tuple[tuple[str, str], ...]
) -> None:
    assert asked(body, *headers).scope != asked(chat("hello")).scope


WORDS = st.text(min_size=1, max_size=20).filter(lambda text: bool(text.strip()))
SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | WORDS


@given(
    st.lists(WORDS, min_size=1, max_size=4),
    st.integers(0, 3),
    st.sampled_from(["earlier", "system", "parameter", "tenant", "role"]),
    WORDS,
)
def test_a_change_of_anything_but_the_question_is_another_scope(
    history: list[str], place: int, what: str, other: str
) -> None:
    """The law that a hit by meaning stands on: other turns, system text, parameter or tenant, and
    the two questions are never compared."""
    body = turns(*[part for text in history for part in (text, "ok")], "hello")
    body["messages"].insert(0, {"role": "system", "content": "Be kind."})
    changed, headers = deepcopy(body), K1
    messages = changed["messages"]
    match what:
        case "earlier":
            turn = messages[1 + place % (len(messages) - 2)]
            turn["content"] += other
        case "system":
            messages[0]["content"] += other
        case "parameter":
            changed["seed"] = other
        case "role":
            messages[0]["role"] = "developer"
        case _:
            headers = K2
    changed["messages"][-1]["content"] = "hello there"

    assert asked(changed, headers).scope != asked(body, K1).scope


@given(WORDS, WORDS)
def test_the_text_itself_is_never_part_of_the_scope(one: str, other: str) -> None:
    """Else no two questions could ever mean the same."""
    assert asked(chat(one)).scope == asked(chat(other)).scope


def test_the_body_is_left_as_it_was() -> None:
    """The exact key is made from the same members."""
    made = lookup(arrival(chat("hello")), COMPARING)

    assert made.key == lookup(arrival(chat("hello")), configured("")).key
    assert made.normalized == lookup(arrival(chat("hello")), configured("")).normalized
