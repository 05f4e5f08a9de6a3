"""How stored values become bytes and come back: the tiers' common way, sealed or not."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from proxy.core import wire

if TYPE_CHECKING:
    from proxy.core.entry import Key, Stored
    from proxy.core.wire import Seal, Unseal

_LARGE: Final = 65536
"""Bytes of an answer that are compressed in a thread: they take longer than going there."""
_LARGE_PACKED: Final = 16384
"""The same on the way back, as text is packed."""


class SealError(ValueError):
    """There is no key to seal with now."""


@dataclass(frozen=True, slots=True)
class Coder:
    """Values to bytes and back. Without `seal` and `unseal` they can be read by anyone."""

    seal: Seal | None = None
    """Raises: SealError."""
    unseal: Unseal | None = None

    def encode(self, stored: Stored) -> bytes:
        """The bytes to keep. Raises: ValueError: there are none, or none that may be kept."""
        return wire.encode(stored, self.seal)

    def decode(self, data: bytes, key: Key) -> Stored | None:
        """What was stored under `key`; None for any bytes that are not exactly that."""
        return wire.decode(data, key, self.unseal)

    async def pack(self, stored: Stored) -> bytes:
        """`encode`, of something large in a thread. Raises: ValueError."""
        if stored.weight <= _LARGE:
            return self.encode(stored)
        return await asyncio.to_thread(self.encode, stored)

    async def unpack(self, data: bytes, key: Key) -> Stored | None:
        """`decode`, of something large in a thread."""
        if len(data) <= _LARGE_PACKED:
            return self.decode(data, key)
        return await asyncio.to_thread(self.decode, data, key)


PLAIN: Final = Coder()
