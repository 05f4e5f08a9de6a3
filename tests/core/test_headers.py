"""Headers on their way: those of one connection stay there, those of one client with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.headers import (
    HOP_BY_HOP,
    end_to_end,
    media_type,
    replayable,
    shared,
    with_credential,
    without,
)
from proxy.core.message import Headers

KEPT = ("Content-Type", "text/event-stream")
OTHERS: Headers = (
    ("Date", "Mon, 01 Jan 2029 00:00:00 GMT"),
    ("Server", "engine"),
    ("Set-Cookie", "session=1"),
    ("Content-Length", "12"),
    ("Content-Encoding", "gzip"),
    ("ETag", '"1"'),
    ("X-Request-Id", "req_1"),
    ("openai-processing-ms", "17"),
    ("openai-organization", "org-1"),
    ("x-ratelimit-remaining-tokens", "100"),
    ("anthropic-ratelimit-requests-limit", "5"),
    ("Retry-After", "3"),
    ("retry-after-ms", "3000"),
    ("x-should-retry", "true"),
    ("x-unknown", "1"),
)


@pytest.mark.parametrize("name", sorted(HOP_BY_HOP))
def test_a_header_of_one_connection_does_not_travel(name: str) -> None:
    assert end_to_end(((name.title(), "close"), KEPT)) == (KEPT,)


def test_what_connection_names_does_not_travel_either() -> None:
    """RFC 9110 §7.6.1; the names in any case and over several lines."""
    given: Headers = (
        ("X-One", "1"),
        ("Connection", "close, x-ONE"),
        ("connection", " X-Two"),
        ("X-Two", "2"),
        ("X-Three", "3"),
    )

    assert end_to_end(given) == (("X-Three", "3"),)


names = st.sampled_from(["A", "a", "Cookie", "X-B"])
values = st.text(st.characters(codec="ascii", categories=("L", "N")), max_size=5)


@given(st.lists(st.tuples(names, values)).map(tuple))
def test_all_else_travels_as_spelled_in_order_and_repeated(headers: Headers) -> None:
    assert end_to_end(headers) == headers


def test_named_headers_are_left_out_in_any_case() -> None:
    given: Headers = (("Content-Length", "1"), KEPT, ("content-length", "2"))

    assert without(given, frozenset(("content-length",))) == (KEPT,)


@pytest.mark.parametrize(
    "name", ["Content-Type", "openai-version", "OpenAI-Model", "content-language"]
)
def test_what_describes_the_answer_is_replayed(name: str) -> None:
    assert replayable(((name, "x"),)) == ((name, "x"),)


@pytest.mark.parametrize("header", OTHERS, ids=lambda header: header[0])
def test_what_belongs_to_one_exchange_is_never_replayed(header: tuple[str, str]) -> None:
    assert replayable((header, KEPT)) == (KEPT,)


def test_who_joined_a_call_sees_of_a_good_answer_what_a_replay_shows() -> None:
    assert shared((*OTHERS, KEPT), 200) == (KEPT,)


def test_who_joined_a_call_that_failed_is_told_when_to_come_again() -> None:
    told = {name.lower() for name, _ in shared((*OTHERS, KEPT), 429)}

    assert told == {
        "content-type",
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "x-ratelimit-remaining-tokens",
        "anthropic-ratelimit-requests-limit",
    }


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ((("authorization", "Bearer client"),), (("authorization", "Bearer node"),)),
        ((("X-API-Key", "client"),), (("X-API-Key", "node"),)),
        ((("api-key", "client"),), (("api-key", "node"),)),
        ((), (("Authorization", "Bearer node"),)),
    ],
)
def test_another_credential_goes_where_the_clients_was(given: Headers, sent: Headers) -> None:
    assert with_credential((KEPT, *given), "node") == (KEPT, *sent)


def test_no_credential_of_the_client_is_left_beside_another() -> None:
    every: Headers = (("x-api-key", "a"), ("Authorization", "Bearer b"), ("api-key", "c"))

    assert with_credential(every, "node") == (("x-api-key", "node"),)


@pytest.mark.parametrize(
    ("value", "bare"),
    [
        ("application/json", "application/json"),
        (" Application/JSON ; charset=utf-8", "application/json"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_bare_media_type(value: str | None, bare: str) -> None:
    assert media_type(value) == bare
