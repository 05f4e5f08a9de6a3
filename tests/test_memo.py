"""The memo: what was understood is known again, within its bound."""

from __future__ import annotations

import pytest

from proxy.memo import Memo
from tests.asking import RULES, arrival, chat, lookup

INTENT = lookup(arrival(chat()))


def test_what_was_understood_once_is_known_by_its_bytes() -> None:
    memo = Memo(RULES, 2)
    memo.put(b"a", INTENT)

    assert memo.get(b"a") is INTENT
    assert memo.get(b"b") is None


def test_the_oldest_makes_room() -> None:
    memo = Memo(RULES, 2)
    for raw in (b"a", b"b", b"c"):
        memo.put(raw, INTENT)

    assert [memo.get(raw) for raw in (b"a", b"b", b"c")] == [None, INTENT, INTENT]


def test_a_memo_without_room_knows_nothing() -> None:
    memo = Memo(RULES, 0)
    memo.put(b"a", INTENT)

    assert memo.get(b"a") is None


@pytest.mark.parametrize(("items", "known"), [(32, True), (33, False)])
def test_a_batch_of_many_items_is_not_remembered(items: int, known: bool) -> None:
    """Its keys would take more room than all other requests together."""
    body = {"model": "m", "input": [str(n) for n in range(items)]}
    memo = Memo(RULES, 2)
    memo.put(b"a", lookup(arrival(body, path="/v1/embeddings")))

    assert (memo.get(b"a") is not None) == known


@pytest.mark.parametrize(("length", "known"), [(512, True), (513, False)])
def test_what_names_a_model_of_no_such_length_is_not_remembered(length: int, known: bool) -> None:
    """Megabytes that a client calls a model would be held for as many requests as there is room."""
    memo = Memo(RULES, 2)
    memo.put(b"a", lookup(arrival({**chat(), "model": "m" * length})))

    assert (memo.get(b"a") is not None) == known


@pytest.mark.parametrize(("length", "known"), [(15, True), (16, False)])
def test_a_request_of_many_tags_is_not_remembered(length: int, known: bool) -> None:
    """They may have a thousand times the room of all else that is known of it."""
    memo = Memo(RULES, 2)
    tags = ",".join(f"{number:032}" for number in range(length))
    memo.put(b"a", lookup(arrival(chat(), ("x-cache-tags", tags))))

    assert (memo.get(b"a") is not None) == known
