"""What workers say to each other: a letter, and what it carries.

A worker asks once: `FOLLOW` and a flight's name, `FORGET` and a purge, or `UNHELD` and zeros, with
keys in a frame behind it. What comes back are frames: a letter, a length (4 bytes, big-endian) and
that many bytes.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

import msgspec

from proxy.core.entry import Form, Key
from proxy.core.message import Head
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from proxy.flight import Flight

KEY: Final = 32
NAME: Final = 40
"""Bytes of a flight's name, or of a purge."""
PURGE: Final = struct.Struct(">32sd")
"""A key, and when it was purged (unix seconds)."""

FOLLOW: Final = b"F"
FORGET: Final = b"D"
"""The answer is `END`, with a byte if the key was there."""

UNHELD: Final = b"U"
"""The answer is `KEYS`, with those of the keys that are held by no tier of the worker's own."""

ABSENT: Final = b"N"
"""No such flight; or it cannot be said."""
KEYS: Final = b"Q"
"""32 bytes each."""
HEAD: Final = b"H"
CHUNK: Final = b"C"
END: Final = b"E"
TROUBLE: Final = b"X"
BEAT: Final = b"K"
"""Still there, still waiting."""


class Opening(msgspec.Struct, frozen=True, array_like=True):
    """The flight as it is when its head arrives."""

    head: Head
    node: str
    asked: Form
    raw: bytes
    counted: bool


class _Trouble(msgspec.Struct, frozen=True, array_like=True):
    node: str
    kind: str
    message: str
    status: int = 0
    retry_after: float = 0.0


def keys(data: bytes) -> list[Key]:
    """What follows `KEYS`."""
    return [Key(data[start : start + KEY]) for start in range(0, len(data), KEY)]


def opened(flight: Flight, head: Head) -> bytes:
    """What follows `HEAD`."""
    opening = Opening(_text(head), flight.node, flight.asked, flight.raw, flight.counted)
    return msgspec.msgpack.encode(opening)


def opening(data: bytes) -> Opening:
    """Raises: UpstreamError where this is none, as between two releases."""
    try:
        return msgspec.msgpack.decode(data, type=Opening)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise gone() from error


def failed(error: UpstreamError) -> bytes:
    """What follows `TROUBLE`."""
    message = str(error).encode(errors="replace").decode()
    facts = (error.node, error.kind, message, error.status, error.retry_after)
    return msgspec.msgpack.encode(_Trouble(*facts))


def trouble(data: bytes) -> UpstreamError:
    """The error that these bytes tell of."""
    try:
        told = msgspec.msgpack.decode(data, type=_Trouble)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return gone()
    return UpstreamError(told.node, told.kind, told.message, told.status, told.retry_after)


def gone() -> UpstreamError:
    """The owner is dead, frozen, or none of ours."""
    return UpstreamError("", "gone", "the worker that had asked is gone")


def _text(head: Head) -> Head:
    """Without what is no text: it cannot be encoded, and clients share none of it."""
    headers = tuple(pair for pair in head.headers if "".join(pair).isprintable())
    return Head(head.status, headers, head.reason if head.reason.isprintable() else "")
