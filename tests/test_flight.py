"""Flights: one call for all who ask, and nobody's leaving or failing is another's."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from proxy.core.decision import Found
from proxy.core.message import Head
from proxy.flight import Flight, Reader
from proxy.flights import Flights
from proxy.ports import UpstreamError
from tests.fakes import JSON, settle
from tests.stored import entry, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proxy.core.events import Event
    from proxy.flight import Name

NAME: Name = (key("a"), 0)
HEAD = Head(200, JSON)
LIMIT = 1000


class Sky:
    """Flights that are flown by hand: each one waits for what the test lets it write."""

    def __init__(self, *, keep: bool = False) -> None:
        self.events: list[Event] = []
        self.flights = Flights(self.events.append, limit=LIMIT, keep=keep)
        self.flown: list[Flight] = []
        self.cancelled = 0
        self.gate = asyncio.Event()
        """Opened when the body may arrive."""
        self.door = asyncio.Event()
        """Opened when the head may arrive."""
        self.door.set()
        self.stored = asyncio.Event()
        """Opened when the answer is stored."""
        self.stored.set()
        self.error: Exception | None = None

    async def fly(self, flight: Flight) -> None:
        self.flown.append(flight)
        try:
            await self.door.wait()
            flight.open(HEAD, "gpu", "json")
            await flight.write(b"one ")
            await self.gate.wait()
            if self.error is not None:
                raise self.error
            await flight.write(b"two")
            flight.land()
            await self.stored.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    def join(self, name: Name = NAME) -> Reader:
        return self.flights.join(name, self.fly)[0]

    def told(self) -> Counter[str]:
        return Counter(type(event).__name__ for event in self.events)


@pytest.fixture
async def sky() -> AsyncIterator[Sky]:
    made = Sky()
    yield made
    await made.flights.aclose()


async def read(reader: Reader) -> bytes:
    """All of it, by a reader that leaves whatever happens, as each one on the path does."""
    try:
        await reader.head()
        return b"".join([chunk async for chunk in reader])
    finally:
        await reader.aclose()


async def test_two_joins_in_one_turn_are_one_call(sky: Sky) -> None:
    """The flight is in the table before anything is awaited."""
    joined = [sky.flights.join(NAME, sky.fly)[1] for _ in range(2)]
    await settle()

    assert joined == [False, True]
    assert len(sky.flown) == 1


async def test_all_who_join_read_the_same(sky: Sky) -> None:
    reading = [asyncio.create_task(read(sky.join())) for _ in range(500)]
    await settle()
    sky.gate.set()

    assert await asyncio.gather(*reading) == [b"one two"] * 500
    assert len(sky.flown) == 1


async def test_a_reader_has_each_byte_before_the_next_one_arrives(sky: Sky) -> None:
    reader = sky.join()

    assert await reader.head() == HEAD
    assert await anext(reader) == b"one "
    assert not reader.flight.landed


async def test_who_joins_late_gets_the_whole(sky: Sky) -> None:
    first = sky.join()
    await anext(first)
    late = asyncio.create_task(read(sky.join()))
    sky.gate.set()

    assert await late == b"one two"


async def test_who_joins_while_the_landed_answer_is_stored_gets_the_whole(sky: Sky) -> None:
    sky.stored.clear()
    sky.gate.set()
    await read(sky.join())
    reader, joined = sky.flights.join(NAME, sky.fly)

    assert joined
    assert await read(reader) == b"one two"


async def test_who_wants_only_what_still_arrives_does_not_board_a_landed_answer(sky: Sky) -> None:
    """It may be the very answer that this request found too old."""
    sky.stored.clear()
    sky.gate.set()
    await read(sky.join())
    _, joined = sky.flights.join(NAME, sky.fly, running=True)
    await settle()

    assert not joined
    assert len(sky.flown) == 2


async def test_a_new_flight_starts_once_the_answer_is_stored(sky: Sky) -> None:
    sky.gate.set()
    await read(sky.join())
    await settle()
    _, joined = sky.flights.join(NAME, sky.fly)

    assert not joined


async def test_the_first_callers_leaving_cancels_nobody_elses_answer(sky: Sky) -> None:
    first = asyncio.create_task(read(sky.join()))
    second = asyncio.create_task(read(sky.join()))
    await settle()
    first.cancel()
    await settle()
    sky.gate.set()

    assert await second == b"one two"
    assert sky.cancelled == 0


@pytest.mark.parametrize("waiting_for_head", [True, False])
async def test_a_cancelled_reader_is_the_only_one_cancelled(
    sky: Sky, waiting_for_head: bool
) -> None:
    """They share no future: cancelling one's wait must not wake the others with an error."""
    if waiting_for_head:
        sky.door.clear()
    reading = [asyncio.create_task(read(sky.join())) for _ in range(5)]
    await settle()
    reading[2].cancel()
    await settle()
    sky.door.set()
    sky.gate.set()
    results = await asyncio.gather(*reading, return_exceptions=True)

    assert isinstance(results.pop(2), asyncio.CancelledError)
    assert results == [b"one two"] * 4


