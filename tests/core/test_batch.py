"""Embeddings batches: stored by item, served as one."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest

from proxy.core.batch import apart, whole
from proxy.core.entry import Entry, Usage
from proxy.core.keeping import Keeping
from proxy.core.request import Lifetime
from tests import answers
from tests.asking import arrival, lookup
from tests.stored import NOW, entry

PATH = "/v1/embeddings"


def asked(*texts: str) -> dict[str, Any]:
    return {"model": "m", "input": list(texts)}


KEEPING = Keeping(jitter=0.1, stale_while_revalidate=30.0, stale_if_error=300.0)
LOOKUP = lookup(arrival(asked("a", "bbb"), path=PATH))
ANSWER = entry(
    "whole",
    endpoint="embeddings",
    body=answers.dumps(answers.embeddings(asked("a", "bbb"), backwards=True)),
    usage=Usage(8),
)


def parts() -> list[Entry]:
    found = apart(ANSWER, LOOKUP.items, [1, 3], LOOKUP, KEEPING)
    assert found is not None
    return found


def vectors(body: bytes) -> list[Any]:
    return [one["embedding"] for one in orjson.loads(body)["data"]]


def test_each_item_keeps_its_own_vector_under_its_own_key() -> None:
    """By the answer's `index`, not by its order."""
    found = parts()

    assert [one.key for one in found] == list(LOOKUP.items)
    assert [vectors(one.body) for one in found] == [[answers.vector("a")], [answers.vector("bbb")]]


def test_each_item_has_a_life_of_its_own() -> None:
    lives = [one.ttl for one in parts()]

    assert lives[0] != lives[1]
    assert all(3240 <= life <= 3960 for life in lives)


def test_each_item_about_an_exchange_is_gone_at_its_close() -> None:
    asked = msgspec.structs.replace(LOOKUP, lifetime=Lifetime(100.0, 1000.0, ("XNYS",)))
    closing = msgspec.structs.replace(KEEPING, closings={"XNYS": (NOW + 100.0,)})
    found = apart(ANSWER, LOOKUP.items, [1, 3], asked, closing)

    assert found is not None
    assert [one.expires for one in found] == pytest.approx([NOW + 100.0] * 2, abs=0.001)
    assert [one.ends for one in found] == [one.ttl == 100.0 for one in found]


def test_what_the_batch_cost_is_shared_out_by_size() -> None:
    assert [one.usage for one in parts()] == [Usage(2), Usage(6)]


@pytest.mark.parametrize(
    "answer",
    [
        entry("whole", status=400, body=answers.error("no")),
        entry("whole", body=answers.dumps(answers.embeddings(asked("a")))),
        entry("whole", body=b"{"),
        msgspec.structs.replace(ANSWER, status=404),
    ],
)
def test_an_answer_that_does_not_have_every_item_is_not_taken_apart(answer: Entry) -> None:
    assert apart(answer, LOOKUP.items, [1, 3], LOOKUP, KEEPING) is None


def test_items_together_are_what_upstream_had_said() -> None:
    together = whole(parts(), LOOKUP)

    assert together is not None
    assert orjson.loads(together.body) == answers.embeddings(asked("a", "bbb"))


def test_together_they_are_filed_under_the_batch_with_what_they_cost() -> None:
    together = whole(parts(), LOOKUP)

    assert together is not None
    assert (together.key, together.usage) == (LOOKUP.key, Usage(8))


def test_together_they_are_as_old_as_the_oldest_and_fresh_as_long_as_the_first_to_expire() -> None:
    first, second = parts()
    young = entry("x", NOW, body=first.body, ttl=20.0, epoch=5)
    old = entry("y", NOW - 30.0, body=second.body, ttl=100.0, epoch=4)
    together = whole([young, old], LOOKUP)

    assert together is not None
    assert (together.created, together.ttl, together.epoch) == (NOW - 30.0, 50.0, 4)


def test_items_that_cannot_be_read_are_nothing_together() -> None:
    assert whole([parts()[0], entry("b", body=b"{}")], LOOKUP) is None
