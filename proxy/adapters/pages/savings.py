"""Which warmed prompts no request has found yet, in a page of memory: whichever worker of the
machine warmed them, and whichever is asked."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from proxy.adapters.pages.page import Page

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from proxy.core.chain import Boundary

_SLOT: Final = struct.Struct("<16s8sQ")
"""The boundary's digest, the node's, and tokens."""
_NAME: Final = 24
_GONE: Final = bytes(_SLOT.size)


class Savings:
    """As `core.savings.Savings`. A prompt that falls on another's slot takes it: then a little less
    is counted than was saved."""

    def __init__(self, path: Path, *, slots: int = 1 << 14) -> None:
        """`path`: a file, made if need be. Raises: OSError."""
        self._slots = slots
        self._shared = Page(path, slots * _SLOT.size)
        self._page = self._shared.held

    def await_(self, node: str, digest: bytes, tokens: int) -> None:
        """A node was made to compute so many tokens, up to that boundary."""
        name = digest + _digest(node)
        with self._shared.alone() as alone:
            if alone:
                _SLOT.pack_into(self._page, self._place(name), digest, name[16:], tokens)

    def found(self, node: str, chain: Sequence[Boundary], told: int) -> int:
        """Tokens that a request was spared, of those `told` that its node had kept; those that
        another request was spared are not."""
        own = _digest(node)
        for boundary in reversed(chain):
            name = boundary.digest + own
            place = self._place(name)
            # Mostly it is not there, and then nobody has to be alone.
            if self._page[place : place + _NAME] == name and (tokens := self._taken(place, name)):
                return min(told, tokens)
        return 0

    def _taken(self, place: int, name: bytes) -> int:
        """0: another worker was quicker, or is writing just now."""
        with self._shared.alone() as alone:
            if not alone or self._page[place : place + _NAME] != name:
                return 0
            tokens: int = _SLOT.unpack_from(self._page, place)[2]
            self._page[place : place + _SLOT.size] = _GONE
            return tokens

    def _place(self, name: bytes) -> int:
        mixed = int.from_bytes(name[:8], "little") ^ int.from_bytes(name[16:], "little")
        return mixed % self._slots * _SLOT.size

    def __repr__(self) -> str:
        return f"<Savings of {self._slots} at most>"


def _digest(node: str) -> bytes:
    return blake3(node.encode()).digest(8)
