"""A link that runs scripts at a real Redis at once, and fails on demand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import redis as driver

from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

PREFIX = "test:"


def value(client: driver.Redis, key: str) -> bytes | None:
    """What is stored, as the bytes that it is."""
    found = client.get(key)
    assert found is None or isinstance(found, bytes)
    return found


def names(client: driver.Redis) -> list[bytes]:
    """Of all keys."""
    return [key for key in client.scan_iter() if isinstance(key, bytes)]


class Direct:
    """Every script is one round trip in place, so that a test can step through it."""

    def __init__(self, client: driver.Redis) -> None:
        self.client = client
        self.down = False
        """Nothing reaches Redis."""
        self.deaf = False
        """All reaches Redis, and no answer comes back."""
        self.lost = False
        """What is sent now does not arrive."""
        self.silent = False
        """Somebody has just waited for it in vain."""
        self.full = False
        """Redis takes no writes."""
        self.door = asyncio.Event()
        """What an answer waits for."""
        self.door.set()

    def name(self, tag: bytes | str, kind: str) -> bytes:
        text = tag if isinstance(tag, str) else tag.hex()
        return f"{PREFIX}{{{text}}}:{kind}".encode()

    async def script(
        self,
        text: str,
        keys: Sequence[bytes],
        args: Sequence[bytes | str | int | float],
        *,
        write: bool = False,
    ) -> Any:
        if self.down or (self.full and write):
            raise StoreError("redis", "down")
        if self.lost:
            await self.door.wait()
            raise StoreError("redis", "lost")
        try:
            found: Any = self.client.eval(text, len(keys), *keys, *args)
        except driver.RedisError as error:
            raise StoreError("redis", type(error).__name__) from error
        await self.door.wait()
        if self.deaf:
            raise StoreError("redis", "deaf")
        return found
