"""How a connection is made and made ready."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import hiredis

from proxy.adapters.redis.connection import Call, Connection, packed

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from proxy.adapters.redis.url import Address, Target

DIAL: Final = 1.0
"""Seconds until a connection has to stand: longer than an operation may take, for a handshake
costs several round trips."""


class Dialer:
    """Makes connections that are ready for commands."""

    def __init__(self, target: Target, tls: ssl.SSLContext | None) -> None:
        self._target = target
        self._tls = tls

    async def dial(
        self,
        address: Address,
        lost: Callable[[Connection, list[Call], Exception], None] | None = None,
    ) -> Connection:
        """A server's connection. Raises: OSError, TimeoutError included."""
        async with asyncio.timeout(DIAL):
            connection = await self._open(address, lost or _fail_all)
            try:
                await self._greet(connection)
            except BaseException:
                connection.close(ConnectionAbortedError("not ready"))
                raise
            return connection

    async def ask(self, address: Address, *command: str) -> Any:
        """One command to a sentinel, or to any server of a cluster, over a connection of its own.

        Raises: OSError.
        """
        connection = await self._open(address, _fail_all)
        try:
            if self._target.password:
                # A sentinel may want the same password, or none: what it thinks of one shows in
                # the reply to the command.
                await self._send(connection, *self._auth())
            return _checked(await self._send(connection, *command))
        finally:
            connection.close(ConnectionAbortedError("done"))

    async def _open(
        self, address: Address, lost: Callable[[Connection, list[Call], Exception], None]
    ) -> Connection:
        loop = asyncio.get_running_loop()
        if address.port:
            _, connection = await loop.create_connection(
                lambda: Connection(lost), address.host, address.port, ssl=self._tls
            )
        else:
            _, connection = await loop.create_unix_connection(
                lambda: Connection(lost), address.host
            )
        return connection

    async def _greet(self, connection: Connection) -> None:
        commands: list[tuple[str, ...]] = []
        if self._target.password:
            commands.append(self._auth())
        if self._target.db:
            commands.append(("SELECT", str(self._target.db)))
        if self._target.kind == "sentinel":
            commands.append(("ROLE",))
        commands.append(("PING",))
        replies = [self._send(connection, *command) for command in commands]
        for command, reply in zip(commands, replies, strict=True):
            said = _checked(await reply)
            if command == ("ROLE",) and said[0] != b"master":
                raise ConnectionError("the sentinels' master is a replica")

    def _auth(self) -> tuple[str, ...]:
        user = (self._target.username,) if self._target.username else ()
        return ("AUTH", *user, self._target.password)

    @staticmethod
    def _send(connection: Connection, *command: str) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        connection.send(Call(packed(*command), future))
        return future


def _checked(reply: Any) -> Any:
    if isinstance(reply, ConnectionError):
        raise reply
    if isinstance(reply, hiredis.ReplyError):
        # The first word alone: what follows may quote what was sent.
        raise ConnectionError(str(reply).partition(" ")[0])
    return reply


def _fail_all(_: Connection, calls: list[Call], error: Exception) -> None:
    for call in calls:
        call.fail(error)
