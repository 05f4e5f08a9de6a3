"""The way to one server: batches of commands, each on a connection of the driver's pool."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from redis.exceptions import AskError, RedisError, ResponseError

from proxy.adapters.redis.asked import BUSY, LATE, Asked, LinkError
from proxy.adapters.redis.circuit import Circuit
from proxy.adapters.redis.pools import DIAL

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from redis.asyncio.connection import AbstractConnection, ConnectionPool

    from proxy.adapters.redis.asked import Part

Moved: TypeAlias = "list[tuple[Asked, AskError]]"
"""Commands that another server has to be asked."""

_THEIRS: Final = frozenset({"WRONGTYPE", "TRYAGAIN", "NOSCRIPT"})
"""Errors that say something about a key or a moment, not about the server."""
_LATE: Final = 0.002
_GRACE: Final = 0.005
"""Seconds more where this loop was late itself: what it was late for may be a reply."""
_WEIGHT: Final = 16 << 10
"""Bytes of a command that count as much as one more command."""
_WAITING: Final = 4096
"""Weight of what may be under way, or wait for a connection."""
_PROBE: Final = 1000
"""Milliseconds that a probe's key lives."""


@dataclass(eq=False)
class _Batch:
    calls: list[Asked]
    due: float
    task: asyncio.Task[None] | None = None
    timer: asyncio.TimerHandle | None = None
    connecting: bool = False
    """Goes on when nobody waits for it any more: the next batch needs the connection."""

    @property
    def weight(self) -> int:
        return sum(1 + call.size // _WEIGHT for call in self.calls)

    @property
    def waiting(self) -> list[Asked]:
        return [call for call in self.calls if not call.future.done()]


class Lane:
    """At most as many batches at once as there may be connections. A batch that is not over when
    it is due is cancelled, and with that the driver closes its connection: no reply is left that
    somebody else could get."""

    def __init__(
        self,
        pool: ConnectionPool,
        limit: int,
        *,
        turned: Callable[[], None],
        moved: Callable[[Lane, Moved, float], Awaitable[None]] | None = None,
    ) -> None:
        """`turned`: called when a circuit opens or closes. `moved`: takes what is redirected, and
        when it is due."""
        self.reads = Circuit(turned)
        self.writes = Circuit(turned)
        self._pool = pool
        self._free = asyncio.Semaphore(limit)
        self._moved = moved
        self._batches: set[_Batch] = set()
        self._weight = 0
        self._up = False

    def __repr__(self) -> str:
        return f"<Lane {'up' if self._up else 'down'}, {len(self._batches)} batches>"

    @property
    def sound(self) -> bool:
        """Whether it was connected when last heard of, and nothing is refused."""
        return self._up and not self.reads.open and not self.writes.open

    def circuit(self, write: bool) -> Circuit:
        """The one that commands of this kind go through."""
        return self.writes if write else self.reads

    def send(self, calls: list[Asked], due: float) -> None:
        """In one pipeline; each is answered or given up by when it is due."""
        batch = _Batch(calls, due)
        if self._weight > _WAITING:
            self._tell(batch, BUSY)
            return
        self._weight += batch.weight
        self._batches.add(batch)
        loop = asyncio.get_running_loop()
        batch.timer = loop.call_at(due, self._expire, batch, due)
        batch.task = loop.create_task(self._carry(batch))
        batch.task.add_done_callback(lambda _: self._over(batch))

    async def probe(self, name: bytes, timeout: float) -> None:
        """Find out whether it can be read and written."""
        read = Asked(("GET", name), write=False)
        wrote = Asked(("SET", name, b"1", "PX", _PROBE), write=True)
        if self.reads.open:
            # Idle connections may lead to where the server is not any more.
            await self._pool.disconnect(inuse_connections=False)
        try:
            async with self._free:
                await self._pool.release(await self._connected())
        except Exception as error:  # The driver raises what it likes at a reply that is none.
            self._up = False
            read.give_up(code_of(error))
            wrote.give_up(code_of(error))
        else:
            self.send([read, wrote], asyncio.get_running_loop().time() + timeout)
        self.reads.probed(await _outcome(read))
        self.writes.probed(await _outcome(wrote))

    async def aclose(self) -> None:
        """Close everything; what waits fails."""
        batches = list(self._batches)
        for batch in batches:
            self._stop(batch)
            self._tell(batch, "ConnectionAbortedError")
        tasks = [batch.task for batch in batches if batch.task is not None]
        if tasks:
            await asyncio.wait(tasks)
        await self._pool.aclose()

    async def _carry(self, batch: _Batch) -> None:
        try:
            async with self._free:
                batch.connecting = True
                connection = await self._connected()
                batch.connecting = False
                try:
                    if batch.waiting:
                        await self._exchange(connection, batch)
                finally:
                    await self._pool.release(connection)
        except Exception as error:
            self._up = False
            self._failed(batch, code_of(error))

    async def _connected(self) -> AbstractConnection:
        async with asyncio.timeout(DIAL):
            found = self._pool.get_connection()  # type: ignore[no-untyped-call]
            connection: AbstractConnection = await found
        self._up = True
        return connection

    async def _exchange(self, connection: AbstractConnection, batch: _Batch) -> None:
        calls = batch.waiting
        commands: list[Sequence[Part]] = []
        for call in calls:
            commands += [("ASKING",), call.parts] if call.asking else [call.parts]
        await connection.send_packed_command(connection.pack_commands(commands))
        moved: Moved = []
        for call in calls:
            if call.asking:
                with suppress(ResponseError):
                    await connection.read_response()
            try:
                reply = await connection.read_response()
            except ResponseError as error:
                if isinstance(error, AskError) and self._moved is not None:
                    moved.append((call, error))
                else:
                    self.refused(call, code_of(error))
            else:
                self.circuit(call.write).succeeded()
                call.answer(reply)
        if moved and self._moved is not None:
            await self._moved(self, moved, batch.due)

    def refused(self, call: Asked, code: str) -> None:
        """An error was answered."""
        if code not in _THEIRS:
            self.circuit(call.write).failed(code)
        call.give_up(code)

    def _expire(self, batch: _Batch, due: float) -> None:
        loop = asyncio.get_running_loop()
        if loop.time() - due > _LATE:
            # Never late again: the next time is the end, whenever it comes.
            batch.timer = loop.call_later(_GRACE, self._expire, batch, math.inf)
            return
        self._failed(batch, LATE)
        if not batch.connecting:
            self._stop(batch)

    def _failed(self, batch: _Batch, code: str) -> None:
        """However many wait, they are one failure of their kind."""
        for write in {call.write for call in batch.waiting}:
            self.circuit(write).failed(code)
        self._tell(batch, code)

    @staticmethod
    def _tell(batch: _Batch, code: str) -> None:
        for call in batch.calls:
            call.give_up(code)

    @staticmethod
    def _stop(batch: _Batch) -> None:
        if batch.task is not None:
            batch.task.cancel()

    def _over(self, batch: _Batch) -> None:
        self._batches.discard(batch)
        self._weight -= batch.weight
        if batch.timer is not None:
            batch.timer.cancel()


async def _outcome(call: Asked) -> str:
    try:
        await call.future
    except LinkError as error:
        return error.code
    return ""


def code_of(error: BaseException) -> str:
    """What an error is told as. Never its text, which may quote what was sent."""
    if isinstance(error, RedisError):
        if error.status_code:
            return error.status_code
        if error.__context__ is not None:
            return code_of(error.__context__)  # what the driver has wrapped
        word = str(error).partition(" ")[0]
        if word.isalpha() and word.isupper():
            return word
    return type(error).__name__
