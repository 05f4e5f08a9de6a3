"""A worker with a flight that is flown by hand, and that others can follow."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from proxy.adapters.peers.server import PeerServer, Remote, address
from proxy.core.message import Head
from proxy.flights import Flights
from proxy.sharing import unnamed
from tests.stored import key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from proxy.core.entry import Key
    from proxy.flight import Flight, Name, Reader

SECRET = b"0123456789abcdef0123456789abcdef"
NAME: Name = (key("a"), 3)
HEAD = Head(200, (("Content-Type", "text/event-stream"), ("x-should-retry", "é")), "Fine")


class Owner:
    """The worker. `path` is its address on this machine, `remote` for others."""

    def __init__(self, path: Path, *, strangers: int = 512, host: str = "127.0.0.1") -> None:
        self.path, self.host = str(path), host
        self.address = self.path
        self.port = 0
        self.flights = Flights(lambda _: None, limit=1 << 24)
        self.forgotten: list[tuple[bytes, float]] = []
        how = Remote(host, 0, SECRET, strangers=strangers)
        self.server = PeerServer(self.board, self.forget, path, how, unheld=self.unheld)
        self.held: set[Key] | None = set()
        """The keys of what its own tiers hold; None: it cannot say."""
        self.pieces: asyncio.Queue[bytes | Head | Exception | None] = asyncio.Queue()
        """What arrives from upstream; None: the end."""
        self.flown: list[Flight] = []

    async def start(self) -> None:
        self.port = await self.server.start()

    @property
    def remote(self) -> str:
        return address(self.host, self.port)

    async def aclose(self) -> None:
        await self.server.aclose()
        await self.flights.aclose()

    def board(self, name: bytes) -> Reader | None:
        return self.flights.get(unnamed(name))

    async def forget(self, key_: bytes, at: float) -> bool:
        self.forgotten.append((key_, at))
        return key_ == key("a")

    async def unheld(self, keys: Sequence[Key]) -> list[Key] | None:
        return None if self.held is None else [key for key in keys if key not in self.held]

    async def fly(self, flight: Flight) -> None:
        self.flown.append(flight)
        while (piece := await self.pieces.get()) is not None:
            match piece:
                case bytes():
                    await flight.write(piece)
                case Head():
                    flight.raw, flight.counted = b"raw", False
                    flight.open(piece, "gpu", "events")
                case Exception():
                    raise piece
        flight.land()

    def depart(self, *pieces: bytes | Head | Exception | None) -> Reader:
        """Start the flight; the place of a client of its own."""
        for piece in pieces:
            self.pieces.put_nowait(piece)
        return self.flights.join(NAME, self.fly)[0]


async def eventually(holds: Callable[[], bool]) -> None:
    """Let the sockets bring what is on its way; the test's own time limit ends a vain wait."""
    while not holds():  # noqa: ASYNC110  # no event tells of what a socket does
        await asyncio.sleep(0)
