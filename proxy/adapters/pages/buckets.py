"""Token buckets that the workers of a machine share, in a page of memory."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from blake3 import blake3

from proxy.adapters.pages.page import Page
from proxy.core import bucket
from proxy.core.bucket import Bucket
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from proxy.core.bucket import Spent
    from proxy.ports import Clock

_SLOT: Final = struct.Struct("<16sdd")
"""A bucket: the digest of its name, its level, and when that was, by the machine's clock."""
_WAYS: Final = 4
"""Slots that a bucket may lie in."""
_TOGETHER: Final = 100
"""Buckets in one go: about a third of a millisecond, in which nobody else is served."""


class Buckets:
    """A table of fixed size. Of the buckets that would lie in the same slots, the one that nobody
    took from for longest gives way: it is nearly full, and counts as full when it comes again."""

    def __init__(self, path: Path, *, clock: Clock, slots: int = 1 << 16) -> None:
        """`path`: a file, made if need be; it is of this run alone, since its times are
        monotonic. `slots`: a power of two, the same for all. Raises: OSError."""
        self._clock = clock
        self._groups = slots // _WAYS
        self._shared = Page(path, slots * _SLOT.size)
        self._page = self._shared.held

    async def sync(self, spent: Mapping[bytes, Spent]) -> dict[bytes, float]:
        """Take what was spent; what is in those buckets now. Those that it did not get to are left
        out. Raises: StoreError."""
        levels: dict[bytes, float] = {}
        names = list(spent)
        for start in range(0, len(names), _TOGETHER):
            if start:
                await self._clock.sleep(0)
            try:
                levels |= self._all_taken({n: spent[n] for n in names[start : start + _TOGETHER]})
            except StoreError:
                if not levels:
                    raise
        return levels

    def _all_taken(self, spent: Mapping[bytes, Spent]) -> dict[bytes, float]:
        with self._shared.alone() as alone:
            if not alone:
                raise StoreError("buckets", "busy")
            return {name: self._taken(name, one) for name, one in spent.items()}

    def close(self) -> None:
        """Let go of the file."""
        self._shared.close()

    def _taken(self, name: bytes, spent: Spent) -> float:
        now, digest = self._clock.mono(), blake3(name).digest(16)
        place, held = self._found(digest)
        if held is None:
            held = bucket.full(spent.rate, now)
        after = bucket.taken(held, spent.rate, spent.amount, now)
        _SLOT.pack_into(self._page, place, digest, after.level, after.at)
        return after.level

    def _found(self, digest: bytes) -> tuple[int, Bucket | None]:
        """Where a bucket lies or is to lie, and what it is."""
        start = int.from_bytes(digest[:8], "little") % self._groups * _WAYS * _SLOT.size
        oldest, place = float("inf"), start
        for at in range(start, start + _WAYS * _SLOT.size, _SLOT.size):
            known, level, since = _SLOT.unpack_from(self._page, at)
            if known == digest:
                return at, Bucket(level, since)
            if since < oldest:
                oldest, place = since, at
        return place, None
