"""Which server holds a key: there is one, or the servers of a cluster share the keys."""

from __future__ import annotations

import asyncio
from binascii import crc_hqx
from bisect import bisect_right
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from proxy.adapters.redis.url import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from proxy.adapters.redis.dialer import Dialer
    from proxy.adapters.redis.server import Server

SLOTS: Final = 16384
_ASK_ONE: Final = 0.3
"""Seconds that one sentinel, or one server of a cluster, may take to say where things are."""


def slot_of(key: bytes) -> int:
    """The slot of a key, of its hash tag alone if it has one (the Redis Cluster specification)."""
    start = key.find(b"{")
    end = key.find(b"}", start + 1)
    if start >= 0 and end > start + 1:
        key = key[start + 1 : end]
    return crc_hqx(key, 0) % SLOTS


def where(redirection: str) -> tuple[int, Address] | None:
    """Slot and server in the rest of a redirection; no host: the one that said it."""
    slot, _, place = redirection.partition(" ")
    host, _, port = place.rpartition(":")
    if not (slot.isdecimal() and int(slot) < SLOTS and port.isdecimal() and 0 < int(port) < 65536):
        return None
    return int(slot), Address(host, int(port))


class Route(Protocol):
    """Who holds what."""

    def server(self, slot: int) -> Server | None:
        """The server of a slot; None as long as nobody has said which."""

    def servers(self) -> Collection[Server]:
        """All that are known."""

    async def learn(self) -> str:
        """Find out anew, if there is reason to; the class of the error, if that failed."""


class Single:
    """One server, at a fixed address or at the one that the sentinels name."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def server(self, slot: int) -> Server:
        return self._server

    def servers(self) -> Collection[Server]:
        return (self._server,)

    async def learn(self) -> str:
        return ""


class Fixed:
    """A server that is always at the same place."""

    def __init__(self, address: Address) -> None:
        self._address = address

    async def locate(self) -> Address:
        return self._address


class Sentinels:
    """Where the master of a service is."""

    def __init__(self, dialer: Dialer, addresses: tuple[Address, ...], service: str) -> None:
        self._dialer = dialer
        self._addresses = list(addresses)
        self._service = service

    async def locate(self) -> Address:
        """What the first sentinel says that knows. Raises: OSError."""
        for sentinel in tuple(self._addresses):
            reply = await _asked(
                self._dialer, sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._service
            )
            if isinstance(reply, list) and len(reply) == 2:
                # Who answers is asked first the next time.
                self._addresses.remove(sentinel)
                self._addresses.insert(0, sentinel)
                return Address(reply[0].decode(), int(reply[1]))
        raise ConnectionError("no sentinel knows the master")


class Cluster:
    """Slots and who has them, as some server of the cluster said; redirections go before that."""

    def __init__(
        self, dialer: Dialer, seeds: tuple[Address, ...], make: Callable[[Address], Server]
    ) -> None:
        self._dialer = dialer
        self._seeds = seeds
        self._make = make
        self._servers: dict[Address, Server] = {}
        self._starts: list[int] = []
        self._ranges: list[tuple[int, Server]] = []
        """The last slot of each range, and who has it."""
        self._moved: dict[int, Server] = {}
        self.stale = True
        """Whether something was seen that the table does not say."""

    def server(self, slot: int) -> Server | None:
        moved = self._moved.get(slot)
        if moved is not None:
            return moved
        place = bisect_right(self._starts, slot) - 1
        if place < 0:
            return None
        last, server = self._ranges[place]
        return server if slot <= last else None

    def servers(self) -> Collection[Server]:
        return tuple(self._servers.values())

    def moved(self, slot: int, address: Address) -> Server:
        """A slot has a new server."""
        self.stale = True
        server = self._moved[slot] = self.at(address)
        return server

    def at(self, address: Address) -> Server:
        """The server with this address, known or not."""
        if address not in self._servers:
            self._servers[address] = self._make(address)
        return self._servers[address]

    def address(self, server: Server) -> Address:
        """Where a server is; where the first seed is, if it has been given up."""
        known = (address for address, held in self._servers.items() if held is server)
        return next(known, self._seeds[0])

    async def learn(self) -> str:
        if not self.stale and all(server.sound for server in self._servers.values()):
            return ""
        for address in (*self._servers, *self._seeds):
            ranges = _ranges(await _asked(self._dialer, address, "CLUSTER", "SLOTS"), address)
            if ranges:
                await self._take(ranges)
                return ""
        return "" if self._starts else "ConnectionError"

    async def _take(self, ranges: list[tuple[int, int, Address]]) -> None:
        self.stale = False
        self._moved.clear()
        self._starts = [first for first, _, _ in ranges]
        self._ranges = [(last, self.at(address)) for _, last, address in ranges]
        held = {address for _, _, address in ranges}
        for address in [address for address in self._servers if address not in held]:
            await self._servers.pop(address).aclose()


async def _asked(dialer: Dialer, address: Address, *command: str) -> Any:
    with suppress(OSError, ValueError):
        async with asyncio.timeout(_ASK_ONE):
            return await dialer.ask(address, *command)
    return None


def _ranges(reply: Any, asked: Address) -> list[tuple[int, int, Address]]:
    """First slot, last slot and master of each range; nothing, if the reply is none."""
    ranges: list[tuple[int, int, Address]] = []
    for part in reply if isinstance(reply, list) else ():
        match part:
            case [int(first), int(last), [host, int(port), *_], *_] if port:
                # A server that does not know its own name is meant by where it was asked.
                known = isinstance(host, bytes) and host not in (b"", b"?")
                ranges.append((first, last, Address(host.decode() if known else asked.host, port)))
            case _:
                return []
    return sorted(ranges)
