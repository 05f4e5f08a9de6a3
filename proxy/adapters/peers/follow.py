"""The side that follows: other workers' flights, read as they arrive there."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from proxy.adapters.peers.frames import (
    CHUNK,
    END,
    FOLLOW,
    FORGET,
    HEAD,
    KEYS,
    NAME,
    PURGE,
    TROUBLE,
    UNHELD,
    gone,
    keys,
    opening,
    trouble,
)
from proxy.adapters.peers.link import SILENCE, StrangerError, call
from proxy.adapters.peers.seal import Secret
from proxy.core.events import TierFailed
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.adapters.peers.frames import Opening
    from proxy.adapters.peers.link import Link
    from proxy.core.entry import Form, Key
    from proxy.ports import Emit


class FollowedFlight:
    """Another worker's answer, while it arrives there."""

    def __init__(self, link: Link, opening: Opening) -> None:
        self.head, self.node, self.raw = opening.head, opening.node, opening.raw
        self.asked: Form = opening.asked
        self.counted = opening.counted
        self._link = link

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            letter, data = await self._link.next()
        except OSError as error:
            raise gone() from error
        if letter == CHUNK:
            return data
        if letter == END:
            raise StopAsyncIteration
        raise trouble(data) if letter == TROUBLE else gone()

    async def aclose(self) -> None:
        self._link.close()


class Peers:
    """Follows flights of the other workers. An owner's address is the path of its socket, or
    host:port on another machine; without a secret those are out of reach."""

    def __init__(self, secret: bytes | None = None, emit: Emit | None = None) -> None:
        """`emit`: told of those who hang up at our greeting."""
        self._emit = emit
        self._secret = None if secret is None else Secret(secret)

    async def follow(self, owner: str, name: bytes) -> FollowedFlight | None:
        """As in `ports.Peers`. Raises: UpstreamError."""
        link, letter, data = await self._asked(owner, FOLLOW + name)
        if letter == HEAD:
            try:
                return FollowedFlight(link, opening(data))
            except BaseException:
                link.close()
                raise
        link.close()
        if letter == TROUBLE:
            raise trouble(data)
        return None

    async def forget(self, owner: str, key: bytes, at: float) -> bool:
        """Have another worker forget a key that was purged then (unix seconds); whether it had it.
        Raises: UpstreamError."""
        link, letter, had = await self._asked(owner, FORGET + PURGE.pack(key, at))
        link.close()
        return letter == END and bool(had)

    async def unheld(self, owner: str, wanted: Sequence[Key]) -> Sequence[Key]:
        """Those of the keys that another worker's own tiers do not hold. Raises: UpstreamError,
        where it cannot say too."""
        asked = UNHELD + bytes(NAME)
        link, letter, data = await self._asked(owner, asked, b"".join(wanted))
        link.close()
        if letter != KEYS:
            raise gone()
        return keys(data)

    async def _asked(
        self, owner: str, what: bytes, more: bytes | None = None
    ) -> tuple[Link, bytes, bytes]:
        """The first frame of the answer. `more`: keys to a question. Raises: UpstreamError."""
        try:
            async with asyncio.timeout(SILENCE):
                link = await call(owner, self._secret)
        except StrangerError as error:
            if self._emit is not None:
                self._emit(TierFailed("peers", "open", type(error).__name__))
            raise UpstreamError("", "stranger", "another gateway has hung up") from error
        except OSError as error:
            raise gone() from error
        try:
            link.ask(what)
            if more is not None:
                link.write(KEYS, more)
            letter, data = await link.next()
        except OSError as error:
            link.close()
            raise gone() from error
        except BaseException:
            link.close()
            raise
        return link, letter, data


class NoPeers:
    """One worker has nobody to follow."""

    async def follow(self, owner: str, name: bytes) -> None:
        return None
