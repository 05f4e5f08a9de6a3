"""Bytes of stored values: they come back whole or not at all."""

from __future__ import annotations

import struct

import msgspec
import pytest
from blake3 import blake3
from hypothesis import example, given, settings
from hypothesis import strategies as st

from proxy.core import wire
from proxy.core.entry import Alias, Entry, Key, Question, Stored, Tenant, Usage

KEY = Key(b"k" * 32)

seconds = st.floats(min_value=0, max_value=1e12)
words = st.text(st.characters(codec="utf-8"), max_size=12)
keys = st.binary(min_size=32, max_size=32).map(Key)
tenants = st.binary(min_size=16, max_size=16).map(Tenant)
bodies = st.one_of(
    st.binary(max_size=200),
    st.builds(lambda piece, times: piece * times, st.binary(max_size=40), st.integers(0, 200)),
)
questions = st.builds(Question, scope=keys, text=words, tag=words, vector=st.binary(max_size=64))
entries = st.builds(
    Entry,
    key=keys,
    tenant=tenants,
    endpoint=words,
    status=st.integers(100, 599),
    headers=st.lists(st.tuples(words, words), max_size=3).map(tuple),
    form=st.sampled_from(("json", "events")),
    body=bodies,
    asked=seconds,
    created=seconds,
    ttl=seconds,
    stale_while_revalidate=seconds,
    stale_if_error=seconds,
    epoch=st.integers(0, 2**53),
    tags=st.lists(words, max_size=3).map(tuple),
    model=words,
    node=words,
    latency=seconds,
    fence=st.integers(0, 2**63),
    pinned=st.booleans(),
    question=st.none() | questions,
    usage=st.builds(Usage, input=st.integers(0, 10**9), output=st.integers(0, 10**9)),
)
aliases = st.builds(
    Alias, key=keys, tenant=tenants, target=keys, asked=seconds, expires=seconds | st.just(1e300)
)
values = entries | aliases


def entry(body: bytes = b'{"choices": []}') -> Entry:
    return Entry(
        key=KEY,
        tenant=Tenant(b"t" * 16),
        endpoint="chat/completions",
        status=200,
        headers=(("content-type", "application/json"),),
        form="json",
        body=body,
        asked=10.0,
        created=11.0,
        ttl=60.0,
        tags=("a",),
    )


def sealed(content: bytes) -> bytes:
    """`content` with the digest that makes it whole."""
    return content + blake3(content).digest(16)


@given(values)
def test_a_value_comes_back_as_it_was(stored: Stored) -> None:
    assert wire.decode(wire.encode(stored), stored.key) == stored


@given(values)
def test_the_times_are_read_without_decoding(stored: Stored) -> None:
    assert wire.peek(wire.encode(stored)) == (stored.asked, stored.expires)


@given(entries)
def test_what_stores_order_by_stands_at_fixed_places(stored: Entry) -> None:
    data = wire.encode(stored)

    assert data[0] == 3
    assert struct.unpack(">ddQ16s", data[4:44]) == (
        stored.asked,
        stored.expires,
        stored.fence,
        stored.tenant,
    )


@given(values)
def test_entries_with_questions_are_told_from_others_without_decoding(stored: Stored) -> None:
    asked = isinstance(stored, Entry) and stored.question is not None

    assert wire.compared(wire.encode(stored)) == asked


@given(values, st.floats(-1e3, 1e3))
def test_what_may_answer_others_is_told_by_the_head_alone(stored: Stored, left: float) -> None:
    now = stored.expires - left
    answers = isinstance(stored, Entry) and stored.question is not None and stored.expires > now

    assert wire.alive(wire.encode(stored)[: wire.HEAD], now) == (stored.asked if answers else None)


@given(st.binary(max_size=wire.HEAD - 1))
def test_less_than_a_head_answers_nobody(data: bytes) -> None:
    assert wire.alive(data, 0.0) is None


@given(values, keys)
def test_another_key_than_the_one_inside_is_a_miss(stored: Stored, other: Key) -> None:
    found = wire.decode(wire.encode(stored), other)

    assert (found is not None) == (stored.key == other)


@given(st.binary(max_size=300))
@example(b"")
@example(bytes([wire.VERSION]) * 200)
def test_any_other_bytes_are_a_miss(data: bytes) -> None:
    assert wire.decode(data, KEY) is None
    assert wire.decode(sealed(data), KEY) is None


@given(st.integers(0, 255), st.integers(0, 255), st.integers(0, 255), st.binary(max_size=100))
def test_a_right_digest_over_nonsense_is_a_miss(
    version: int, kind: int, coding: int, payload: bytes
) -> None:
    head = bytes([version, kind, coding]) + bytes(41)

    assert wire.decode(sealed(head + payload), KEY) is None


@pytest.mark.parametrize("body", [b"{}", b"0123456789abcdef" * 400])
def test_a_cut_anywhere_is_a_miss(body: bytes) -> None:
    data = wire.encode(entry(body))

    assert {wire.decode(data[:end], KEY) for end in range(len(data))} == {None}
    assert wire.decode(data + b"\0", KEY) is None


@pytest.mark.parametrize("body", [b"{}", b"0123456789abcdef" * 400])
def test_a_flipped_byte_anywhere_is_a_miss(body: bytes) -> None:
    data = wire.encode(entry(body))

    for at in range(len(data)):
        flipped = data[:at] + bytes([data[at] ^ 0x20]) + data[at + 1 :]
        assert wire.decode(flipped, KEY) is None, at