async def test_the_last_readers_leaving_ends_the_call(sky: Sky) -> None:
    readers = [sky.join(), sky.join()]
    await settle()
    await readers[0].aclose()
    await settle()
    assert sky.cancelled == 0
    await readers[1].aclose()
    await settle()

    assert sky.cancelled == 1
    assert len(sky.flights) == 0


async def test_who_comes_right_after_the_last_reader_left_does_not_board_the_ended_call(
    sky: Sky,
) -> None:
    """Not even in the same turn, when the cancelled call has not noticed yet."""
    old = sky.join()
    await settle()
    await old.aclose()
    new, joined = sky.flights.join(NAME, sky.fly)
    await settle()
    sky.gate.set()

    assert not joined
    assert await read(new) == b"one two"


async def test_leaving_twice_counts_once(sky: Sky) -> None:
    first, second = sky.join(), sky.join()
    await settle()
    await first.aclose()
    await first.aclose()
    await settle()
    sky.gate.set()

    assert await read(second) == b"one two"


async def test_leaving_a_landed_flight_lets_it_be_stored(sky: Sky) -> None:
    sky.stored.clear()
    sky.gate.set()
    await read(sky.join())
    await settle()
    sky.stored.set()
    await settle()

    assert sky.cancelled == 0


async def test_an_abandoned_answer_goes_on_where_it_shall_be_stored() -> None:
    sky = Sky(keep=True)
    reader = sky.join()
    await settle()
    await reader.aclose()
    sky.gate.set()
    await settle()

    assert sky.flown[0].landed
    assert sky.cancelled == 0


async def test_an_error_reaches_every_reader_and_the_next_call_flies_anew(sky: Sky) -> None:
    sky.error = UpstreamError("gpu", "cut", "broke off")
    reading = [asyncio.create_task(read(sky.join())) for _ in range(3)]
    await settle()
    sky.gate.set()
    results = await asyncio.gather(*reading, return_exceptions=True)
    _, joined = sky.flights.join(NAME, sky.fly)

    assert results == [sky.error] * 3
    assert not joined


async def test_an_error_before_the_head_is_told_in_its_place(sky: Sky) -> None:
    async def fail(flight: Flight) -> None:
        raise UpstreamError("gpu", "connect", "not there")

    reader, _ = sky.flights.join(NAME, fail)

    with pytest.raises(UpstreamError, match="not there"):
        await reader.head()


async def test_what_came_before_an_error_is_read_first(sky: Sky) -> None:
    sky.error = UpstreamError("gpu", "cut", "broke off")
    reader = sky.join()
    await settle()
    sky.gate.set()
    await settle()

    assert await anext(reader) == b"one "
    with pytest.raises(UpstreamError, match="broke off"):
        await anext(reader)


async def test_a_fault_after_landing_is_no_readers(sky: Sky) -> None:
    """What follows (storing it) may fail without failing the answer."""

    async def fly(flight: Flight) -> None:
        flight.open(HEAD, "gpu", "json")
        await flight.write(b"all")
        flight.land()
        raise RuntimeError("the store is broken")

    reader, _ = sky.flights.join(NAME, fly)
    await settle()

    assert await read(reader) == b"all"


async def test_a_flight_that_ends_without_landing_is_an_error(sky: Sky) -> None:
    async def fly(flight: Flight) -> None:
        flight.open(HEAD, "gpu", "json")

    reader, _ = sky.flights.join(NAME, fly)

    with pytest.raises(UpstreamError):
        await read(reader)


