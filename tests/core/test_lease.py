"""Leases as they are stored, and until when they hold."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.lease import TERM, Lease, decode, encode, in_force

names = st.text(st.characters(codec="utf-8"), max_size=40)
leases = st.builds(Lease, names, st.integers(0, 2**63), st.floats(0, 1e9))


@given(leases)
def test_a_lease_comes_back_as_it_was(lease: Lease) -> None:
    assert decode(encode(lease)) == lease


@given(st.binary(max_size=40))
def test_any_other_bytes_are_no_lease(data: bytes) -> None:
    lease = decode(data)

    assert lease is None or encode(lease)[0] == 0x93


@pytest.mark.parametrize("data", [None, b"", b"\x93", b"\xa3you", b"\x93\xa1a\x01\xa1b"])
def test_bytes_that_say_something_else_are_no_lease(data: bytes | None) -> None:
    assert decode(data) is None
    assert in_force(data, 0.0) is None


@pytest.mark.parametrize(
    ("now", "holds"),
    [
        (100.0, True),
        (101.4, True),
        (101.5, False),
        (200.0, False),
        (99.9, True),  # read by a worker that looked at the clock first
        (5.0, False),  # the machine began anew
    ],
)
def test_a_lease_holds_for_its_term(now: float, holds: bool) -> None:
    data = encode(Lease("a", 1, 100.0 + TERM))

    assert (in_force(data, now) is not None) == holds
