"""A blocked Bloom filter (Putze, Sanders and Singler, 2007) over keys that are digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from proxy.core.entry import Key

_BLOCK: Final = 64
"""Bytes: all bits of a key are in one line of a processor's cache."""
_BITS: Final = 8 * _BLOCK
_OF_EACH: Final = 7
"""Bits of a key: the best number at ten bits of room for each key."""
_CHOICE: Final = 9
"""Bits of a digest that choose one bit of a block."""
PAGE: Final = 256
"""Bytes that are handed on together."""
FULL: Final = 0.5
"""Share of bits set from which it says yes too often: ten bits for each key are used up."""


class Bloom:
    """Never denies a key that was added; says of one key in a hundred that it may be there though
    it is not, as long as it is not `full`."""

    def __init__(self, size: int) -> None:
        """`size`: bytes, rounded down to whole pages; at least one."""
        self.pages = max(1, size // PAGE)
        self._data = bytearray(PAGE * self.pages)
        self._blocks = len(self._data) // _BLOCK
        self._set = 0

    def __repr__(self) -> str:
        return f"<Bloom {len(self._data)} bytes, {self.fill:.0%} set>"

    def __contains__(self, key: Key) -> bool:
        place, mask = self._place(key)
        return int.from_bytes(self._data[place : place + _BLOCK]) & mask == mask

    @property
    def fill(self) -> float:
        """Share of all bits that are set."""
        return self._set / (8 * len(self._data))

    @property
    def full(self) -> bool:
        """Whether its yes has become worthless."""
        return self.fill >= FULL

    def add(self, key: Key) -> bool:
        """Take a key in; False: nothing has changed."""
        place, mask = self._place(key)
        block = int.from_bytes(self._data[place : place + _BLOCK])
        self._data[place : place + _BLOCK] = (block | mask).to_bytes(_BLOCK)
        new = (mask & ~block).bit_count()
        self._set += new
        return new > 0

    def positions(self, key: Key) -> list[int]:
        """The bits that stand for a key, counted from the first byte's highest."""
        first = 8 * self._start(key) + _BITS - 1
        return [first - bit for bit in _chosen(key)]

    def page(self, number: int) -> bytes:
        """A page's bytes."""
        return bytes(self._data[PAGE * number : PAGE * (number + 1)])

    def merge(self, number: int, data: bytes) -> None:
        """Take in what another filter of the same size has on a page; bytes that are missing are
        zeros, pages that are none are left out."""
        if not 0 <= number < self.pages:
            return
        start, end = PAGE * number, PAGE * (number + 1)
        old = int.from_bytes(self._data[start:end])
        new = old | int.from_bytes(data[:PAGE].ljust(PAGE, b"\0"))
        self._data[start:end] = new.to_bytes(PAGE)
        self._set += new.bit_count() - old.bit_count()

    def _place(self, key: Key) -> tuple[int, int]:
        """Where a key's block begins, and its bits there."""
        mask = 0
        for bit in _chosen(key):
            mask |= 1 << bit
        return self._start(key), mask

    def _start(self, key: Key) -> int:
        return int.from_bytes(key[:8]) % self._blocks * _BLOCK


def _chosen(key: Key) -> list[int]:
    """Bits of a block; a digest needs no further hashing."""
    choices = int.from_bytes(key[8:16])
    return [choices >> _CHOICE * which & _BITS - 1 for which in range(_OF_EACH)]
