"""The connections of this worker to one server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from proxy.adapters.redis.circuit import Circuit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from proxy.adapters.redis.connection import Call, Connection
    from proxy.adapters.redis.dialer import Dialer
    from proxy.adapters.redis.url import Address

_WAITING: Final = 4096
_WAITING_BYTES: Final = 16 << 20
"""Calls that may wait for the first connection, and their length together."""
_BUSY: Final = 32
"""Load from which a further connection is made: one large value holds up what is behind it."""


class Server:
    """Connections are made when they are needed and no sooner; nothing here waits for one."""

    def __init__(
        self,
        dialer: Dialer,
        locate: Callable[[], Awaitable[Address]],
        limit: int,
        *,
        turned: Callable[[], None],
    ) -> None:
        """`locate`: where it is now, asked before each connection. Raises OSError.

        `limit`: connections at most. `turned`: called when a circuit opens or closes.
        """
        self.reads = Circuit(turned)
        self.writes = Circuit(turned)
        self._dialer = dialer
        self._locate = locate
        self._limit = limit
        self._up: list[Connection] = []
        self._waiting: list[Call] = []
        self._weight = 0
        self._dialing: asyncio.Task[None] | None = None

    def __repr__(self) -> str:
        return f"<Server {len(self._up)} connections, {len(self._waiting)} waiting>"

    @property
    def up(self) -> bool:
        """Whether there is a connection."""
        return bool(self._up)

    @property
    def sound(self) -> bool:
        """Whether there is a connection, and nothing is refused."""
        return bool(self._up) and not self.reads.open and not self.writes.open

    def circuit(self, write: bool) -> Circuit:
        """The one that commands of this kind go through."""
        return self.writes if write else self.reads

    def send(self, call: Call) -> None:
        """On the connection with the least to do; on the first one, as soon as it stands."""
        best = min(self._up, key=_load, default=None)
        if best is None:
            self._wait(call)
            return
        if best.full:
            call.fail(ConnectionError("too many replies are outstanding"))
            return
        if best.load > _BUSY:
            self._grow()
        best.send(call)

    async def ready(self) -> str:
        """Wait for a connection; the class of the error, if there is none to be had."""
        if not self._up:
            self._grow()
        if not self._up and self._dialing is not None:
            # Waited for, not awaited: who stops waiting does not end what others wait for.
            await asyncio.wait([self._dialing])
        return "" if self._up else self.reads.error or "ConnectionError"

    def listen(self) -> None:
        """Begin to watch who says something."""
        for connection in self._up:
            connection.heard = False

    def drop(self, error: Exception, *, silent: bool = False) -> None:
        """Close all connections, or those that were silent since `listen`."""
        for connection in list(self._up):
            if not (silent and connection.heard):
                connection.close(error)

    async def aclose(self) -> None:
        """Close everything; what waits fails."""
        task = self._dialing
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self.drop(ConnectionAbortedError("closed"))
        self._fail(ConnectionAbortedError("closed"))

    def _wait(self, call: Call) -> None:
        self._weight += len(call.packed)
        if len(self._waiting) >= _WAITING or self._weight > _WAITING_BYTES:
            self._weight -= len(call.packed)
            call.fail(ConnectionError("too many wait for a connection"))
            return
        self._waiting.append(call)
        self._grow()

    def _grow(self) -> None:
        """One at a time: a server in trouble is not asked for many."""
        if self._dialing is None and len(self._up) < self._limit:
            self._dialing = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        try:
            connection = await self._dialer.dial(await self._locate(), self._lost)
            if connection.closed:
                raise ConnectionResetError("closed at once")
            self._up.append(connection)
        except (OSError, ValueError) as error:  # The second: an address that is none.
            if not self._up:
                self.reads.error = type(error).__name__
                self._fail(error)
        finally:
            self._dialing = None
        for call in self._waited():
            if not call.future.done():
                self.send(call)

    def _lost(self, connection: Connection, calls: list[Call], error: Exception) -> None:
        if connection in self._up:
            self._up.remove(connection)
        self._count(calls, error)

    def _fail(self, error: Exception) -> None:
        self._count(self._waited(), error)

    def _waited(self) -> list[Call]:
        waiting, self._waiting, self._weight = self._waiting, [], 0
        return waiting

    def _count(self, calls: Iterable[Call], error: Exception) -> None:
        """Tell those that still wait. However many, they are one failure of their kind."""
        failed = [call for call in calls if not call.future.done()]
        for write in {call.write for call in failed}:
            self.circuit(write).failed(type(error).__name__)
        for call in failed:
            call.fail(error)


def _load(connection: Connection) -> int:
    return connection.load
