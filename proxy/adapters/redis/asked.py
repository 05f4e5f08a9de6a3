"""A command that the path waits for, and what becomes of it when there is no reply."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import hiredis

from proxy.adapters.redis.connection import Call
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.adapters.redis.circuit import Circuit
    from proxy.adapters.redis.server import Server

TIER: Final = "redis"

OPEN: Final = "CircuitOpen"
UNKNOWN: Final = "ServerUnknown"


class LinkError(StoreError):
    """Redis gave no answer, or an error. `code`: the first word of the error that it answered, or
    the class of what happened instead."""

    def __init__(self, code: str) -> None:
        super().__init__(TIER, code)
        self.code = code

    @property
    def refused(self) -> bool:
        """Whether it is certain that nothing was done: Redis said so, or was not even asked."""
        return self.code.isupper() or self.code in (OPEN, UNKNOWN)


class Asked(Call):
    """It goes to a server, perhaps to another one after that."""

    __slots__ = ("_refused", "hops", "server")

    def __init__(
        self,
        packed: bytes,
        server: Server,
        refused: Callable[[Asked, str], None],
        *,
        write: bool,
    ) -> None:
        """`refused`: called with the text of an error that is answered."""
        super().__init__(packed, asyncio.get_running_loop().create_future(), write=write)
        self.server = server
        self.hops = 0
        """How often it was sent elsewhere."""
        self._refused = refused

    @property
    def circuit(self) -> Circuit:
        """The one that it goes through."""
        return self.server.circuit(self.write)

    def answer(self, reply: Any) -> None:
        if self.future.done():
            return
        if isinstance(reply, hiredis.ReplyError):
            self._refused(self, str(reply))
        else:
            self.circuit.succeeded()
            self.future.set_result(reply)

    def fail(self, error: Exception) -> None:
        self.give_up(type(error).__name__)

    def give_up(self, code: str) -> None:
        """Tell who waits that there is no answer."""
        if not self.future.done():
            self.future.set_exception(LinkError(code))
