"""How the driver is set up: it decodes nothing, repeats nothing, and waits no longer than told."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any, Final

from redis.asyncio import Redis
from redis.asyncio.connection import (
    Connection,
    ConnectionPool,
    SSLConnection,
    UnixDomainSocketConnection,
)
from redis.asyncio.sentinel import (
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
)

from proxy.config import ConfigError

if TYPE_CHECKING:
    from proxy.adapters.redis.url import Address, Target

DIAL: Final = 1.0
"""Seconds until a connection has to stand: longer than an operation may take, for a handshake
costs several round trips."""
ASK_ONE: Final = 0.25
"""Seconds that one sentinel, or one server of a cluster, may take to say where things are."""


class _Secured(SSLConnection):
    """All share one context: the driver would read the system's certificates for each."""

    def __init__(self, *, context: ssl.SSLContext, **settings: Any) -> None:
        super().__init__(**settings)
        self.ssl_context.context = context


class _SecuredMaster(SentinelManagedConnection, _Secured):
    pass


class Pools:
    """Connects to nothing yet."""

    def __init__(self, target: Target, ca_file: str, limit: int) -> None:
        """`limit`: connections of a pool. Raises: ConfigError."""
        self.target = target
        self.limit = limit
        self._sentinel = Sentinel([])  # type: ignore[no-untyped-call]
        self._tls: dict[str, Any] = {}
        if target.tls:
            try:
                self._tls["context"] = ssl.create_default_context(cafile=ca_file or None)
            except OSError as error:  # An SSLError is one: a file without certificates.
                said = f"expected a file of certificates, got {ca_file!r}: {error}"
                raise ConfigError(f"{said} - at `cache.redis.ca_file`") from error

    def settings(self, **more: Any) -> dict[str, Any]:
        """Of a connection to a server."""
        user = {"username": self.target.username or None, "password": self.target.password}
        return {
            "connection_class": _Secured if self._tls else Connection,
            **(user if self.target.password else {}),
            **self._tls,
            # Whoever waits has a limit of its own; so none here, where it costs a timer a reply.
            "socket_timeout": None,
            "socket_connect_timeout": DIAL,
            "socket_read_size": 1 << 16,
            "protocol": 2,
            "driver_info": None,
            **more,
        }

    def server(self, address: Address) -> ConnectionPool:
        """To a server that is always at the same place."""
        place = {"host": address.host, "port": address.port}
        if not address.port:
            place = {"path": address.host, "connection_class": UnixDomainSocketConnection}
        settings = self.settings(db=self.target.db, **place)
        return ConnectionPool(max_connections=self.limit, **settings)

    def master(self) -> ConnectionPool:
        """To whichever server the sentinels say."""
        self._sentinel.sentinels = [
            Redis.from_pool(ConnectionPool(**self._watching(address, password)))
            # A sentinel may want the same password, or none. Who answers is asked first from
            # then on.
            for password in dict.fromkeys((self.target.password, ""))
            for address in self.target.addresses
        ]
        kind = _SecuredMaster if self._tls else SentinelManagedConnection
        settings = self.settings(db=self.target.db, connection_class=kind)
        return SentinelConnectionPool(  # type: ignore[no-untyped-call]
            self.target.service, self._sentinel, max_connections=self.limit, **settings
        )

    async def aclose(self) -> None:
        """Close what the pools need besides their own connections."""
        await self._sentinel.aclose()

    def _watching(self, address: Address, password: str) -> dict[str, Any]:
        quick = {"socket_timeout": ASK_ONE, "socket_connect_timeout": ASK_ONE}
        settings = self.settings(host=address.host, port=address.port, **quick)
        return settings if password else {**settings, "username": None, "password": None}
