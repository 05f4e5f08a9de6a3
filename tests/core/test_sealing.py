"""Sealed payloads: only the right key opens them, and only where they belong."""

from __future__ import annotations

import base64
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import sealing

MASTER = bytes(range(32))
SECRET = bytes(range(100, 132))
NONCE = b"n" * 12

payloads = st.binary(max_size=200)


def reopened(data: bytes, bound: bytes, master: bytes = MASTER) -> bytes | None:
    found = sealing.parts(data)
    secret = None if found is None else sealing.unwrap(master, found.wrapped)
    return None if found is None or secret is None else sealing.opened(found, secret, bound)


@given(payloads, payloads)
def test_what_was_sealed_is_opened_by_the_same_master(payload: bytes, bound: bytes) -> None:
    data = sealing.seal(sealing.wrap(MASTER, SECRET), NONCE, payload, bound)

    assert reopened(data, bound) == payload


def test_what_was_sealed_shows_neither_payload_nor_secret() -> None:
    payload = b"how do I get a refund?"

    data = sealing.seal(sealing.wrap(MASTER, SECRET), NONCE, payload, b"bound")

    assert payload not in data
    assert SECRET not in data
    assert MASTER not in data


def test_another_binding_does_not_open_it() -> None:
    data = sealing.seal(sealing.wrap(MASTER, SECRET), NONCE, b"payload", b"tenant a")

    assert reopened(data, b"tenant b") is None


def test_another_master_does_not_open_it() -> None:
    data = sealing.seal(sealing.wrap(MASTER, SECRET), NONCE, b"payload", b"")

    assert reopened(data, b"", master=b"m" * 32) is None


def test_a_flipped_byte_or_a_cut_anywhere_opens_nothing() -> None:
    key = sealing.wrap(MASTER, SECRET)
    data = sealing.seal(key, NONCE, b"payload", b"bound")

    for at in range(8, len(data)):  # the first 8 are the name of the master
        flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        assert reopened(flipped, b"bound") is None, at
    assert {reopened(data[:end], b"bound") for end in range(len(data))} == {None}


@given(payloads)
def test_any_bytes_are_parts_or_nothing(data: bytes) -> None:
    found = sealing.parts(data)

    assert found is None or sealing.opened(found, SECRET, b"") is None


def test_a_wrapped_key_beyond_reason_is_no_sealed_payload() -> None:
    assert sealing.parts(struct.pack(">8sH", b"", 4096) + bytes(5000)) is not None
    assert sealing.parts(struct.pack(">8sH", b"", 4097) + bytes(5000)) is None


KEY = bytes(range(200, 232))


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        KEY.hex().encode(),
        KEY.hex().upper().encode() + b"\n",
        base64.b64encode(KEY),
        base64.b64encode(KEY).rstrip(b"=") + b"\n",
        base64.urlsafe_b64encode(KEY),
    ],
)
def test_a_key_may_be_written_in_several_ways(text: bytes) -> None:
    assert sealing.material(text) == KEY


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"a pass phrase of 32 characters!!",
        KEY[:31],
        KEY.hex().encode()[:62],
        b"z" * 64,
        b"\xff",
    ],
)
def test_anything_else_is_no_key(text: bytes) -> None:
    assert sealing.material(text) is None


def test_a_master_is_named_by_what_it_is_and_the_name_tells_nothing() -> None:
    assert sealing.identity(MASTER) != sealing.identity(SECRET)
    assert sealing.identity(MASTER) not in MASTER
    assert sealing.named("a") != sealing.named("b")
    assert len(sealing.named("a")) == len(sealing.identity(MASTER)) == 8


def test_a_data_key_prints_no_secret() -> None:
    key = sealing.wrap(MASTER, SECRET)

    assert repr(key) == f"<DataKey {key.id.hex()}>"
