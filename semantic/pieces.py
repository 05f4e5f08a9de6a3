"""MessagePack of what is large, made piece by piece: each takes less than a millisecond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

T = TypeVar("T")

_PART: Final = 1000
"""Items of a piece."""
_ARRAY: Final = b"\xdd"
_BINARY: Final = b"\xc6"
_SHORT: Final = 15
"""Items up to which the length of an array takes one byte; here it is three beyond."""


def parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """As many items at once as make a piece."""
    return (items[start : start + _PART] for start in range(0, len(items), _PART))


def fields(count: int) -> bytes:
    """What stands before so many values that are one; at most 15."""
    return bytes((0x90 | count,))


def array(count: int, some: Iterable[Sequence[object]]) -> Iterator[bytes]:
    """An array of the items of all parts, of which there are so many together."""
    yield _ARRAY + count.to_bytes(4)
    for part in some:
        yield msgspec.msgpack.encode(part)[1 if len(part) <= _SHORT else 3 :]


def binary(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Bytes that are in pieces themselves; all of these are made before the first of those."""
    made = []
    for piece in pieces:
        made.append(piece)
        yield b""
    yield _BINARY + sum(map(len, made)).to_bytes(4)
    yield from made
