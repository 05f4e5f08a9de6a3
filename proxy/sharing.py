"""One flight for all workers of a machine: the one that has the lease flies, the others follow."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from proxy.core.entry import Key
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proxy.flight import Flight, Name
    from proxy.ports import Clock, Followed, Leases, Peers

PATIENCE = 10.0
"""Seconds after which a worker flies alone, whatever the lease says: longer than its term."""

_PAUSE = 0.05
"""Seconds before an owner that could not be followed is asked for again."""


def named(name: Name) -> bytes:
    """A flight's name between workers: 40 bytes."""
    return name[0] + name[1].to_bytes(8, "big")


def unnamed(name: bytes) -> Name:
    """The name that `named` made these bytes of."""
    return Key(name[:32]), int.from_bytes(name[32:], "big")


class Sharing:
    """Leads or follows, by lease."""

    def __init__(self, leases: Leases, peers: Peers, clock: Clock) -> None:
        self._leases = leases
        self._peers = peers
        self._clock = clock

    @asynccontextmanager
    async def lead(self, flight: Flight) -> AsyncIterator[bool]:
        """True: fly, and hold the lease meanwhile. False: the flight was followed to its end.

        Raises: UpstreamError: what the owner's flight met, or that the owner died in the middle.
        """
        name = named(flight.name)
        if await self._followed(flight, name):
            yield False
            return
        try:
            yield True
        finally:
            await self._leases.release(name)

    async def _followed(self, flight: Flight, name: bytes) -> bool:
        until = self._clock.mono() + PATIENCE
        while isinstance(owner := await self._leases.acquire(name), str):
            try:
                upstream = await self._peers.follow(owner, name)
            except UpstreamError as error:
                if error.kind != "gone":
                    raise
                upstream = None
            if upstream is not None and await self._copy(upstream, flight):
                return True
            if self._clock.mono() > until:
                return False
            await self._clock.sleep(_PAUSE)
        flight.fence = owner
        return False

    async def _copy(self, upstream: Followed, flight: Flight) -> bool:
        """Whether the owner's flight was read to its end; False: none of its body was read."""
        begun = False
        try:
            async for chunk in upstream:
                if not begun:
                    _open(flight, upstream)
                begun = True
                await flight.write(chunk)
        except UpstreamError as error:
            if begun or error.kind != "gone":
                raise
            return False
        finally:
            await upstream.aclose()
        if not begun:
            _open(flight, upstream)
        flight.land()
        return True


def _open(flight: Flight, upstream: Followed) -> None:
    flight.raw, flight.counted = upstream.raw, upstream.counted
    flight.open(upstream.head, upstream.node, upstream.asked, followed=True)