async def test_a_replaced_flight_keeps_its_readers(sky: Sky) -> None:
    old = asyncio.create_task(read(sky.join()))
    await settle()
    new = asyncio.create_task(read(sky.flights.replace(NAME, sky.fly)))
    await settle()
    sky.gate.set()

    assert await old == await new == b"one two"
    assert len(sky.flown) == 2


async def test_who_comes_after_a_replacement_boards_the_new_flight(sky: Sky) -> None:
    sky.join()
    new = sky.flights.replace(NAME, sky.fly)
    reader, joined = sky.flights.join(NAME, sky.fly)

    assert joined
    assert reader.flight is new.flight


@pytest.mark.parametrize("leaves", [True, False])
async def test_a_replaced_flights_end_does_not_take_its_successors_place(
    sky: Sky, leaves: bool
) -> None:
    old = sky.join()
    await settle()
    landed = sky.gate
    sky.gate = asyncio.Event()
    new = sky.flights.replace(NAME, sky.fly)
    await settle()
    if leaves:
        await old.aclose()
    else:
        landed.set()
    await settle()
    reader, joined = sky.flights.join(NAME, sky.fly)

    assert joined
    assert reader.flight is new.flight


async def test_a_purge_reaches_a_flight_that_was_replaced_too(sky: Sky) -> None:
    """Else its answer, asked for before the purge, would be stored after it."""
    old, new = sky.join(), sky.flights.replace(NAME, sky.fly)
    sky.flights.purge(NAME[0])

    assert (old.flight.purged, new.flight.purged) == (True, True)
    assert sky.flights.get(NAME) is None


async def test_who_asks_after_an_invalidation_does_not_board_what_was_asked_before(
    sky: Sky,
) -> None:
    sky.join((key("a"), 0))
    _, joined = sky.flights.join((key("a"), 1), sky.fly)

    assert not joined


async def test_a_refresh_starts_once_and_needs_no_reader(sky: Sky) -> None:
    sky.flights.refresh(NAME, sky.fly, "stale")
    sky.flights.refresh(NAME, sky.fly, "stale")
    await settle()
    sky.gate.set()
    await settle()

    assert [flight.landed for flight in sky.flown] == [True]


async def test_a_refresh_goes_on_when_who_joined_it_leaves(sky: Sky) -> None:
    sky.flights.refresh(NAME, sky.fly, "stale")
    reader = sky.join()
    await settle()
    await reader.aclose()
    sky.gate.set()
    await settle()

    assert sky.flown[0].landed


async def test_no_refresh_starts_where_a_call_is_on_its_way(sky: Sky) -> None:
    sky.join()
    sky.flights.refresh(NAME, sky.fly, "stale")
    await settle()

    assert len(sky.flown) == 1


async def test_a_flight_can_find_that_the_answer_is_stored(sky: Sky) -> None:
    found = Found(entry("a"), "disk", "exact")

    async def board(flight: Flight) -> None:
        flight.board(found)

    reader, _ = sky.flights.join(NAME, board)

    assert await reader.head() == Head(200, found.entry.headers)
    assert reader.flight.found == found


