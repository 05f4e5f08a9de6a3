"""Who waits for a turn: tenants alternate, the queue is bounded, and so is the wait."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar

from proxy.core.fair import Fair

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proxy.ports import Clock

_COARSE: Final = 0.05
"""Seconds by which who waited too long may be told late, so that one look serves many."""
_AGAIN: Final = 0.25
"""Seconds between two looks for what has come back by itself."""

Ousted: TypeAlias = Literal["queue_full", "queue_timeout"]
"""Why somebody may not wait (any longer)."""

W = TypeVar("W")
P = TypeVar("P")


@dataclass(frozen=True, eq=False)
class _Waiter(Generic[W, P]):
    wish: W
    tenant: bytes
    turn: asyncio.Future[P]
    deadline: float


class Waiting(Generic[W, P]):
    """Those who wish for something, until they are given it, turned away, or leave."""

    def __init__(
        self,
        limit: int,
        patience: float,
        clock: Clock,
        *,
        ousted: Callable[[Ousted], Exception],
        back: Callable[[P], None],
        again: Callable[[], None] = lambda: None,
    ) -> None:
        """`patience`: seconds. `ousted`: what they are told. `back` takes what was given to one
        that left in that moment. `again` is called now and then while somebody waits: what can be
        given may be there without anybody having said so."""
        self._patience = patience
        self._clock = clock
        self._ousted = ousted
        self._back = back
        self._again = again
        self._queue: Fair[_Waiter[W, P]] = Fair(limit)
        self._sweeper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[W]:
        return (waiter.wish for waiter in self._queue)

    async def wait(self, tenant: bytes, wish: W) -> P:
        """What was wished for. Raises: what it was ousted or turned away with."""
        loop, deadline = asyncio.get_running_loop(), self._clock.mono() + self._patience
        turn: asyncio.Future[P] = loop.create_future()
        waiter = _Waiter(wish, tenant, turn, deadline)
        if (dropped := self._queue.push(tenant, waiter)) is waiter:
            raise self._ousted("queue_full")
        if dropped is not None and not dropped.turn.done():
            dropped.turn.set_exception(self._ousted("queue_full"))
        if self._sweeper is None:
            self._sweeper = loop.create_task(self._sweep())
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._back(turn.result())
            raise
        finally:
            self._queue.remove(tenant, waiter)
            if not self._queue and self._sweeper is not None:
                self._sweeper.cancel()
                self._sweeper = None

    def give(self, fits: Callable[[W], bool], made: Callable[[W], P]) -> bool:
        """Give what was `made` to the one whose turn it is; whether there was such a one."""
        while (waiter := self._queue.pop(lambda waiter: fits(waiter.wish))) is not None:
            if not waiter.turn.done():  # it leaves, and has not been able to say so
                waiter.turn.set_result(made(waiter.wish))
                return True
        return False

    def turn_away(self, refused: Callable[[W], Exception | None]) -> None:
        """End the wait of each for whom there is a reason."""
        for waiter in list(self._queue):
            if not waiter.turn.done() and (error := refused(waiter.wish)) is not None:
                self._away(waiter, error)

    def _away(self, waiter: _Waiter[W, P], error: Exception) -> None:
        self._queue.remove(waiter.tenant, waiter)
        waiter.turn.set_exception(error)

    async def _sweep(self) -> None:
        while self._queue:
            mono = self._clock.mono()
            for waiter in list(self._queue):
                if waiter.deadline <= mono and not waiter.turn.done():
                    self._away(waiter, self._ousted("queue_timeout"))
            self._again()
            first = min((waiter.deadline for waiter in self._queue), default=mono)
            await self._clock.sleep(max(_COARSE, min(_AGAIN, first - mono)))
        self._sweeper = None
