"""What goes upstream: the client's bytes, changed only where they have to be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.rewrite import outgoing
from tests.asking import arrival, configured, intent

ALIASED = configured('[[model]]\nname = "fast"\ntarget = "m-small"')
WITH_USAGE = {"include_usage": True}


def sent(body: bytes, path: str = "/v1/chat/completions", *, ask_usage: bool = True) -> bytes:
    asked = arrival(body, path=path)
    return outgoing(body, intent(asked, ALIASED).request, ask_usage=ask_usage)


@pytest.mark.parametrize(
    "body",
    [
        b' {"model": "m", "messages": []}\n',
        b'{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
        b'{"model":"m","cache":"other","store":true}',
        b'{"model":"m","stream":1}',
        b"not json",
        b"[]",
        b"\xff",
        b"",
    ],
)
def test_most_bodies_go_as_they_came(body: bytes) -> None:
    assert sent(body) is body


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            b'{"model":"m","stream":true}',
            b'{"model":"m","stream":true,"stream_options":{"include_usage":true}}',
        ),
        (b'{"stream":true }\n', b'{"stream":true,"stream_options":{"include_usage":true} }\n'),
        (
            b'{"stream":true,"stream_options":null}',
            b'{"stream":true,"stream_options":{"include_usage":true}}',
        ),
        (
            b'{"stream_options": {}, "stream":true}',
            b'{"stream_options": {"include_usage":true}, "stream":true}',
        ),
        (
            b'{"stream":true,"stream_options":{"include_usage":false,"x": 0}}',
            b'{"stream":true,"stream_options":{"x": 0,"include_usage":true}}',
        ),
        (
            b'{"stream":true,"stream\\u005foptions":{"a":1}}',
            b'{"stream":true,"stream\\u005foptions":{"a":1,"include_usage":true}}',
        ),
        (
            b'{"stream":true,"stream_options":{},"stream_options":{"a":1}}',
            b'{"stream":true,"stream_options":{},"stream_options":{"a":1,"include_usage":true}}',
        ),
        (b'{"stream":true,"stream_options":5}', b'{"stream":true,"stream_options":5}'),
    ],
)
def test_a_stream_is_asked_for_its_usage(body: bytes, expected: bytes) -> None:
    assert sent(body) == expected


def test_usage_is_not_asked_for_where_it_is_switched_off() -> None:
    body = b'{"model":"m","stream":true}'

    assert sent(body, ask_usage=False) is body


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/messages", "/v1/embeddings"])
def test_usage_is_not_asked_for_where_streams_have_it_anyway(path: str) -> None:
    body = b'{"model":"m","stream":true,"store":false,"input":"a"}'

    assert sent(body, path) is body


def test_our_own_object_goes_and_the_alias_is_resolved() -> None:
    body = '{"cache": {"ttl": 5}, "model": "fast", "messages": [{"content": "é😀"}]}'.encode()

    assert sent(body) == '{"model": "m-small", "messages": [{"content": "é😀"}]}'.encode()


def test_a_request_that_is_passed_on_is_edited_too() -> None:
    assert sent(b'{"model":"fast","store":true,"cache":{}}') == b'{"model":"m-small","store":true}'


def test_a_deployment_in_the_path_is_no_alias() -> None:
    body = b'{"model":"fast"}'

    assert sent(body, "/openai/deployments/fast/chat/completions") is body


def test_a_body_too_deep_to_edit_goes_as_it_came() -> None:
    body = b'{"model":"fast","cache":{},"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"

    assert sent(body) is body


members: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.sampled_from(["model", "cache", "stream", "stream_options", "é", "n"]),
    st.sampled_from(
        ["fast", "m", True, False, None, {}, {"ttl": 5}, {"include_usage": False}, 10**30, "é\n}"]
    ),
).filter(lambda fields: fields.get("cache") != {"include_usage": False})  # which is an error


@given(members, st.booleans(), st.sampled_from([None, 1]))
def test_what_is_sent_is_what_was_meant(
    fields: dict[str, Any], ask: bool, indent: int | None
) -> None:
    """The intended edit of the parsed body, and nothing besides."""
    expected = dict(fields)
    if isinstance(fields.get("cache"), dict):
        del expected["cache"]
    if fields.get("model") == "fast":
        expected["model"] = "m-small"
    options = fields.get("stream_options")
    if ask and fields.get("stream") is True and (options is None or isinstance(options, dict)):
        expected["stream_options"] = {**(options or {}), **WITH_USAGE}

    body = json.dumps(fields, ensure_ascii=False, indent=indent).encode()
    after = sent(body, ask_usage=ask)

    assert json.loads(after) == expected
    if expected == fields:
        assert after == body
