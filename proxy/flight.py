"""Single-flight: one upstream response, written once, read by many from its first byte."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self, TypeAlias

from proxy.core.events import FlightEnded, FlightJoined, FlightLeft, FlightStarted, Landing
from proxy.core.message import Head
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from proxy.core.decision import Found
    from proxy.core.entry import Form, Key
    from proxy.ports import Emit

    Fly: TypeAlias = Callable[["Flight"], Awaitable[None]]

Name: TypeAlias = "tuple[Key, int]"
"""Key and epoch: who asks after an invalidation must not board what was asked before it."""


class _Signal:
    """Wakes all who wait now. They share no awaitable, so the cancellation of one is its own."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def tell(self) -> None:
        event, self._event = self._event, asyncio.Event()
        event.set()

    async def wait(self) -> None:
        await self._event.wait()


class Flight:
    """An upstream response while it arrives: its head, and all its bytes so far.

    Written by one task, which belongs to the table and to no request.
    """

    def __init__(self, name: Name, *, keep: bool, limit: int) -> None:
        self.name = name
        self.limit = limit
        """Bytes held before readers have to keep up; see `write`."""
        self.keep = keep
        """Goes on without readers: a refresh, or an abandoned answer that shall be stored."""
        self.head: Head | None = None
        self.node = ""
        self.reason = ""
        """Why that node was asked; empty where another worker chose it."""
        self.asked: Form = "json"
        """The form that the upstream was asked for."""
        self.raw = b""
        """The request, by its bytes, that the upstream was sent."""
        self.followed = False
        """Another worker asked, for a client of its own."""
        self.found: Found | None = None
        """The stored answer that made the call needless."""
        self.chunks: list[bytes] = []
        self.dropped = 0
        """Chunks at the start that are held no more; see `write`."""
        self.size = 0
        """Bytes held."""
        self.landed = False
        """Whether the whole answer is here."""
        self.error: Exception | None = None
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
        dropped, and the upstream waits for the slowest. It can be neither boarded nor stored.
        """
        self.chunks.append(chunk)
        self.size += len(chunk)
        self.news.tell()
        while self.size > self.limit:
            places = (reader.position - self.dropped for reader in self.readers)
            passed = min(places, default=len(self.chunks))
            if not passed:
                await self.progress.wait()
            self.size -= sum(map(len, self.chunks[:passed]))
            del self.chunks[:passed]
            self.dropped += passed

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
        start = self.position - flight.dropped
        self.position = flight.dropped + len(flight.chunks)
        flight.progress.tell()
        return b"".join(flight.chunks[start:])

    async def aclose(self) -> None:
        leave, self._leave = self._leave, None
        if leave is not None:
            self.flight.readers.discard(self)
            self.flight.progress.tell()
            leave(self.flight)


class Flights:
    """The flights of this process, by name. Owns their tasks."""

    def __init__(self, emit: Emit, *, limit: int, keep: bool = False) -> None:
        self._emit = emit
        self._limit = limit
        self._keep = keep
        self._flying: dict[Name, Flight] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def get(self, name: Name) -> Reader | None:
        """A place at the running flight of that name, if there is one."""
        flight = self._flying.get(name)
        return None if flight is None or flight.dropped else self._board(flight)

    def join(self, name: Name, fly: Fly, *, running: bool = False) -> tuple[Reader, bool]:
        """A place at the flight of that name, and whether another had started it. `running`: not
        at one whose answer is whole already."""
        flight = self._flying.get(name)
        if flight is not None and flight.landed and running:
            flight = None
        if flight is not None and flight.error is None and not flight.dropped:
            return self._board(flight), True
        return self._board(self._start(name, fly, keep=self._keep)), False

    def replace(self, name: Name, fly: Fly) -> Reader:
        """A place at a new flight, which later callers join instead of one that runs already."""
        return self._board(self._start(name, fly, keep=self._keep))

    def refresh(self, name: Name, fly: Fly) -> None:
        """Start the flight behind an answer, unless it flies already. Nobody reads it yet."""
        if name not in self._flying:
            self._start(name, fly, keep=True)

    def _start(self, name: Name, fly: Fly, *, keep: bool) -> Flight:
        # In the table before the first await, or two callers of one loop turn would both start.
        flight = self._flying[name] = Flight(name, keep=keep, limit=self._limit)
        task = flight.task = asyncio.get_running_loop().create_task(self._run(flight, fly))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return flight

    async def _run(self, flight: Flight, fly: Fly) -> None:
        self._emit(FlightStarted())  # not earlier: cancelled before this step, it never ends
        outcome: Landing = "cancelled"
        try:
            await fly(flight)
            outcome = "completed"
        except Exception as error:  # every way a flight can fail is told to its readers
            outcome = "failed"
            if not flight.landed:
                flight.fail(error)
        finally:
            if not flight.ended:
                flight.fail(UpstreamError(flight.node, "cut", "the call was abandoned"))
            # By identity: a flight that was replaced must not take its successor's place away.
            if self._flying.get(flight.name) is flight:
                del self._flying[flight.name]
            self._emit(FlightEnded(outcome))

    def _board(self, flight: Flight) -> Reader:
        reader = Reader(flight, self._leave)
        flight.readers.add(reader)
        self._emit(FlightJoined())
        return reader

    def _leave(self, flight: Flight) -> None:
        self._emit(FlightLeft())
        if flight.readers or flight.keep or flight.ended or flight.task is None:
            return
        flight.task.cancel()
        # Gone from the table at once: who comes now must not board a cancelled flight.
        if self._flying.get(flight.name) is flight:
            del self._flying[flight.name]

    async def drain(self) -> None:
        """Wait for what still flies; the caller sets the time limit."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def aclose(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def __len__(self) -> int:
        return len(self._flying)

    def __repr__(self) -> str:
        readers = sum(len(flight.readers) for flight in self._flying.values())
        return f"<Flights flying={len(self)} readers={readers}>"
