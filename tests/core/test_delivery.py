"""Answers in the form that a request asked for, and told as what they are."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from proxy.core.delivery import UnlikeError, form, rendered, retyped, serves, wanted
from proxy.core.message import Head
from proxy.core.request import Request
from tests import answers
from tests.asking import arrival, chat, lookup
from tests.stored import entry

JSON = (("content-type", "application/json"), ("openai-version", "1"))
EVENTS = (("content-type", "text/event-stream"), ("openai-version", "1"))
BODY = answers.dumps(answers.chat("hi"))
STREAM = b"".join(answers.chat_events(["h", "i"], usage=answers.USAGE))
WITH_USAGE = {"stream": True, "stream_options": {"include_usage": True}}


def request(**fields: Any) -> Request:
    return lookup(arrival(chat(**fields))).request


@pytest.mark.parametrize(
    ("fields", "expected"),
    [({}, "json"), ({"stream": False}, "json"), ({"stream": True}, "events")],
)
def test_the_form_that_a_request_asks_for(fields: dict[str, Any], expected: str) -> None:
    assert wanted(request(**fields)) == expected


@pytest.mark.parametrize(
    ("content_type", "expected"),
    [
        ("application/json", "json"),
        ("Application/JSON; charset=utf-8", "json"),
        ("application/problem+json", "json"),
        ("text/event-stream", "events"),
        ("text/event-stream;charset=utf-8", "events"),
        ("application/jsonl", None),
        ("text/html", None),
        ("audio/mpeg", None),
    ],
)
def test_the_form_of_an_answer(content_type: str, expected: str | None) -> None:
    assert form(Head(200, (("Content-Type", content_type),))) == expected


def test_an_answer_without_a_type_has_no_form() -> None:
    assert form(Head(200, ())) is None


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("kind", ["json", "events"])
@pytest.mark.parametrize("fields", [{}, {"stream": True}, WITH_USAGE])
def test_a_stream_without_usage_is_no_answer_for_who_wants_it(
    fields: dict[str, Any], kind: str, counted: bool
) -> None:
    lacking = kind == "events" and not counted and fields == WITH_USAGE

    assert serves(entry("a", form=kind, counted=counted), request(**fields)) == (not lacking)


def test_a_new_type_takes_the_place_of_the_old_one() -> None:
    given = (("Content-Type", "application/json"), ("openai-version", "1"))

    assert retyped(given, "events") == (
        ("content-type", "text/event-stream; charset=utf-8"),
        ("openai-version", "1"),
    )


def test_asked_in_the_stored_form_it_is_the_very_same_bytes() -> None:
    stored = entry("a", headers=EVENTS, form="events", body=STREAM)
    headers, body = rendered(stored, request(**WITH_USAGE), zero=False)

    assert headers == EVENTS
    assert body is STREAM


def test_a_stored_stream_without_its_usage_for_who_did_not_ask() -> None:
    stored = entry("a", headers=EVENTS, form="events", body=STREAM)

    assert b"usage" not in rendered(stored, request(stream=True), zero=False)[1]


def test_a_stored_stream_as_json() -> None:
    stored = entry("a", headers=EVENTS, form="events", body=STREAM)
    headers, body = rendered(stored, request(), zero=False)
    found = orjson.loads(body)

    assert headers == JSON
    assert found["choices"][0]["message"]["content"] == "hi"
    assert found["usage"] == answers.USAGE


def test_stored_json_as_a_stream() -> None:
    stored = entry("a", headers=JSON, body=BODY)
    headers, body = rendered(stored, request(stream=True), zero=False)

    assert headers[0] == ("content-type", "text/event-stream; charset=utf-8")
    assert body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("error", [answers.error("no"), BODY])
def test_a_stored_error_is_json_for_everyone(error: bytes) -> None:
    """Whatever is in it: its status says what it is."""
    stored = entry("a", status=400, headers=JSON, body=error)

    assert rendered(stored, request(stream=True), zero=False) == (JSON, error)


@pytest.mark.parametrize(
    "odd", [b'{"error": "strange"}', BODY.replace(b'"hi"', b'"hi", "id": 123456789012345678901234')]
)
def test_what_has_no_other_form_is_no_answer_in_it(odd: bytes) -> None:
    """A number that our JSON library would make a float of is not rendered either."""
    stored = entry("a", headers=JSON, body=odd)
    with pytest.raises(UnlikeError):
        rendered(stored, request(stream=True), zero=False)

    assert rendered(stored, request(), zero=False) == (JSON, odd)


@pytest.mark.parametrize("fields", [{}, {"stream": True}, WITH_USAGE])
@pytest.mark.parametrize("stored", [("json", BODY), ("events", STREAM)])
def test_where_hits_are_free_no_form_says_otherwise(
    fields: dict[str, Any], stored: tuple[str, bytes]
) -> None:
    kind, held = stored
    headers = JSON if kind == "json" else EVENTS
    _, body = rendered(
        entry("a", headers=headers, form=kind, body=held), request(**fields), zero=True
    )

    assert b'"prompt_tokens":11' not in body
