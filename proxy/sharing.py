"""One flight for all workers of a machine or a fleet: the one that has the lease flies, the others
follow."""

from __future__ import annotations

from contextlib import asynccontextmanager
from random import Random
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from proxy.core.delivery import form
from proxy.core.entry import Key
from proxy.ports import UpstreamError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from proxy.flight import Flight, Name
    from proxy.ports import Clock, Followed, Leases, Peers

    Turn: TypeAlias = Literal["held", "alone", "over"]
    """With the lease, without it, or not at all: another worker's flight was enough."""

PATIENCE: Final = 6.0
"""Seconds of waiting for an owner after which a worker takes its place, or flies alone, whatever
the lease says: longer than the term of any, so that a dead owner has one successor."""

_REFUSALS: Final = 3
"""Greetings at which an owner hangs up, until it is taken for one of another fleet."""

_FIRST_PAUSE: Final = 0.02
_LONGEST_PAUSE: Final = 0.2
"""Seconds before an owner that could not be followed is asked for again; doubled each time."""
_DEATH: Final = 2.0
"""Seconds that a broken attempt to follow counts for, at most: it may have lasted as long as an
answer does."""
_ESTRANGED: Final = 10.0
"""Seconds for which an owner that keeps its leases, and yet cannot be reached from here, is waited
for no more. Nor is its place taken again meanwhile: it may be this worker that nobody reaches."""
_OWNERS: Final = 256
"""Of those, how many are remembered."""


def named(name: Name) -> bytes:
    """A flight's name between workers: 40 bytes."""
    return name[0] + name[1].to_bytes(8, "big")


def unnamed(name: bytes) -> Name:
    """The name that `named` made these bytes of."""
    return Key(name[:32]), int.from_bytes(name[32:], "big")


class Sharing:
    """Leads or follows, by lease."""

    def __init__(
        self,
        leases: Leases,
        peers: Peers,
        clock: Clock,
        *,
        chance: Callable[[], float] | None = None,
    ) -> None:
        """`chance`: uniform in [0, 1)."""
        self._leases = leases
        self._peers = peers
        self._clock = clock
        # Seeded here and not in the process that forks: workers that wait in step would all ask
        # at once.
        self._chance = chance or Random().random
        self._leading: dict[Flight, None] = {}
        """Flights of this worker that have their lease."""
        self._estranged: dict[str, float] = {}
        """Owners that were waited for in vain, and until when that is remembered."""

    @asynccontextmanager
    async def lead(self, flight: Flight) -> AsyncIterator[bool]:
        """True: fly, and hold the lease meanwhile. False: another worker's flight was followed to
        its end, or nobody here needs to.

        Raises: UpstreamError: what the owner's flight met, or that the owner died in the middle.
        """
        turn = await self._turn(flight, named(flight.name))
        if turn == "held":
            self._leading[flight] = None
        try:
            yield turn != "over"
        finally:
            await self._give_back(flight)

    async def step_aside(self, key: Key) -> None:
        """Let others fly for a key that was purged: what is on its way here is not theirs."""
        for flight in [one for one in self._leading if one.concerns(key)]:
            await self._give_back(flight)

    async def _give_back(self, flight: Flight) -> None:
        if flight in self._leading:
            del self._leading[flight]
            await self._leases.release(named(flight.name))

    async def _turn(self, flight: Flight, name: bytes) -> Turn:
        patience, pause, instead, refusals = PATIENCE, _FIRST_PAUSE, "", 0
        while isinstance(owner := await self._leases.acquire(name, instead), str):
            if flight.keep and not flight.readers:
                return "over"  # a refresh, which the owner does as well as anyone
            if self._is_estranged(owner):
                return "alone"
            start = self._clock.mono()
            found = await self._found(owner, name)
            if not isinstance(found, UpstreamError | None) and await self._copy(found, flight):
                return "over"
            refusals += isinstance(found, UpstreamError) and found.kind == "stranger"
            if refusals == _REFUSALS:  # one may be a matter of the moment; this is another secret
                self._estrange(owner)
                return "alone"
            failed = self._clock.mono()
            patience -= min(_DEATH, failed - start)
            if patience <= 0:
                if instead or not isinstance(found, UpstreamError):
                    return "alone"
                # It lives, and cannot be reached from here: so that not everyone flies alone, one
                # takes its place, whom the others follow.
                self._estrange(owner)
                patience, pause, instead = PATIENCE, _FIRST_PAUSE, owner
                continue
            await self._clock.sleep(min(patience, pause * (1 - self._chance() / 2)))
            patience -= self._clock.mono() - failed
            pause = min(_LONGEST_PAUSE, 2 * pause)
        flight.fence = owner
        return "held"

    async def _found(self, owner: str, name: bytes) -> Followed | UpstreamError | None:
        """The owner's flight, once it has a head; None: it flies it no more. An error: the owner
        is gone."""
        try:
            return await self._peers.follow(owner, name)
        except UpstreamError as error:
            if error.kind == "overload":  # no node was asked there; here may be room
                return None
            if error.kind not in ("gone", "stranger"):
                raise
            return error

    async def _copy(self, upstream: Followed, flight: Flight) -> bool:
        """Whether the owner's flight was read to its end; False: none of it was passed on."""
        # Events are passed on as they come. Anything else is held until it is whole: should the
        # owner die, or its upstream's answer break off, the next owner's can still be given.
        held: list[bytes] = []
        room = 0 if form(upstream.head) == "events" else flight.limit
        try:
            async for chunk in upstream:
                held.append(chunk)
                room -= len(chunk)
                if room < 0:  # an answer too large to be held is risked
                    await _passed(held, upstream, flight)
        except UpstreamError as error:
            if flight.head is not None or not error.broke_off:
                raise
            return False
        finally:
            await upstream.aclose()
        await _passed(held, upstream, flight)
        flight.land()
        return True

    def _is_estranged(self, owner: str) -> bool:
        return self._estranged.get(owner, 0.0) > self._clock.mono()

    def _estrange(self, owner: str) -> None:
        self._estranged.pop(owner, None)
        self._estranged[owner] = self._clock.mono() + _ESTRANGED
        if len(self._estranged) > _OWNERS:
            del self._estranged[next(iter(self._estranged))]


async def _passed(held: list[bytes], upstream: Followed, flight: Flight) -> None:
    """Give the flight what was held of the owner's answer; before the first of it, the head."""
    if flight.head is None:
        flight.raw, flight.counted = upstream.raw, upstream.counted
        flight.open(upstream.head, upstream.node, upstream.asked, followed=True)
    for chunk in held:
        await flight.write(chunk)
    held.clear()