class Large:
    """A flight of 100 pieces, each a tenth of the limit."""

    def __init__(self) -> None:
        self.written = 0
        self.held = 0

    async def fly(self, flight: Flight) -> None:
        flight.open(HEAD, "gpu", "json")
        for number in range(100):
            await flight.write(bytes([number]) * (LIMIT // 10))
            self.written = number + 1
            self.held = max(self.held, flight.size)
        flight.land()


WHOLE = b"".join(bytes([number]) * (LIMIT // 10) for number in range(100))


async def test_a_large_answer_waits_for_its_slowest_reader(sky: Sky) -> None:
    large = Large()
    fast, slow = (sky.flights.join(NAME, large.fly)[0] for _ in range(2))
    reading = asyncio.create_task(read(fast))
    await settle()

    assert large.written == 10
    await slow.aclose()
    assert await reading == WHOLE


async def test_a_slow_reader_of_a_large_answer_misses_nothing(sky: Sky) -> None:
    large, got = Large(), b""
    fast, slow = (sky.flights.join(NAME, large.fly)[0] for _ in range(2))
    reading = asyncio.create_task(read(fast))
    while chunk := await anext(slow, b""):
        got += chunk
        await settle()

    assert got == await reading == WHOLE


async def test_a_large_answer_is_never_held_beyond_the_limit(sky: Sky) -> None:
    large = Large()
    reader, _ = sky.flights.join(NAME, large.fly)
    async for _ in reader:
        await settle()

    assert large.written == 100
    assert large.held <= LIMIT + LIMIT // 10


async def test_a_large_answer_that_nobody_reads_is_not_held_either(sky: Sky) -> None:
    """A refresh, say: it could not be stored anyway."""
    large = Large()
    sky.flights.refresh(NAME, large.fly, "stale")
    await settle()

    assert large.written == 100
    assert large.held <= LIMIT + LIMIT // 10


async def test_who_comes_when_the_start_of_a_large_answer_is_gone_flies_anew(sky: Sky) -> None:
    large = Large()
    reader, _ = sky.flights.join(NAME, large.fly)
    await settle()
    await anext(reader)
    await settle()
    assert reader.flight.dropped
    other, joined = sky.flights.join(NAME, large.fly)

    assert not joined
    assert sky.flights.get(NAME) is not reader
    assert other.flight is not reader.flight


async def test_no_other_worker_boards_a_flight_whose_start_is_gone(sky: Sky) -> None:
    large = Large()
    reader, _ = sky.flights.join(NAME, large.fly)
    await settle()
    await anext(reader)
    await settle()

    assert sky.flights.get(NAME) is None


async def test_a_place_at_a_running_flight_and_at_none(sky: Sky) -> None:
    assert sky.flights.get(NAME) is None
    sky.join()
    reader = sky.flights.get(NAME)
    sky.gate.set()

    assert reader is not None
    assert await read(reader) == b"one two"


@pytest.mark.parametrize("ending", ["landed", "failed", "left", "left at once"])
async def test_what_began_is_told_to_have_ended(sky: Sky, ending: str) -> None:
    """However it ends; or the metrics would show readers and flights for ever."""
    reader = sky.join()
    if ending != "left at once":
        await settle()
    if ending == "failed":
        sky.error = UpstreamError("gpu", "cut", "broke off")
    if ending in ("landed", "failed"):
        sky.gate.set()
        await settle()
    await reader.aclose()
    await reader.aclose()
    await settle()
    told = sky.told()

    assert told["FlightStarted"] == told["FlightEnded"]
    assert told["FlightJoined"] == told["FlightLeft"] == 1


async def test_draining_waits_until_the_answer_is_stored(sky: Sky) -> None:
    sky.stored.clear()
    sky.gate.set()
    await read(sky.join())
    draining = asyncio.create_task(sky.flights.drain())
    await settle()
    assert not draining.done()
    sky.stored.set()

    await draining


async def test_closing_ends_what_flies(sky: Sky) -> None:
    reading = asyncio.create_task(read(sky.join()))
    await settle()
    await sky.flights.aclose()

    with pytest.raises(UpstreamError):
        await reading
    assert (sky.cancelled, len(sky.flights)) == (1, 0)


async def test_readers_are_counted(sky: Sky) -> None:
    first = sky.join()
    sky.join((key("b"), 0))
    sky.join()
    await first.aclose()

    assert repr(sky.flights) == "<Flights flying=2 readers=2>"


async def test_a_stalled_reader_loses_its_place_and_the_others_go_on() -> None:
    """Beyond the limit only; up to it every reader takes its own time."""
    flight = Flight((key("a"), 0), keep=False, limit=10, patience=0.01)
    stalled, reading = (Reader(flight, lambda _: None) for _ in range(2))
    flight.readers |= {stalled, reading}
    flight.open(HEAD, "gpu", "events")
    got = asyncio.create_task(collected(reading))
    for _ in range(4):
        await flight.write(b"eight by")
    flight.land()

    assert await got == b"eight by" * 4
    with pytest.raises(UpstreamError, match="too slowly"):
        await anext(stalled)


async def collected(reader: Reader) -> bytes:
    return b"".join([chunk async for chunk in reader])
