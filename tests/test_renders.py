"""Rendered answers: made once for each way to ask, within a bound."""

from __future__ import annotations

from typing import Any

import orjson

from proxy.core.batch import whole
from proxy.core.entry import OVERHEAD, Entry
from proxy.core.request import Request
from proxy.renders import Renders
from tests import answers
from tests.asking import arrival, chat, lookup
from tests.stored import NOW, entry

EVENTS = (("content-type", "text/event-stream"),)
STREAM = b"".join(answers.chat_events(["hello"], usage=answers.USAGE))


def request(**fields: Any) -> Request:
    return lookup(arrival(chat(**fields))).request


def streamed(name: object, text: str = "hello", **changes: Any) -> Entry:
    body = b"".join(answers.chat_events([text], usage=answers.USAGE))
    return entry(name, headers=EVENTS, form="events", body=body, **changes)


def embedded(text: str, now: float = NOW, **changes: Any) -> Entry:
    body = answers.dumps(answers.embeddings({"model": "e", "input": [text]}))
    return entry(text, now, body=body, endpoint="embeddings", asked=now, **changes)


PLAIN, STREAMED, METERED = (
    request(),
    request(stream=True),
    request(stream=True, stream_options={"include_usage": True}),
)


def test_an_answer_in_its_own_form_is_the_stored_bytes() -> None:
    stored = entry("a")

    assert Renders(1 << 20, zero_usage=False).get(stored, PLAIN) == (stored.headers, stored.body)


def test_the_same_way_to_ask_is_rendered_once() -> None:
    renders, stored = Renders(1 << 20, zero_usage=False), streamed("a")

    assert renders.get(stored, PLAIN)[1] is renders.get(stored, PLAIN)[1]


def test_every_way_to_ask_has_its_own() -> None:
    renders, stored = Renders(1 << 20, zero_usage=False), streamed("a")
    bodies = [renders.get(stored, asked)[1] for asked in (PLAIN, STREAMED, METERED)]

    assert len(set(bodies)) == 3
    assert bodies[2] == stored.body


def test_a_newer_answer_is_not_shown_as_the_older_one_was() -> None:
    renders = Renders(1 << 20, zero_usage=False)
    renders.get(streamed("a", "old"), PLAIN)

    assert b"new" in renders.get(streamed("a", "new", created=NOW + 1.0), PLAIN)[1]


def test_a_batch_with_a_newer_item_is_not_shown_as_the_older_one_was() -> None:
    """It is as old as its oldest item, whatever became of the others."""
    renders = Renders(1 << 20, zero_usage=True)
    renders.get(streamed("a", "old", ttl=20.0), PLAIN)

    assert b"new" in renders.get(streamed("a", "new", ttl=50.0), PLAIN)[1]


def test_a_batch_shows_that_an_item_is_newer_which_neither_is_oldest_nor_expires_first() -> None:
    """One that was purged, or asked for anew, in the middle of a batch that was rendered before."""
    asked = lookup(arrival({"model": "e", "input": ["a", "b"]}, path="/v1/embeddings"))
    renders = Renders(1 << 20, zero_usage=True)
    first = embedded("a", ttl=20.0)
    shown = [
        renders.get(together, asked.request)[1]
        for second in (embedded("b", ttl=90.0), embedded("c", NOW + 1.0, ttl=90.0))
        if (together := whole([first, second], asked))
    ]

    assert [orjson.loads(one)["data"][1]["embedding"] for one in shown] == [
        answers.vector("b"),
        answers.vector("c"),
    ]


def test_what_was_rendered_stays_within_the_bound() -> None:
    body = Renders(1 << 20, zero_usage=False).get(streamed("a"), PLAIN)[1]
    size = OVERHEAD + len(body)
    renders = Renders(10 * size, zero_usage=False)
    first = renders.get(streamed(0), PLAIN)[1]
    for name in range(1, 10):
        renders.get(streamed(name), PLAIN)
    last = renders.get(streamed(10), PLAIN)[1]

    assert repr(renders) == f"<Renders 10 {10 * size} B>"
    assert renders.get(streamed(10), PLAIN)[1] is last
    assert renders.get(streamed(0), PLAIN)[1] is not first


def test_what_would_fill_a_large_share_is_not_held() -> None:
    body = Renders(1 << 20, zero_usage=False).get(streamed("a"), PLAIN)[1]
    size = OVERHEAD + len(body)
    renders = Renders(7 * size, zero_usage=False)
    renders.get(streamed("a"), PLAIN)

    assert repr(renders) == "<Renders 0 0 B>"


def test_where_hits_are_free_even_json_says_so() -> None:
    stored = entry("a", body=answers.dumps(answers.chat("hi")))
    body = Renders(1 << 20, zero_usage=True).get(stored, PLAIN)[1]

    assert b'"prompt_tokens":0' in body