@settings(max_examples=30)
@given(st.integers(0, 255).filter(lambda number: number != wire.VERSION))
def test_a_value_of_another_version_is_a_miss_though_it_is_whole(version: int) -> None:
    data = wire.encode(entry())

    assert wire.decode(sealed(bytes([version]) + data[1:-16]), KEY) is None
    assert wire.peek(bytes([version]) + data[1:]) is None


def test_an_entry_does_not_pass_for_an_alias() -> None:
    data = wire.encode(entry())

    assert wire.decode(sealed(data[:1] + b"\x02" + data[2:-16]), KEY) is None


@pytest.mark.parametrize("value", [entry(), Alias(KEY, Tenant(b"t" * 16), KEY, 1.0, 2.0)])
def test_more_or_fewer_fields_than_this_version_has_are_a_miss(value: Stored) -> None:
    data = wire.encode(value)
    fields = msgspec.msgpack.decode(data[44:-16])
    for other in ([*fields, "new"], fields[:-1]):
        assert wire.decode(sealed(data[:44] + msgspec.msgpack.encode(other)), KEY) is None

    assert wire.decode(sealed(data[:44] + msgspec.msgpack.encode(fields)), KEY) == value


def test_a_key_that_is_too_short_finds_nothing() -> None:
    short = msgspec.structs.replace(entry(), key=Key(b"k"))

    assert wire.decode(wire.encode(short), short.key) is None


def test_text_above_a_kilobyte_is_kept_smaller() -> None:
    body = b'{"role": "assistant", "content": "again and again"}' * 40

    assert len(wire.encode(entry(body))) < len(body) / 4


def test_bytes_that_do_not_shrink_are_kept_plain() -> None:
    noise = blake3(b"noise").digest(4096)

    data = wire.encode(entry(noise))

    assert data[2] == 0
    assert noise in data


def test_a_frame_that_would_unfold_beyond_reason_is_a_miss() -> None:
    data = wire.encode(entry(b"0123456789abcdef" * 400))
    # Single segment, eight bytes of content size: 2**40.
    frame = b"\x28\xb5\x2f\xfd\xe0" + (1 << 40).to_bytes(8, "little") + b"\x01\x00\x00"

    assert wire.decode(sealed(data[:44] + frame), KEY) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"headers": (("x", "\udcff"),)},
        {"epoch": 2**70},
        {"asked": float("nan")},
        {"ttl": float("nan")},
        {"tenant": Tenant(b"short")},
        {"fence": -1},
        {"fence": 2**64},
    ],
)
def test_a_value_without_an_encoding_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"encoded|time|fence"):
        wire.encode(msgspec.structs.replace(entry(), **changes))


def mirrored(payload: bytes | memoryview, bound: bytes) -> bytes:
    """A seal as far as this module can tell: other bytes, bound to something."""
    return bytes(payload)[::-1] + blake3(bound).digest(8)


def righted(data: memoryview, bound: bytes) -> bytes | None:
    return bytes(data[:-8])[::-1] if data[-8:] == blake3(bound).digest(8) else None


@given(values)
def test_a_sealed_value_comes_back_through_its_seal_only(stored: Stored) -> None:
    data = wire.encode(stored, mirrored)

    assert wire.decode(data, stored.key, righted) == stored
    assert wire.decode(data, stored.key) is None


def test_where_all_is_sealed_an_open_value_is_none_of_ours() -> None:
    assert wire.decode(wire.encode(entry()), KEY, righted) is None


def test_whether_it_is_sealed_stands_in_its_head() -> None:
    opened = wire.encode(entry())
    head = opened[:44]
    claimed = head[:3] + b"\x01" + head[4:]

    assert wire.decode(sealed(head + mirrored(opened[44:-16], head + KEY)), KEY, righted) is None
    assert wire.decode(sealed(claimed + opened[44:-16]), KEY) is None


def test_a_seal_is_bound_to_the_head_and_the_key() -> None:
    data = wire.encode(entry(), mirrored)
    other = Key(b"o" * 32)
    later = struct.pack(">d", 11.0)

    assert wire.decode(data, other, righted) is None
    assert wire.decode(sealed(data[:4] + later + data[12:-16]), KEY, righted) is None
    assert wire.decode(sealed(data[:28] + b"u" * 16 + data[44:-16]), KEY, righted) is None


def test_another_tenant_in_front_than_inside_is_a_miss() -> None:
    data = wire.encode(entry())

    assert wire.decode(sealed(data[:28] + b"u" * 16 + data[44:-16]), KEY) is None


@pytest.mark.parametrize(
    ("held", "new", "stays"),
    [
        ((10.0, 0), (10.0, 0), False),
        ((10.0, 0), (9.0, 0), True),
        ((10.0, 0), (11.0, 0), False),
        ((10.0, 5), (11.0, 4), True),
        ((10.0, 5), (11.0, 0), False),
        ((10.0, 0), (11.0, 4), False),
        ((10.0, 4), (11.0, 5), False),
        ((11.0 + wire.AHEAD, 9), (10.0, 8), False),
    ],
)
def test_who_asked_earlier_or_lost_the_lease_comes_too_late(
    held: tuple[float, int], new: tuple[float, int], stays: bool
) -> None:
    def head(order: tuple[float, int]) -> wire.Header:
        value = msgspec.structs.replace(entry(), asked=order[0], fence=order[1])
        found = wire.header(wire.encode(value))
        assert found is not None
        return found

    assert head(held).outranks(head(new)) is stays


def test_a_head_that_is_cut_is_none() -> None:
    data = wire.encode(entry())

    assert wire.header(data[: wire.HEAD]) is not None
    assert wire.header(data[: wire.HEAD - 1]) is None
