"""Single-flight: at most one upstream response on its way for a key and epoch."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from proxy.core.events import (
    FlightEnded,
    FlightJoined,
    FlightLeft,
    FlightStarted,
    Landing,
    Refreshed,
)
from proxy.flight import Flight, Reader
from proxy.ports import UpstreamError
from proxy.tasks import ended, finished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import TypeAlias

    from proxy.core.entry import Key
    from proxy.flight import Name
    from proxy.ports import Emit

    Fly: TypeAlias = Callable[[Flight], Awaitable[None]]


class Flights:
    """The flights of this process, by name. Owns their tasks."""

    def __init__(self, emit: Emit, *, limit: int, keep: bool = False) -> None:
        self._emit = emit
        self._limit = limit
        self._keep = keep
        self._flying: dict[Name, Flight] = {}
        self._tasks: dict[asyncio.Task[None], Flight] = {}
        """All that fly, those too that were replaced in the table."""

    def get(self, name: Name) -> Reader | None:
        """A place at the running flight of that name, if there is one."""
        flight = self._flying.get(name)
        return None if flight is None or flight.dropped else self._board(flight)

    def has(self, name: Name) -> bool:
        """Whether such a flight is on its way."""
        return name in self._flying

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

    def alone(self, name: Name, fly: Fly) -> Reader:
        """The place at a new flight that nobody else will board."""
        return self._board(self._start(name, fly, keep=self._keep, shown=False))

    def refresh(self, name: Name, fly: Fly, reason: str) -> None:
        """Start the flight behind an answer, unless it flies already. Nobody reads it yet."""
        if name not in self._flying:
            self._start(name, fly, keep=True)
            self._emit(Refreshed(reason))

    def purge(self, key: Key | None = None) -> None:
        """Whoever asks for that, or for anything, from now on asks anew; who reads already reads
        on."""
        for flight in self._tasks.values():
            if key is None or flight.concerns(key):
                flight.purged = True
                self._flying.pop(flight.name, None)

    def _start(self, name: Name, fly: Fly, *, keep: bool, shown: bool = True) -> Flight:
        flight = Flight(name, keep=keep, limit=self._limit)
        if shown:
            # Before the first await, or two callers of one loop turn would both start.
            self._flying[name] = flight
        task = flight.task = asyncio.get_running_loop().create_task(self._run(flight, fly))
        self._tasks[task] = flight
        task.add_done_callback(self._tasks.pop)
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
        await finished(self._tasks)

    async def aclose(self) -> None:
        await ended(self._tasks)

    def __len__(self) -> int:
        return len(self._flying)

    def __repr__(self) -> str:
        readers = sum(len(flight.readers) for flight in self._flying.values())
        return f"<Flights flying={len(self)} readers={readers}>"
