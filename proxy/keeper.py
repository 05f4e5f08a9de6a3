"""What becomes of answers: judged, stored, and remembered where they could not be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from proxy.core import embeddings
from proxy.core.batch import apart, members
from proxy.core.coding import CodingError, decoded
from proxy.core.decision import Hit, evaluate
from proxy.core.entry import Alias, Entry
from proxy.core.events import BacklogFull, StoreSkipped
from proxy.core.keeping import UNCACHEABLE, Arrived, kept
from proxy.tasks import off_loop

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import TypeAlias

    from proxy.answering import Answering
    from proxy.core.entry import Key, Stored
    from proxy.core.keeping import Keeping
    from proxy.core.message import Arrival
    from proxy.core.request import Lookup
    from proxy.flight import Flight
    from proxy.marks import Marks
    from proxy.meanings import Meanings
    from proxy.ports import Clock, Emit
    from proxy.tiers import Tiers

    Renewed: TypeAlias = Callable[[Key, float], Awaitable[None]]

_ROOM: Final = 64 << 20
"""Bytes that may be held by flights whose answers are being stored. A disk may take less in a
second than upstreams answer, and a prompt is mostly longer than its answer."""
_FLIGHT: Final = 16 << 10
"""Bytes of a flight besides the texts of its request and its answer."""


class Keeper:
    """Decides about arrived answers and puts them into the tiers."""

    def __init__(
        self,
        tiers: Tiers,
        keeping: Keeping,
        unkept: Marks,
        *,
        clock: Clock,
        emit: Emit,
        max_entry_bytes: int,
        meaning: Meanings,
        renewed: Renewed,
        room: int = _ROOM,
    ) -> None:
        """`renewed`: told of each answer that a request wanted in place of a stored one. `room`:
        bytes that may wait to be stored."""
        self._renewed = renewed
        self._meaning = meaning
        self.unkept = unkept
        """Keys whose answers could not be stored a moment ago."""
        self._tiers = tiers
        self._keeping = keeping
        self._clock = clock
        self._emit = emit
        self._max_decoded = 8 * max_entry_bytes
        self._room, self._held = room, 0

    async def judged(
        self, body: bytes, upstream: Answering, lookup: Lookup, flight: Flight, asked: float
    ) -> Entry | None:
        """What is to be stored of a whole answer."""
        arrived = Arrived(
            head=upstream.head,
            body=body,
            node=upstream.node,
            asked=asked,
            created=self._clock.now(),
            latency=upstream.seconds,
            epoch=flight.name[1],
            counted=flight.counted,
            fence=flight.fence,
        )
        entry = await off_loop(len(body), self._kept, arrived, lookup)
        if isinstance(entry, str):
            self._emit(StoreSkipped(entry))
            if entry in UNCACHEABLE:
                self.unkept.set(lookup.key)
            return None
        self.unkept.drop(lookup.key)
        upstream.usage = entry.usage
        return entry

    def _kept(self, arrived: Arrived, lookup: Lookup) -> Entry | str:
        coding = arrived.head.coding
        try:
            if coding:
                plain = decoded(coding, arrived.body, self._max_decoded)
                arrived = msgspec.structs.replace(arrived, body=plain)
        except CodingError:
            return "coding"
        entry = kept(arrived, lookup, self._keeping)
        return self._meaning.noted(entry, lookup) if isinstance(entry, Entry) else entry

    async def store(self, entry: Entry, lookup: Lookup, arrival: Arrival) -> None:
        """`arrival`: the request, which is held meanwhile."""
        stored: Sequence[Stored] = (entry,)
        if entry.key == lookup.key and lookup.normalized is not None:
            alias = Alias(lookup.normalized, entry.tenant, entry.key, entry.asked, entry.expires)
            stored = (entry, alias)
        elif entry.key == lookup.key and lookup.items:
            stored = self.apart(entry, lookup, arrival.body, range(len(lookup.items))) or ()
        await self.put(*stored, held=arrival.size + len(entry.body))
        if entry.key == lookup.key:
            self._meaning.stored(entry, lookup)
        anew = not lookup.request.controls.read
        if entry.key == lookup.key and not lookup.items:
            self._tiers.replaced(entry, anew=anew)
        if anew:
            await self._renewed(entry.key, entry.asked)

    def apart(
        self, entry: Entry, lookup: Lookup, body: bytes, places: Sequence[int]
    ) -> list[Entry] | None:
        """An answer for the items at these places of the request, one entry each."""
        given = embeddings.inputs(members(body))
        if given is None or len(given[0]) != len(lookup.items):
            return None
        sizes = [embeddings.size(given[0][place]) for place in places]
        keys = [lookup.items[place] for place in places]
        return apart(entry, keys, sizes, lookup, self._keeping)

    async def known(self, lookup: Lookup, now: float, epoch: int) -> dict[Key, Entry]:
        """The items that are stored and fresh."""
        items = await self._tiers.items(lookup, epoch)
        controls = lookup.request.controls
        return {
            key: found.entry
            for key, found in items.items()
            if isinstance(evaluate(found, now, epoch, controls), Hit)
        }

    async def put(self, *stored: Stored, held: int) -> None:
        """Store them as they are; where too much waits for that already, only in what takes no
        time. `held`: bytes of texts that wait with them."""
        held += _FLIGHT + sum([one.weight for one in stored])
        waits = not self._held or self._held + held <= self._room
        if not waits:
            self._emit(BacklogFull())
        self._held += held
        try:
            await self._tiers.put(*stored, waits=waits)
        finally:
            self._held -= held

    async def forget(self, key: Key) -> None:
        """Have it in no tier."""
        await self._tiers.delete(key)
