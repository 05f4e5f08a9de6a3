"""A command that somebody waits for, and what becomes of it when there is no reply."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

Part: TypeAlias = "bytes | str | int | float"
"""Of a command."""

TIER: Final = "redis"

OPEN: Final = "CircuitOpen"
UNKNOWN: Final = "ServerUnknown"
BUSY: Final = "TooMuchWaits"
LATE: Final = "TimeoutError"


class LinkError(StoreError):
    """Redis gave no answer, or an error. `code`: the first word of the error that it answered, or
    the class of what happened instead."""

    def __init__(self, code: str) -> None:
        super().__init__(TIER, code)
        self.code = code

    @property
    def refused(self) -> bool:
        """Whether it is certain that nothing was done: Redis said so, or was not even asked."""
        return self.code.isupper() or self.code in (OPEN, UNKNOWN, BUSY)


class Asked:
    """It goes to a server, perhaps to another one after that."""

    __slots__ = ("asking", "future", "hops", "parts", "size", "write")

    def __init__(self, parts: Sequence[Part], *, write: bool) -> None:
        self.parts = parts
        self.write = write
        self.size = sum(len(part) for part in parts if isinstance(part, bytes | str))
        self.hops = 0
        """How often it was sent elsewhere."""
        self.asking = False
        """Whether it was sent to where its slot moves to, and must say so there."""
        self.future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def answer(self, reply: Any) -> None:
        if not self.future.done():
            self.future.set_result(reply)

    def give_up(self, code: str) -> None:
        """Tell who waits that there is no answer."""
        if not self.future.done():
            self.future.set_exception(LinkError(code))
