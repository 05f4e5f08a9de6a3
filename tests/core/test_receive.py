"""Requests understood: looked up, passed on or refused, never failed for a strange body."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.controls import HEADER_NAMES, ControlError
from proxy.core.endpoint import Endpoint
from proxy.core.headers import CREDENTIALS
from proxy.core.message import Arrival
from proxy.core.receive import raw_key, receive
from proxy.core.request import Bypass, Edits, Lifetime, Lookup
from proxy.core.tenant import ForbiddenModelError, UnauthorizedError
from tests.asking import K1, RULES, arrival, bypass, chat, configured, intent, lookup

TENANTS = """
[[tenant]]
name = "blue"
key_env = "BLUE"
upstream_key_env = "UP"
models = ["m-*", "fast"]
controls = ["ttl", "no-store"]
max_ttl = 60
[[model]]
name = "fast"
target = "big"
"""
BLUE = configured(TENANTS, BLUE="kb", UP="sk-up")
AS_BLUE = ("authorization", "Bearer kb")


@pytest.mark.parametrize(
    ("body", "headers", "reason"),
    [
        (b"", (), "not_json"),
        (b"{", (), "not_json"),
        (b'{"model":"m","a":"\\ud800"}', (), "not_json"),
        (b"\xef\xbb\xbf{}", (), "not_json"),
        (b"[1]", (), "not_object"),
        (b'"x"', (), "not_object"),
        (b"{}", (("content-type", "multipart/form-data; boundary=x"),), "content_type"),
        (b"{}", (("content-type", "text/plain"),), "content_type"),
        (b"{}", (("content-type", "application/json; charset=utf-16"),), "content_type"),
        (b"\x1f\x8b", (("content-encoding", "gzip"),), "encoded_body"),
        (b"{}", (("Content-Encoding", "zstd"),), "encoded_body"),
        (b"{}", (("x-cache", "off"),), "off"),
        (b"{}", (("cache-control", "no-store"),), "no_store"),
        (b'{"cache":{"no-store":true}}', (), "no_store"),
        (b'{"store":true}', (), "store_true"),
        (b'{"model":5}', (), "malformed"),
        (b'{"a":' + b"[" * 300 + b"]" * 300 + b"}", (), "malformed"),
        (b'{"messages":' + b'[{"content":' * 300 + b"[]" + b"}]" * 300 + b"}", (), "malformed"),
        (b'{"messages":[{"content":[{"type":"file","file_id":"f"}]}]}', (), "remote_media"),
    ],
)
def test_a_request_the_cache_takes_no_part_in(
    body: bytes, headers: tuple[tuple[str, str], ...], reason: str
) -> None:
    assert bypass(arrival(body, *headers)) == reason


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/json",
        "Application/JSON; charset=UTF-8",
        'application/json;charset="utf8"',
        "application/json; version=1",
        "application/vnd.api+json",
    ],
)
def test_a_request_in_json_is_looked_up(content_type: str) -> None:
    assert isinstance(intent(arrival(chat(), ("content-type", content_type))), Lookup)


def test_a_request_without_content_type_is_looked_up() -> None:
    asked = Arrival("POST", "/v1/chat/completions", "", (K1,), b'{"model":"m"}')

    assert isinstance(receive(asked, Endpoint.CHAT, RULES), Lookup)


def test_an_identity_coded_body_is_looked_up() -> None:
    assert isinstance(intent(arrival(chat(), ("content-encoding", "identity"))), Lookup)


@pytest.mark.parametrize(("stream", "options", "wants"), [
    (True, {"include_usage": True}, True),
    (True, {"include_usage": 1}, False),
    (True, None, False),
    (True, "x", False),
    (False, {"include_usage": True}, False),
])  # fmt: skip
def test_a_stream_with_usage_is_told_from_one_without(
    stream: bool, options: Any, wants: bool
) -> None:
    request = lookup(arrival(chat(stream=stream, stream_options=options))).request

    assert (request.stream, request.wants_usage, request.stream_options) == (stream, wants, True)


def test_a_body_without_stream_options_has_none() -> None:
    assert not lookup(arrival(chat(stream=True))).request.stream_options


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens"])
def test_a_token_limit_is_seen(name: str) -> None:
    assert lookup(arrival(chat(**{name: 5}))).request.limited
    assert not lookup(arrival(chat(**{name: None}))).request.limited


@pytest.mark.parametrize(
    ("limits", "longest"),
    [
        ({}, 0),
        ({"max_tokens": 5}, 5),
        ({"max_tokens": 5, "max_completion_tokens": 9}, 9),
        ({"max_output_tokens": 10**30}, 1 << 24),
        ({"max_tokens": -5}, 0),
        ({"max_tokens": True}, 0),
        ({"max_tokens": "5"}, 0),
    ],
)
def test_how_long_an_answer_may_be(limits: dict[str, Any], longest: int) -> None:
    assert intent(arrival(chat(**limits))).request.longest == longest


def test_our_own_object_is_a_control_and_goes() -> None:
    request = lookup(arrival(chat(cache={"ttl": 5}))).request

    assert request.edits == Edits(drop_cache=True)
    assert request.controls.ttl == 5


def test_a_member_named_cache_that_is_no_object_is_the_upstreams() -> None:
    assert lookup(arrival(chat(cache=True))).request.edits is None
    assert lookup(arrival(chat(cache=True))).key != lookup(arrival(chat())).key


@pytest.mark.parametrize(
    "asked",
    [
        arrival(chat(), ("x-cache-ttl", "soon")),
        arrival(chat(cache={"ttl": "soon"})),
        arrival(b"not json", ("x-cache", "maybe")),
    ],
)
def test_a_control_that_makes_no_sense_is_an_error(asked: Arrival) -> None:
    with pytest.raises(ControlError):
        intent(asked)


def test_a_configured_tenant_is_served_with_the_operators_credential() -> None:
    request = lookup(arrival(chat() | {"model": "fast"}, AS_BLUE), BLUE).request

    assert (request.tenant_name, request.credential) == ("blue", "sk-up")
    assert (request.model, request.edits) == ("big", Edits(model="big"))


def test_anyone_else_is_refused_before_the_body_is_looked_at() -> None:
    with pytest.raises(UnauthorizedError):
        intent(arrival(b"not json"), BLUE)


@pytest.mark.parametrize(
    "asked",
    [
        arrival({"model": "big"}, AS_BLUE),
        arrival({"model": 5}, AS_BLUE),
        arrival({}, AS_BLUE),
        arrival(b"not json", AS_BLUE),
        arrival({"model": "m-1"}, AS_BLUE, ("content-encoding", "gzip")),
        arrival({"model": "m-1"}, AS_BLUE, path="/openai/deployments/big/chat/completions"),
        arrival({"model": "big"}, AS_BLUE, path="/openai/deployments/m-1/chat/completions"),
        arrival(b'{"model":"m-1","model":"big"}', AS_BLUE),
    ],
)
def test_a_model_that_is_not_allowed_or_not_legible_is_refused(asked: Arrival) -> None:
    with pytest.raises(ForbiddenModelError):
        intent(asked, BLUE)


def test_controls_that_a_tenant_may_not_use_are_ignored() -> None:
    body = {"model": "m-1", "cache": {"ttl": 600, "tags": ["t"], "no-cache": True}}

    controls = lookup(arrival(body, AS_BLUE, ("x-cache-namespace", "n")), BLUE).request.controls

    assert (controls.ttl, controls.tags, controls.read, controls.namespace) == (60, (), True, "")


def test_a_deployment_is_the_model() -> None:
    asked = arrival(chat(), path="/openai/deployments/gpt%2D4/chat/completions")

    request = lookup(asked).request

    assert (request.model, request.edits) == ("gpt-4", None)


RULED = configured("""
[cache]
ttl = 100
max_ttl = 1000
[[cache.rule]]
ttl = 1
model = "news-*"
[[cache.rule]]
ttl = 2
namespace = "blue"
tag = "legal"
[[cache.rule]]
ttl = 3
text = "新闻|(?i:today)"
[[cache.rule]]
ttl = 4
model = "m"
text = "never"
""")


@pytest.mark.parametrize(
    ("body", "headers", "lifetime"),
    [
        (chat(), (), Lifetime(100, 1000)),
        (chat() | {"model": "news-1"}, (), Lifetime(1, 1000)),
        (chat(), (("x-cache-namespace", "blue"),), Lifetime(100, 1000)),
        (chat(), (("x-cache-namespace", "blue"), ("x-cache-tags", "a,legal")), Lifetime(2, 1000)),
        (chat("What happens TODAY?"), (), Lifetime(3, 1000)),
        (chat([{"type": "text", "text": "看新闻"}]), (), Lifetime(3, 1000)),
        (chat("today", cache={"ttl": 7}), (), Lifetime(7, 7)),
        (chat("never today"), (), Lifetime(3, 1000)),
        (chat(), (("x-cache-ttl", "1h"),), Lifetime(1000, 1000)),
        (chat(tools=[{"type": "function", "text": "today"}]), (), Lifetime(100, 1000)),
    ],
)
def test_how_long_an_answer_lives(
    body: dict[str, Any], headers: tuple[tuple[str, str], ...], lifetime: Lifetime
) -> None:
    assert lookup(arrival(body, *headers), RULED).lifetime == lifetime


def test_the_operators_namespace_is_one_for_rules_too() -> None:
    made = configured('[cache]\nnamespace = "blue"\n[[cache.rule]]\nttl = 2\nnamespace = "blue"')

    assert lookup(arrival(chat()), made).lifetime.ttl == 2


READ = sorted(
    HEADER_NAMES | set(CREDENTIALS) | RULES.key_headers | {"accept-encoding", "content-type"}
)
IGNORED = ["user-agent", "cookie", "traceparent", "x-request-id", "x-stainless-retry-count", "date"]
VALUES = ["", "1", "0.5", "gzip", "no-cache", "off", "true", "exact", "application/json", "a,b"]
headers = st.lists(
    st.tuples(st.sampled_from([*READ, "content-encoding", *IGNORED]), st.sampled_from(VALUES)),
    max_size=3,
).map(tuple)
bodies = st.sampled_from([b'{"model":"m"}', b'{"model":"m","cache":{"ttl":1}}', b"{", b""])
arrivals = st.builds(
    Arrival,
    method=st.just("POST"),
    path=st.sampled_from(["/v1/completions", "/completions"]),
    query=st.sampled_from(["", "a", "/v1"]),
    headers=headers,
    body=bodies,
)


def outcome(asked: Arrival) -> object:
    try:
        return receive(asked, Endpoint.COMPLETIONS, RULES)
    except ControlError as error:
        return str(error)


@given(arrivals, arrivals)
def test_requests_with_one_raw_key_are_understood_alike(one: Arrival, other: Arrival) -> None:
    """So an intent may be remembered by the raw key alone."""
    if raw_key(one, RULES) == raw_key(other, RULES):
        assert outcome(one) == outcome(other)


@pytest.mark.parametrize("name", [*READ, "content-encoding"])
def test_every_header_that_is_read_is_in_the_raw_key(name: str) -> None:
    without = arrival(chat())
    given = Arrival("POST", without.path, "", (*without.headers, (name.title(), "x")), without.body)

    assert raw_key(given, RULES) != raw_key(without, RULES)


@given(arrivals, st.sampled_from(IGNORED), st.sampled_from(VALUES))
def test_no_other_header_is_in_the_raw_key_or_counts(asked: Arrival, name: str, value: str) -> None:
    more = Arrival("POST", asked.path, asked.query, ((name, value), *asked.headers), asked.body)

    assert raw_key(more, RULES) == raw_key(asked, RULES)
    assert outcome(more) == outcome(asked)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Arrival("POST", "/a", "b", (), b""), Arrival("POST", "/ab", "", (), b"")),
        (Arrival("POST", "/a", "", (), b"1"), Arrival("POST", "/a", "", (), b"2")),
        (Arrival("POST", "/a", "", (), b""), Arrival("PUT", "/a", "", (), b"")),
        (arrival(b"", ("x-api-key", "k")), arrival(b"", ("api-key", "k"))),
        (
            Arrival("POST", "/a", "", (("x-cache", "a1:b"),), b""),
            Arrival("POST", "/a", "", (("x-cache", "a"),), b"1:b"),
        ),
    ],
)
def test_different_bytes_have_different_raw_keys(one: Arrival, other: Arrival) -> None:
    assert raw_key(one, RULES) != raw_key(other, RULES)


def test_header_values_that_are_no_unicode_text_are_taken() -> None:
    asked = arrival(chat(), ("openai-beta", "\udcff"), ("x-api-key", "\udc80"))

    assert lookup(asked).key != lookup(arrival(chat())).key
    assert raw_key(asked, RULES) != raw_key(arrival(chat()), RULES)


@given(st.binary(max_size=60), st.sampled_from(list(Endpoint)))
def test_no_body_makes_it_fail(body: bytes, endpoint: Endpoint) -> None:
    assert isinstance(receive(arrival(body), endpoint, RULES), Bypass | Lookup)


NAMES = (
    *("type", "role", "content", "text", "model", "messages", "input", "prompt", "tools", "store"),
    *("source", "image_url", "url", "data", "file", "system", "instructions", "stream_options"),
    *("audio", "output", "cache", "modalities"),
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["user", "text", "image_url", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=5)
    ),
    max_leaves=20,
)
shapes = st.dictionaries(
    st.sampled_from(["messages", "input", "prompt", "tools", "system"]), anything
)


@given(shapes, st.sampled_from(list(Endpoint)))
def test_no_shape_makes_it_fail(fields: dict[str, Any], endpoint: Endpoint) -> None:
    found = receive(arrival({**fields, "store": False}), endpoint, RULES)

    assert isinstance(found, Bypass | Lookup)


ENDING = configured("""
[cache]
ttl = 100
calendars = ["XHKG"]
[[cache.rule]]
calendar = "XNYS"
tag = "stocks"
[[cache.rule]]
pin = true
ttl = 7
tag = "handbook"
""")


def tagged(tags: str) -> tuple[tuple[str, str], ...]:
    return (("x-cache-tags", tags),)


@pytest.mark.parametrize(
    ("headers", "lifetime"),
    [
        ((), Lifetime(100, 2592000)),
        (tagged("stocks"), Lifetime(100, 2592000, ("XNYS",))),
        ((*tagged("stocks"), ("x-cache-ttl", "5")), Lifetime(5, 5, ("XNYS",))),
        (tagged("exchange:XHKG"), Lifetime(100, 2592000, ("XHKG",))),
        (tagged("exchange:XNYS"), Lifetime(100, 2592000, ("XNYS",))),
        (tagged("exchange:XHKG,stocks"), Lifetime(100, 2592000, ("XHKG", "XNYS"))),
        (tagged("exchange:XLON, exchange:, XHKG"), Lifetime(100, 2592000)),
        (tagged("handbook"), Lifetime(7, 2592000, pinned=True)),
        (tagged("permanent"), Lifetime(100, 2592000, pinned=True)),
        (tagged("permanent,stocks"), Lifetime(100, 2592000, ("XNYS",), pinned=True)),
    ],
)
def test_an_answer_ends_with_an_exchange_or_is_pinned(
    headers: tuple[tuple[str, str], ...], lifetime: Lifetime
) -> None:
    """By a rule or by a tag; what a request asks for changes nothing about a rule's exchange."""
    assert lookup(arrival(chat(), *headers), ENDING).lifetime == lifetime


def test_a_tag_that_a_tenant_may_not_use_pins_nothing() -> None:
    asked = arrival(chat() | {"model": "m-1"}, AS_BLUE, *tagged("permanent"))

    assert not lookup(asked, BLUE).lifetime.pinned
