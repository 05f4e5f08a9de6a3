"""One upstream response, written once, read by many from its first byte."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from proxy.core.message import Head
from proxy.core.status import Why
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from proxy.core.decision import Found
    from proxy.core.entry import Form, Key

Name: TypeAlias = "tuple[Key, int]"
"""Key and epoch: who asks after an invalidation must not board what was asked before it."""

Wants: TypeAlias = "tuple[Form, bool, frozenset[str], bool]"
"""The form, whether with usage, the content codings that are taken, and whether the answer is to
another request."""


PATIENCE: Final = 30.0


class _Signal:
    """Wakes all who wait now. They share no awaitable, so the cancellation of one is its own."""

    def __init__(self) -> None:
        self._waiting: dict[asyncio.Future[None], None] = {}

    def tell(self) -> None:
        if self._waiting:  # mostly nobody waits
            waiting, self._waiting = self._waiting, {}
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def wait(self) -> None:
        future = asyncio.get_running_loop().create_future()
        self._waiting[future] = None
        try:
            await future
        finally:
            self._waiting.pop(future, None)


class Flight:
    """An upstream response while it arrives: its head, and all its bytes so far.

    Written by one task, which belongs to the table and to no request.
    """

    def __init__(self, name: Name, *, keep: bool, limit: int, patience: float = PATIENCE) -> None:
        """`limit`: bytes held before readers have to keep up, `patience`: seconds that a stalled
        one may then hold up others; see `write`."""
        self.name, self.limit, self.patience = name, limit, patience
        self.keep = keep
        """Goes on without readers: a refresh, or an abandoned answer that shall be stored."""
        self.head: Head | None = None
        self.node, self.why = "", Why()
        """Which node was asked, and why; the reason is empty where another worker chose it."""
        self.asked: Form = "json"
        """The form that the upstream was asked for."""
        self.raw, self.counted = b"", True
        """The request, by its bytes, that it was sent; whether its streams have usage."""
        self.items: Collection[Key] = ()
        """Of a batch, the keys under which its parts will be stored."""
        self.fence = 0
        """The fencing token of the lease under which it flies."""
        self.followed = False
        """Another worker asked, for a client of its own."""
        self.found: Found | None = None
        """The stored answer that made the call needless."""
        self.chunks: list[bytes] = []
        self.size, self.dropped = 0, 0
        """Bytes held; chunks at the start that are held no more, see `write`."""
        self.purged = self.landed = False
        """Whether its answer shall not be stored; whether all of it is here."""
        self.error: Exception | None = None
        self.shown: dict[Wants, tuple[Head, bytes]] = {}
        """The whole answer as readers see it, by what they want."""
        self.readers: set[Reader] = set()
        self.task: asyncio.Task[None] | None = None
        self.news, self.progress = _Signal(), _Signal()

    def open(self, head: Head, node: str, asked: Form, *, followed: bool = False) -> None:
        """The head is here."""
        self.head, self.node, self.asked, self.followed = head, node, asked, followed
        self.news.tell()

    async def write(self, chunk: bytes) -> None:
        """More of the body is here.

        An answer beyond the limit is no longer held whole: what every reader has passed is
        dropped, and the upstream waits for the slowest, though not for ever where that holds up
        others. It can be neither boarded nor stored.
        """
        self.chunks.append(chunk)
        self.size += len(chunk)
        self.news.tell()
        while self.size > self.limit:
            places = (reader.position - self.dropped for reader in self.readers)
            passed = min(places, default=len(self.chunks))
            if not passed:
                await self._slowest()
            self.size -= sum(map(len, self.chunks[:passed]))
            del self.chunks[:passed]
            self.dropped += passed

    async def _slowest(self) -> None:
        try:
            async with asyncio.timeout(self.patience if len(self.readers) > 1 else None):
                await self.progress.wait()
        except TimeoutError:
            for reader in [one for one in self.readers if one.position <= self.dropped]:
                reader.lose()

    def board(self, found: Found) -> None:
        """The answer is stored already: the readers are to take it from there."""
        self.found = found
        self.head = Head(found.entry.status, found.entry.headers)
        self.land()

    def land(self) -> None:
        """The body is whole. What follows (storing it) keeps no reader waiting."""
        self.landed = True
        self.news.tell()

    def fail(self, error: Exception) -> None:
        self.error = error
        self.news.tell()

    def concerns(self, key: Key) -> bool:
        """Whether its answer will be stored under that key."""
        return key == self.name[0] or key in self.items

    @property
    def ended(self) -> bool:
        return self.landed or self.error is not None

    def __repr__(self) -> str:
        return f"<Flight {self.name[0].hex()[:8]} {self.size} B readers={len(self.readers)}>"


class Reader:
    """One request's place at a flight. It must be left, by `aclose` or by reading to the end."""

    def __init__(self, flight: Flight, leave: Callable[[Flight], None]) -> None:
        self.flight = flight
        self._leave: Callable[[Flight], None] | None = leave
        self.lost = False
        self.position = 0
        """The next chunk to read, counted from the first."""

    async def head(self) -> Head:
        """The response's head. Raises the flight's error if there never was one."""
        flight = self.flight
        while flight.head is None:
            if flight.error is not None:
                raise flight.error
            await flight.news.wait()
        return flight.head

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """All that came since the last call; then, if it failed, the flight's error."""
        flight = self.flight
        while self.position >= flight.dropped + len(flight.chunks):
            if flight.landed:
                await self.aclose()
                raise StopAsyncIteration
            if flight.error is not None:
                raise flight.error
            await flight.news.wait()
        if self.lost:
            raise UpstreamError(flight.node, "cut", "the answer was read too slowly")
        start = self.position - flight.dropped
        self.position = flight.dropped + len(flight.chunks)
        flight.progress.tell()
        chunks = flight.chunks[start:] if start else flight.chunks
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    def lose(self) -> None:
        """Give up the place: others have waited too long for this reader."""
        self.lost = True
        self.flight.readers.discard(self)

    async def aclose(self) -> None:
        leave, self._leave = self._leave, None
        if leave is not None:
            self.flight.readers.discard(self)
            self.flight.progress.tell()
            leave(self.flight)
