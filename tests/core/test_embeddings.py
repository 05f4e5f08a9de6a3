"""Each text of a batch keeps its own vector, whatever of the batch was known."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.embeddings import Piece, inputs, merged, missing, pieces, remainder, size


@pytest.mark.parametrize(
    ("given_input", "expected"),
    [
        ("a", (["a"], True)),
        (["a"], (["a"], False)),
        (["a", "b", "a"], (["a", "b", "a"], False)),
        ([1, 2], ([[1, 2]], True)),
        ([[1, 2], [3]], ([[1, 2], [3]], False)),
        ([[1], "a"], ([[1], "a"], False)),
        ("", ([""], True)),
        ([], None),
        ([[]], None),
        ([1, "a"], None),
        ([True], None),
        ([1.5], None),
        ([{"text": "a"}], None),
        (None, None),
        (7, None),
    ],
)
def test_items_of_a_request(given_input: Any, expected: Any) -> None:
    assert inputs({"input": given_input}) == expected


def test_each_unknown_text_is_asked_for_once() -> None:
    """Case cl-embed-duplicates: x is twice in the batch, y is known."""
    assert missing(["x", "y", "x", "z"], {"y"}) == [0, 3]
    assert missing(["y"], {"y"}) == []


@pytest.mark.parametrize(
    ("given_input", "places", "asked"),
    [
        (["x", "y", "x", "z"], [0, 3], ["x", "z"]),
        ([[1], [2, 3]], [1], [[2, 3]]),
        (["x"], [0], ["x"]),
        ("x", [0], "x"),
        ([1, 2], [0], [1, 2]),
    ],
)
def test_only_what_is_unknown_goes_upstream(
    given_input: Any, places: list[int], asked: Any
) -> None:
    fields = {"model": "m", "input": given_input, "dimensions": 8, "cache": {"ttl": 5}}

    assert orjson.loads(remainder(fields, places)) == {
        "model": "m",
        "input": asked,
        "dimensions": 8,
    }


def answer(data: list[Any], **more: Any) -> bytes:
    return orjson.dumps({"object": "list", "data": data, "model": "m", **more})


def vector(index: Any, embedding: Any) -> dict[str, Any]:
    return {"object": "embedding", "index": index, "embedding": embedding}


def test_vectors_follow_the_index_and_not_the_position() -> None:
    """Case cl-embed-index."""
    body = answer([vector(1, [0.2]), vector(0, [0.1])])
    found = pieces(body, [3, 3])

    assert found is not None
    assert [orjson.loads(one.body)["data"] for one in found] == [
        [vector(0, [0.1])],
        [vector(0, [0.2])],
    ]


def test_known_and_new_vectors_are_numbered_as_asked() -> None:
    known = pieces(answer([vector(0, [9.5])], usage={"prompt_tokens": 4}), [1]) or []
    new = (
        pieces(answer([vector(0, [1.5]), vector(1, [2.5])], usage={"prompt_tokens": 6}), [2, 4])
        or []
    )
    body = orjson.loads(merged([new[0], known[0], new[1], new[0]]) or b"")

    assert body == {
        "object": "list",
        "data": [vector(0, [1.5]), vector(1, [9.5]), vector(2, [2.5]), vector(3, [1.5])],
        "model": "m",
        "usage": {"prompt_tokens": 12},
    }


def test_numbers_keep_their_spelling() -> None:
    spelled = b"[-0.0, 1.50, 1e-05, 0.10000000149011612, 12345678901234567890123]"
    items = b", ".join(b'{"embedding": %b, "index": %d}' % (spelled, i) for i in range(2))
    found = pieces(b'{"data": [%b], "model": "m"}' % items, [1, 1]) or []

    assert (merged(found) or b"").count(b'"embedding":' + spelled) == 2


def test_base64_vectors_stay_text() -> None:
    found = pieces(answer([vector(0, "AACAPw=="), vector(1, "AAAAQA==")]), [1, 1]) or []
    body = orjson.loads(merged(found) or b"")

    assert [one["embedding"] for one in body["data"]] == ["AACAPw==", "AAAAQA=="]


def test_a_single_vector_is_stored_byte_for_byte() -> None:
    body = b'{ "data": [ {"index": 0, "embedding": [1.0]} ], "x": 1 }'
    found = pieces(body, [5])

    assert found == [Piece(body)]
    assert merged(found) == body


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(0, 10**6))
def test_token_counts_are_shared_out_and_add_up_again(sizes: list[int], count: int) -> None:
    usage = {"prompt_tokens": count, "total_tokens": count, "details": {"text": 7}, "tier": None}
    body = answer([vector(i, [i]) for i in range(len(sizes))], usage=usage)
    found = pieces(body, sizes) or []

    assert orjson.loads(merged(found) or b"") == orjson.loads(body)


def test_larger_texts_have_the_larger_share() -> None:
    body = answer([vector(i, [i]) for i in range(3)], usage={"prompt_tokens": 10, "cost": 1.0})
    found = pieces(body, [5, 0, 15]) or []

    assert [orjson.loads(one.body)["usage"] for one in found] == [
        {"prompt_tokens": 2, "cost": 0.25},
        {"prompt_tokens": 0, "cost": 0.0},
        {"prompt_tokens": 8, "cost": 0.75},
    ]


@pytest.mark.parametrize(
    ("item", "expected"), [("ab", 2), ("退款", 6), ([5, 6, 7], 3), ("\ud800", 3)]
)
def test_size(item: Any, expected: int) -> None:
    assert size(item) == expected


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"\xff",
        b'{"data": 5}',
        b'{"data": ["x", "y"]}',
        b"[" * 100_000,
        answer([vector(0, [1])]),
        answer([vector(0, [1]), vector(0, [2])]),
        answer([vector(0, [1]), vector(2, [2])]),
        answer([vector(0, [1]), vector("1", [2])]),
        answer([{"index": 0}, {"index": 1}]),
        answer([{"embedding": [1]}, {"embedding": [2]}]),
        answer([vector(0, [1]), vector(1, [2]), vector(2, [3])]),
    ],
)
def test_an_answer_that_is_not_complete_is_not_taken_apart(body: bytes) -> None:
    assert pieces(body, [1, 1]) is None


@pytest.mark.parametrize(
    "other", [b"", b"{}", b'{"data":5}', b'{"data":[]}', b"\xff", b"[" * 100_000]
)
def test_a_piece_that_cannot_be_read_is_noticed(other: bytes) -> None:
    good = Piece(answer([vector(0, [1])]))

    assert merged([good, Piece(other)]) is None
    assert merged([]) is None
