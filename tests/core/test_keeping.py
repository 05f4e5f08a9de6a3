"""Which answers become entries, and for how long."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from proxy.core.admit import Reason
from proxy.core.entry import Entry, Usage
from proxy.core.keeping import UNCACHEABLE, Arrived, Keeping, kept
from proxy.core.message import Head
from proxy.core.request import Lifetime
from proxy.core.ttl import PINNED
from tests import answers
from tests.asking import arrival, chat, lookup
from tests.stored import NOW

JSON = ("content-type", "application/json")
EVENTS = ("content-type", "text/event-stream")
KEEPING = Keeping(jitter=0.1, stale_while_revalidate=30.0, stale_if_error=300.0, negative_ttl=10.0)
ASKED = lookup(arrival(chat()))
ERROR = answers.error("no such model")


def arrived(body: bytes, *headers: tuple[str, str], status: int = 200) -> Arrived:
    return Arrived(
        head=Head(status, headers or (JSON,)),
        body=body,
        node="gpu",
        asked=NOW - 2.0,
        created=NOW,
        latency=2.0,
        epoch=7,
    )


def entry(body: bytes, *headers: tuple[str, str], status: int = 200, **asked: Any) -> Entry:
    found = kept(arrived(body, *headers, status=status), changed(**asked), KEEPING)
    assert isinstance(found, Entry), found
    return found


def changed(**asked: Any) -> Any:
    return msgspec.structs.replace(ASKED, **asked) if asked else ASKED


def test_an_answer_is_kept_with_all_that_is_known_of_it() -> None:
    body = answers.dumps(answers.chat("hi"))
    found = entry(body, JSON, ("set-cookie", "a=1"), ("openai-version", "2020"))

    assert found == Entry(
        key=ASKED.key,
        tenant=ASKED.request.tenant,
        endpoint="chat/completions",
        status=200,
        headers=(JSON, ("openai-version", "2020")),
        form="json",
        body=body,
        asked=NOW - 2.0,
        created=NOW,
        ttl=found.ttl,
        stale_while_revalidate=30.0,
        stale_if_error=300.0,
        epoch=7,
        tags=(),
        model="m",
        node="gpu",
        latency=2.0,
        usage=Usage(11, 7),
    )
    assert 3240 <= found.ttl <= 3960


def test_a_stream_is_kept_as_received() -> None:
    body = b"".join(answers.chat_events(["a", "b"], usage=answers.USAGE))
    found = entry(body, EVENTS)

    assert (found.form, found.body, found.usage) == ("events", body, Usage(11, 7))


def test_the_requests_tags_go_with_the_answer() -> None:
    asked = lookup(arrival(chat(), ("x-cache-tags", "a, b")))
    found = kept(arrived(answers.dumps(answers.chat("hi"))), asked, KEEPING)

    assert isinstance(found, Entry)
    assert found.tags == ("a", "b")


@pytest.mark.parametrize(
    ("body", "content_type", "status", "reason"),
    [
        (answers.dumps(answers.chat("hi")), "text/html", 200, "content_type"),
        (answers.dumps(answers.chat("hi")), "", 200, "content_type"),
        (b"{", "application/json", 200, "malformed"),
        (answers.dumps(answers.chat("hi", finish="length")), "application/json", 200, "length"),
        (b"".join(answers.chat_events(["a"])[:-1]), "text/event-stream", 200, "cut"),
        (answers.dumps(answers.chat("hi")), "application/json", 201, "status"),
        (ERROR, "application/json", 429, "status"),
        (ERROR, "application/json", 500, "status"),
        (b"no such page", "application/json", 404, "status"),
    ],
)
def test_an_answer_that_is_not_kept_has_a_reason(
    body: bytes, content_type: str, status: int, reason: str
) -> None:
    found = kept(arrived(body, ("content-type", content_type), status=status), ASKED, KEEPING)

    assert found == reason


def test_an_answer_cut_by_the_requests_own_limit_is_kept() -> None:
    asked = lookup(arrival(chat(max_tokens=5)))
    body = answers.dumps(answers.chat("hi", finish="length"))

    assert isinstance(kept(arrived(body), asked, KEEPING), Entry)


CLOSING = msgspec.structs.replace(KEEPING, closings={"XNYS": (NOW - 100.0, NOW + 200.0)})


def test_an_answer_about_an_exchange_is_gone_at_its_close() -> None:
    asked = changed(lifetime=Lifetime(3600.0, 1e9, ("XNYS",)))
    found = kept(arrived(answers.dumps(answers.chat("hi"))), asked, CLOSING)

    assert isinstance(found, Entry)
    assert found.expires == NOW + 200.0
    assert (found.ttl, found.ends) == (200.0, True)


def test_so_is_what_would_be_stale_by_then() -> None:
    asked = changed(lifetime=Lifetime(60.0, 1e9, ("XNYS",)))
    found = kept(arrived(answers.dumps(answers.chat("hi"))), asked, CLOSING)

    assert isinstance(found, Entry)
    assert found.expires == pytest.approx(NOW + 200.0, abs=0.001)
    assert (found.stale_while_revalidate, found.ends) == (30.0, False)


def test_an_exchange_whose_closes_are_not_known_ends_nothing() -> None:
    asked = changed(lifetime=Lifetime(3600.0, 1e9, ("XLON",)))
    found = kept(arrived(answers.dumps(answers.chat("hi"))), asked, CLOSING)

    assert isinstance(found, Entry)
    assert found.stale_if_error == 300.0


def test_a_pinned_answer_is_kept_as_one_and_a_mistake_is_not() -> None:
    asked = changed(lifetime=Lifetime(60.0, 1e9, pinned=True))
    found = kept(arrived(answers.dumps(answers.chat("hi"))), asked, KEEPING)
    mistake = kept(arrived(ERROR, status=400), asked, KEEPING)

    assert isinstance(found, Entry)
    assert isinstance(mistake, Entry)
    assert (found.pinned, found.stale_while_revalidate) == (True, PINNED)
    assert (mistake.pinned, mistake.expires) == (False, NOW + 10.0)


def test_only_what_lies_in_the_question_makes_a_key_uncacheable() -> None:
    assert set(get_args(Reason)) > UNCACHEABLE
    assert UNCACHEABLE.isdisjoint({"status", "malformed", "error", "cut"})


@pytest.mark.parametrize("status", [400, 404, 413, 422])
def test_a_clients_mistake_is_remembered_for_a_moment_and_never_served_stale(status: int) -> None:
    found = entry(ERROR, status=status)

    assert (found.status, found.body) == (status, ERROR)
    assert found.expires == NOW + 10.0


def test_a_mistake_is_remembered_for_these_very_bytes_alone() -> None:
    """Another spelling of the question has the same key, and may be valid."""
    assert entry(ERROR, status=400, raw=b"r" * 32).key == b"r" * 32


def test_a_mistake_is_not_remembered_longer_than_an_answer_would_be() -> None:
    asked = lookup(arrival(chat(), ("x-cache-ttl", "3")))
    found = kept(arrived(ERROR, status=400), asked, KEEPING)

    assert isinstance(found, Entry)
    assert found.ttl == 3.0


@pytest.mark.parametrize(
    ("header", "remembered"),
    [
        (("X-Should-Retry", "true"), False),
        (("retry-after", "0"), False),
        (("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), False),
        (("x-should-retry", "false"), True),
    ],
)
def test_what_is_to_be_tried_again_is_asked_again(
    header: tuple[str, str], remembered: bool
) -> None:
    """SDKs repeat such a request at once: from the cache it could not come out otherwise."""
    found = kept(arrived(ERROR, JSON, header, status=400), ASKED, KEEPING)

    assert isinstance(found, Entry) is remembered


def test_no_mistake_is_remembered_where_that_is_switched_off() -> None:
    forgetful = msgspec.structs.replace(KEEPING, negative_ttl=0.0)

    assert kept(arrived(ERROR, status=400), ASKED, forgetful) == "status"
