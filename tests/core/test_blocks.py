"""Batches of events as vLLM and SGLang encode them, old and new; no bytes are an error."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.blocks import (
    END,
    Batch,
    Cleared,
    Removed,
    Stored,
    Unknown,
    decoded,
    number,
    numbered,
)
from tests import vllm

pack = msgspec.msgpack.encode
GPU = ("GPU", 0)
HASH = b"h" * 32


def batch(*events: Any) -> bytes:
    return pack([7.5, list(events), 0])


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        # SGLang, and the first vLLM: integers as hashes, no medium.
        (["BlockStored", [1, 2], None, [5] * 32, 16, None], Stored(("", 0), (1, 2), 16)),
        (["BlockRemoved", [1]], Removed(("", 0), (1,))),
        (["AllBlocksCleared"], Cleared()),
        # vLLM: hashes as bytes, media, groups.
        (
            ["BlockStored", [HASH], HASH, [5] * 16, 16, None, "GPU", None],
            Stored(GPU, (hash(HASH),), 16),
        ),
        (
            ["BlockStored", [HASH], None, [], 256, 3, "CPU", "lora", [None], 2, "full", None, "?"],
            Stored(("CPU", 2), (hash(HASH),), 256),
        ),
        (["BlockRemoved", [HASH, HASH], "GPU"], Removed(GPU, (hash(HASH), hash(HASH)))),
        (["BlockRemoved", [HASH], "CPU", 2, "more"], Removed(("CPU", 2), (hash(HASH),))),
        # vLLM as maps, where what is not said is left out.
        (
            {"type": "BlockStored", "block_hashes": [HASH], "token_ids": [1], "block_size": 16},
            Stored(("", 0), (hash(HASH),), 16),
        ),
        (
            {
                "group_idx": 1,
                "medium": "GPU",
                "block_hashes": [HASH],
                "type": "BlockRemoved",
                "new": {"a": [1]},
            },
            Removed(("GPU", 1), (hash(HASH),)),
        ),
        ({"type": "AllBlocksCleared", "why": "asked"}, Cleared()),
        # What is not understood may have changed anything.
        (["BlockMoved", [1]], Unknown()),
        ({"type": "BlockMoved"}, Unknown()),
        ({}, Unknown()),
        ([], Unknown()),
        (None, Unknown()),
        ("AllBlocksCleared", Unknown()),
        (["BlockStored", [1], None, [5], [16], None], Unknown()),
        (["BlockStored", [1], None, [5], 0], Unknown()),
        (["BlockStored", [1], None, [5], True], Unknown()),
        (["BlockStored", 3, None, [5], 16], Unknown()),
        (["BlockStored"], Unknown()),
        (["BlockStored", [[1]], None, [5], 16], Unknown()),
        (["BlockRemoved", None], Unknown()),
        ([["AllBlocksCleared"]], Unknown()),
    ],
)
def test_an_event_is_read(event: Any, expected: object) -> None:
    assert decoded(batch(event)) == Batch(7.5, 0, (expected,))  # type: ignore[arg-type]


def test_what_a_real_vllm_published_is_read() -> None:
    """Its batches are arrays, of events as maps."""
    told = [decoded(one) for one in vllm.BATCHES]
    kinds = [[type(change) for change in one.changes] for one in told if one is not None]
    stored = [c for one in told if one for c in one.changes if isinstance(c, Stored)]
    removed = [c for one in told if one for c in one.changes if isinstance(c, Removed)]

    assert kinds == [
        [Stored],
        [Cleared, Stored],
        [Stored],
        [Stored],
        [Removed, Removed, Stored],
    ]
    assert {(one.where, one.size) for one in stored} == {(GPU, vllm.BLOCK)}
    assert [len(one.blocks) for one in stored] == [1, 1, 2, 2, 1]
    assert {one.where for one in removed} == {GPU}
    known = {block for one in stored for block in one.blocks}
    assert known > {block for one in removed for block in one.blocks}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([1, []], Batch(1.0, 0, ())),
        ([1.5, [], 3], Batch(1.5, 3, ())),
        ([1.5, [], None, {"new": 1}], Batch(1.5, 0, ())),
        ({"ts": 1.5, "events": []}, Batch(1.5, 0, ())),
        (
            {"data_parallel_rank": 3, "x": 1, "events": [["AllBlocksCleared"]], "ts": 2},
            Batch(2.0, 3, (Cleared(),)),
        ),
    ],
)
def test_a_batch_is_read(told: Any, expected: Batch) -> None:
    assert decoded(pack(told)) == expected


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc1",
        b"{}",
        pack(None),
        pack([]),
        pack([1.5]),
        pack([1.5, None]),
        pack(["soon", []]),
        pack([float("nan"), []]),
        pack({"events": []}),
        pack({"ts": 1.5}),
        batch()[:-1],
        batch() + b"\x00",
        b"\x91" * 100_000,  # lists in lists
        batch(*[[]] * 65_537),
    ],
)
def test_what_is_no_batch_is_none(payload: bytes) -> None:
    assert decoded(payload) is None


@given(st.binary(max_size=200))
def test_no_bytes_are_an_error(payload: bytes) -> None:
    for one in (payload, b"\x93\x01\x91" + payload + b"\x00"):
        told = decoded(one)
        assert told is None or isinstance(told, Batch)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text()
    | st.binary()
    | st.sampled_from(["BlockStored", "BlockRemoved", "AllBlocksCleared", "type"]),
    lambda one: st.lists(one) | st.dictionaries(st.text() | st.just("type"), one),
    max_leaves=12,
)


@given(st.lists(values, max_size=4), st.floats(allow_nan=False, allow_infinity=False))
def test_whatever_an_event_holds_the_others_are_read(events: list[Any], at: float) -> None:
    told = decoded(pack([at, [*events, ["AllBlocksCleared"]], 0]))

    assert told is not None
    assert told.at == at
    assert told.changes[-1] == Cleared()
    assert len(told.changes) == len(events) + 1


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (b"\x00" * 8, 0),
        (b"\x00" * 6 + b"\x01\x02", 258),
        (b"\xff" * 8, END),
        (b"\xff" * 7 + b"\xfe", None),
        (b"\x00" * 7, None),
        (b"", None),
    ],
)
def test_a_number_is_eight_bytes(frame: bytes, expected: int | None) -> None:
    assert number(frame) == expected


@given(st.integers(0, 2**63 - 1))
def test_a_number_is_asked_for_as_it_is_told(value: int) -> None:
    assert number(numbered(value)) == value
