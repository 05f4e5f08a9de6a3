"""The right of one worker to call upstream for a name, as it is stored."""

from __future__ import annotations

from typing import Final

import msgspec

TERM: Final = 1.5
"""Seconds that a lease lasts unless it is renewed: then a dead worker is replaced."""

_SLACK: Final = 1.5
"""Seconds by which a reader's idea of now may be behind that of who wrote the lease."""


class Lease(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """`owner` is an address, `until` monotonic seconds: one clock for a whole machine."""

    owner: str
    token: int
    """Grows with each change of owner."""
    until: float


_decoder: Final = msgspec.msgpack.Decoder(Lease)


def encode(lease: Lease) -> bytes:
    """The bytes to store."""
    return msgspec.msgpack.encode(lease)


def decode(data: bytes | None) -> Lease | None:
    """The lease that was stored; None for no bytes, or any that are none."""
    try:
        return None if data is None else _decoder.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def in_force(data: bytes | None, now: float) -> Lease | None:
    """The lease that was stored, if it holds at `now`. One that ends far later than a term from
    now is void: it is from before the machine's clock began anew."""
    lease = decode(data)
    return lease if lease is not None and now < lease.until <= now + TERM + _SLACK else None
