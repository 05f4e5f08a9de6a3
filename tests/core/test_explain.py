"""Explanations: what counted, what did not, and what keeps two requests apart."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from proxy.core.endpoint import Endpoint
from proxy.core.explain import WHY, Explanation, differences, explain
from proxy.core.message import Arrival
from proxy.core.request import Reason
from tests.asking import K1, K2, RULES, arrival, chat, lookup


def explained(asked: Arrival) -> Explanation:
    return explain(asked, Endpoint.CHAT, RULES)


def apart(one: Arrival, other: Arrival) -> list[str]:
    return list(differences(explained(one), explained(other)))


def test_the_canonical_forms_are_those_of_the_keys() -> None:
    asked = arrival(b'{"stream":true,"model":"m","messages":[{"content":" a","role":"user"}]}')

    found = explained(asked)

    assert found.intent == lookup(asked)
    assert found.canonical == '{"messages":[{"content":" a","role":"user"}],"model":"m"}'
    assert found.normalized == '{"messages":[{"content":"a","role":"user"}],"model":"m"}'


def test_what_is_ignored_is_named_with_the_reason() -> None:
    body = chat(stream=False, user="u", store=False, cache={}, seed=1)

    ignored = dict(explained(arrival(body, ("User-Agent", "x"), ("X-Cache", "on"))).ignored)

    assert set(ignored) == {
        *("$.stream", "$.user", "$.store", "$.cache"),
        *("header user-agent", "header x-cache", "header content-type"),
    }
    assert ignored["$.cache"] == ignored["header x-cache"] == "it steers the cache"


def test_options_of_a_stream_are_ignored_where_they_ask_for_usage_alone() -> None:
    usage, padding = {"include_usage": True}, {"include_obfuscation": False}

    assert "$.stream_options" in dict(explained(arrival(chat(stream_options=usage))).ignored)
    assert "$.stream_options" not in dict(
        explained(arrival(chat(stream_options=usage | padding))).ignored
    )


@pytest.mark.parametrize("body", [b"not json", b"[]", b"", b'{"store":true}', b'{"a":"\\ud800"}'])
def test_a_bypass_is_explained_in_words(body: bytes) -> None:
    found = explained(arrival(body))

    assert found.why
    assert (found.canonical, found.normalized) == ("", "")


def test_a_lookup_needs_no_excuse() -> None:
    assert explained(arrival(chat())).why == ""


def test_every_reason_has_words() -> None:
    assert set(WHY) == set(get_args(Reason))


def picture(data: str) -> dict[str, Any]:
    return chat([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}])


@pytest.mark.parametrize(
    ("one", "other", "paths"),
    [
        (chat("a"), chat("a"), []),
        (chat("a"), chat("b"), ["$.messages[0].content"]),
        (chat("a"), chat([{"type": "text", "text": "a"}]), ["$.messages[0].content"]),
        (chat(seed=1), chat(), ["$.seed"]),
        (chat(seed=None), chat(), ["$.seed"]),
        (chat(logprobs=True), chat(logprobs=1), ["$.logprobs"]),
        (chat(seed=2**70), chat(seed=2**70 + 1), ["$.seed"]),
        (chat(stop=["a"]), chat(stop=["a", "b"]), ["$.stop[1]"]),
        (chat(**{"a b": {"": 1}}), chat(**{"a b": {"": 2}}), ["$['a b']['']"]),
        (chat(user="u", stream=True), chat(user="v"), []),
        (chat(stream_options={"include_usage": True}), chat(), []),
        (chat(stream_options={"a": 1}), chat(stream_options={"a": 2}), ["$.stream_options.a"]),
        (picture("QUJD"), picture("QUJE"), ["$.messages[0].content[0].image_url.url"]),
        (picture("QUJD"), picture("QUJD\n"), []),
        (chat(store=True), chat(store=True, n=2), ["$.n"]),
    ],
)
def test_differences_in_the_body(one: Any, other: Any, paths: list[str]) -> None:
    assert apart(arrival(one), arrival(other)) == paths
    assert apart(arrival(other), arrival(one)) == paths


@pytest.mark.parametrize(
    ("other", "names"),
    [
        (arrival(chat(), K2), ["tenant"]),
        (arrival(chat(), K1, query="a"), ["query"]),
        (arrival(chat(), ("openai-beta", "a"), ("user-agent", "x")), ["header openai-beta"]),
        (arrival(chat(), ("x-cache-namespace", "a")), ["asked namespace"]),
        (arrival(chat() | {"model": "n"}), ["model", "$.model"]),
    ],
)
def test_differences_beside_the_body(other: Arrival, names: list[str]) -> None:
    assert apart(arrival(chat()), other) == names


def test_requests_without_difference_have_one_key() -> None:
    one, other = arrival(chat(seed=1.0)), arrival(b'{"seed":1,' + arrival(chat()).body[1:])

    assert apart(one, other) == []
    assert lookup(one).key == lookup(other).key
