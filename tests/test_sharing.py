"""One flight for all workers: who has the lease flies, the others follow or take over."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core import wire
from proxy.core.entry import Key
from proxy.core.lease import TERM
from proxy.core.message import Head
from proxy.flight import Flight
from proxy.flights import Flights
from proxy.ports import UpstreamError
from proxy.sharing import PATIENCE, Sharing, named, unnamed
from tests.asking import chat
from tests.fakes import EVENTS, Answer, FakeClock, FakeLeases, FakePeers, FakeStore, settle
from tests.staged import STREAM, Stage, broken, failed, header, said, streaming
from tests.stored import key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proxy.flight import Name, Reader
    from tests.fakes import Piece

NAME: Name = (key("a"), 3)
ITEM = key("b")
GONE = UpstreamError("", "gone", "the worker is gone")
FOREVER = 1e9


@given(st.binary(min_size=32, max_size=32), st.integers(0, 2**64 - 1))
def test_a_flights_name_between_workers_is_forty_bytes_and_means_the_same(
    name: bytes, epoch: int
) -> None:
    assert len(named((Key(name), epoch))) == 40
    assert unnamed(named((Key(name), epoch))) == (name, epoch)


class Told(FakeLeases):
    """Leases that note what is given back."""

    def __init__(
        self, board: dict[bytes, tuple[str, float]], address: str, clock: FakeClock
    ) -> None:
        super().__init__(board, address, clock)
        self.released: list[bytes] = []

    async def release(self, name: bytes) -> None:
        self.released.append(name)
        await super().release(name)


class Worker:
    """This worker beside another one, which has the lease for some seconds."""

    def __init__(self, *script: Answer | UpstreamError | None, led: float = FOREVER) -> None:
        self.clock = FakeClock()
        self.peers = FakePeers(*script)
        self.board: dict[bytes, tuple[str, float]] = {}
        self.leases = Told(self.board, "me", self.clock)
        self.sharing = Sharing(self.leases, self.peers, self.clock, chance=lambda: 0.0)
        self.flights = Flights(lambda _: None, limit=1 << 20)
        self.flown: list[Flight] = []
        self.door = asyncio.Event()
        self.door.set()
        if led:
            self.board[named(NAME)] = ("other", self.clock.mono() + led)

    async def fly(self, flight: Flight) -> None:
        async with self.sharing.lead(flight) as leads:
            if leads:
                self.flown.append(flight)
                await self.door.wait()
                flight.open(Head(200, ()), "gpu", "json")
                await flight.write(b"own")
                flight.land()

    def join(self) -> Reader:
        return self.flights.join(NAME, self.fly)[0]

    def reading(self) -> asyncio.Task[bytes]:
        return asyncio.create_task(read(self.join()))

    async def spend(self, seconds: float) -> None:
        """Time goes by, in steps that let everyone look around."""
        for _ in range(round(seconds / 0.05)):
            self.clock.advance(0.05)
            await settle()


async def read(reader: Reader) -> bytes:
    await reader.head()
    return b"".join([chunk async for chunk in reader])


async def test_who_has_the_lease_flies_and_gives_it_back() -> None:
    worker = Worker(led=0)
    worker.door.clear()
    reading = worker.reading()
    await settle()

    assert worker.board[named(NAME)][0] == "me"
    worker.door.set()
    assert await reading == b"own"
    await settle()
    assert worker.board == {}


async def test_the_lease_is_given_back_when_the_last_reader_leaves() -> None:
    worker = Worker(led=0)
    worker.door.clear()
    reader = worker.join()
    await settle()
    await reader.aclose()
    await settle()

    assert worker.board == {}


@pytest.mark.parametrize("purged", [NAME[0], ITEM], ids=["the key", "a part of it"])
async def test_the_lease_of_a_purged_key_is_given_back_at_once(purged: Key) -> None:
    """What is on its way is no longer what others may have; the next flight's lease stays."""
    worker = Worker(led=0)
    worker.door.clear()
    reading = worker.reading()
    await settle()
    worker.flown[0].items = (ITEM,)
    worker.flights.purge(purged)
    await worker.sharing.step_aside(purged)
    assert worker.board == {}

    again = worker.reading()
    await settle()
    assert worker.board[named(NAME)][0] == "me"
    task = worker.flown[0].task
    assert task is not None
    task.cancel()
    await settle()
    assert worker.board[named(NAME)][0] == "me"
    worker.door.set()
    await asyncio.gather(reading, again, return_exceptions=True)
    await settle()
    assert worker.board == {}


def events(*pieces: Piece) -> Answer:
    return Answer(pieces, headers=EVENTS)


class Numbered(FakeLeases):
    """Leases with tokens."""

    async def acquire(self, name: bytes, instead: str = "") -> int | str:
        found = await super().acquire(name, instead)
        return found if isinstance(found, str) else 42


async def test_the_flight_has_the_token_of_its_lease() -> None:
    worker = Worker(led=0)
    worker.sharing = Sharing(Numbered({}, "me", worker.clock), worker.peers, worker.clock)
    await worker.reading()

    assert worker.flown[0].fence == 42


async def test_another_workers_stream_is_read_while_it_arrives_there() -> None:
    gate = asyncio.Event()
    worker = Worker(events(b"one ", gate, b"two"))
    reader = worker.join()

    assert (await reader.head()).status == 200
    assert await anext(reader) == b"one "
    gate.set()
    assert await anext(reader) == b"two"
    assert not worker.flown


async def test_it_is_asked_for_by_the_flights_name_at_the_owners_address() -> None:
    worker = Worker(Answer((b"all",)))
    await worker.reading()

    assert worker.peers.looks == [("other", named(NAME))]


async def test_an_answer_without_a_body_is_followed_to_its_end() -> None:
    worker = Worker(Answer(status=500))
    reader = worker.join()

    assert (await reader.head()).status == 500
    assert await read(reader) == b""
    assert not worker.flown


async def test_all_readers_of_this_worker_follow_once() -> None:
    worker = Worker(Answer((b"all",)))
    reading = [worker.reading() for _ in range(10)]

    assert await asyncio.gather(*reading) == [b"all"] * 10
    assert len(worker.peers.looks) == 1


async def test_a_follower_leaves_the_owner_when_its_last_reader_leaves() -> None:
    worker = Worker(events(b"one ", asyncio.Event()))
    reader = worker.join()
    await anext(reader)
    assert worker.peers.following == 1
    await reader.aclose()
    await settle()

    assert worker.peers.following == 0


async def test_the_owners_upstream_error_is_the_followers() -> None:
    """It is not asked again: 500 clients that follow would be 500 more calls."""
    worker = Worker(broken("timeout"))

    with pytest.raises(UpstreamError) as failed:
        await worker.reading()
    assert failed.value.kind == "timeout"
    assert not worker.flown


async def test_an_owner_that_had_no_room_is_replaced_by_one_that_may_have() -> None:
    """No node was asked: each worker has a limit and breakers of its own."""
    worker = Worker(UpstreamError("", "overload", "too much", retry_after=3.0), led=0.05)
    reading = worker.reading()
    await settle()
    await worker.spend(0.3)

    assert await reading == b"own"


async def test_an_error_in_the_middle_of_the_owners_stream_is_the_followers() -> None:
    worker = Worker(events(b"one ", broken("cut")))

    with pytest.raises(UpstreamError) as failed:
        await worker.reading()
    assert failed.value.kind == "cut"
    assert (worker.peers.following, len(worker.flown)) == (0, 0)


@pytest.mark.parametrize("kind", ["cut", "frozen"])
async def test_where_the_owners_json_breaks_off_the_next_owners_is_read(kind: str) -> None:
    """Nothing of it was passed on, and a call for this worker's clients may end well."""
    worker = Worker(Answer((b"one ", broken(kind))), led=0.05)
    reading = worker.reading()
    await settle()
    await worker.spend(0.3)

    assert await reading == b"own"
    assert (worker.peers.following, len(worker.flown)) == (0, 1)


@pytest.mark.parametrize(
    "found", [GONE, None, Answer((GONE,))], ids=["cannot be reached", "does not fly it", "no byte"]
)
async def test_a_dead_owner_is_replaced_when_its_lease_ends(
    found: Answer | UpstreamError | None,
) -> None:
    worker = Worker(found, led=TERM)
    reading = worker.reading()
    await settle()
    await worker.spend(TERM - 0.1)
    assert not worker.flown
    await worker.spend(0.35)

    assert await reading == b"own"
    assert not worker.flown[0].followed


async def test_an_owner_that_dies_in_the_middle_of_a_stream_is_an_error() -> None:
    """What was passed on cannot be taken back, and another answer would not fit to it."""
    worker = Worker(events(b"one ", GONE))

    with pytest.raises(UpstreamError) as failed:
        await worker.reading()
    assert failed.value.kind == "gone"
    assert not worker.flown


async def test_an_owner_that_is_found_at_the_second_look_is_followed() -> None:
    worker = Worker(None, Answer((b"all",)))
    reading = worker.reading()
    await settle()
    await worker.spend(0.1)

    assert await reading == b"all"
    assert not worker.flown


async def test_nobody_waits_for_ever_for_an_owner_that_cannot_be_followed() -> None:
    worker = Worker(None)
    reading = worker.reading()
    await settle()
    await worker.spend(PATIENCE - 0.1)
    assert not worker.flown
    await worker.spend(0.2)

    assert await reading == b"own"


async def test_an_owner_of_another_fleet_is_not_waited_for() -> None:
    """It hangs up at every greeting: its secret is another one."""
    worker = Worker(UpstreamError("", "stranger", "hung up"))
    reading = worker.reading()
    await settle()
    await worker.spend(0.2)

    assert await reading == b"own"
    assert len(worker.peers.looks) == 3


async def test_one_greeting_that_fails_is_a_matter_of_the_moment() -> None:
    worker = Worker(UpstreamError("", "stranger", "hung up"), Answer((b"all",)))
    reading = worker.reading()
    await settle()
    await worker.spend(0.1)

    assert await reading == b"all"
    assert not worker.flown


async def test_an_owner_that_dies_in_the_middle_of_json_costs_nobody_the_answer() -> None:
    """Nothing of it was passed on, so the next owner's can be."""
    worker = Worker(Answer((b"one ", GONE)), led=TERM)
    reading = worker.reading()
    await settle()
    await worker.spend(TERM + 0.25)

    assert await reading == b"own"


async def test_the_next_owners_json_is_followed_as_well() -> None:
    worker = Worker(Answer((b"one ", GONE)), Answer((b"all ", b"of it")))
    reading = worker.reading()
    await settle()
    await worker.spend(0.1)

    assert await reading == b"all of it"
    assert not worker.flown


async def test_json_is_read_once_it_is_whole() -> None:
    gate = asyncio.Event()
    worker = Worker(Answer((b"one ", gate, b"two")))
    reading = worker.reading()
    await settle()
    assert not reading.done()
    gate.set()

    assert await reading == b"one two"


async def test_json_that_is_too_large_to_be_held_is_passed_on_as_it_comes() -> None:
    gate, large = asyncio.Event(), b"x" * (1 << 20)
    worker = Worker(Answer((large, b"y", gate, b"z")))
    reader = worker.join()

    assert await anext(reader) == large + b"y"
    gate.set()
    assert await anext(reader) == b"z"


async def test_a_long_flight_does_not_use_up_the_patience() -> None:
    """An owner that dies after a minute has a successor too, and only one."""
    gate = asyncio.Event()
    worker = Worker(Answer((b"one ", gate, GONE)), None)
    reading = worker.reading()
    await worker.spend(20.0)
    gate.set()
    await settle()
    await worker.spend(3.0)
    assert not worker.flown
    worker.board.clear()
    await worker.spend(0.25)

    assert await reading == b"own"


async def test_the_pauses_grow_and_differ() -> None:
    """Short at first, for an answer that is being stored; later, a crowd must not hammer."""
    worker = Worker(None)
    reading = worker.reading()
    await settle()
    await worker.spend(1.0)
    looks = len(worker.peers.looks)
    reading.cancel()
    half = Worker(None)
    half.sharing = Sharing(half.leases, half.peers, half.clock, chance=lambda: 0.999)
    reading = half.reading()
    await settle()
    await half.spend(1.0)
    reading.cancel()

    assert 6 <= looks <= 9
    assert len(half.peers.looks) > looks


async def test_an_owner_that_cannot_be_reached_is_waited_for_once() -> None:
    """It keeps its leases, so it lives; it is only cut off from here."""
    worker = Worker(GONE)
    reading = worker.reading()
    await settle()
    await worker.spend(PATIENCE + 0.1)
    assert await reading == b"own"
    looks = len(worker.peers.looks)
    worker.board[named(NAME)] = ("other", FOREVER)

    assert await worker.reading() == b"own"
    assert len(worker.peers.looks) == looks
    assert worker.board[named(NAME)][0] == "other"
    worker.clock.advance(60.0)
    reading = worker.reading()
    await settle()
    assert len(worker.peers.looks) == looks + 1
    reading.cancel()


async def test_an_owner_that_cannot_be_reached_is_replaced() -> None:
    """The others, which cannot reach it either, follow its successor."""
    worker = Worker(GONE)
    worker.door.clear()
    reading = worker.reading()
    await settle()
    await worker.spend(PATIENCE + 0.1)

    assert worker.board[named(NAME)][0] == "me"
    worker.door.set()
    assert await reading == b"own"
    await settle()
    assert worker.board == {}


async def test_the_successor_of_an_owner_that_cannot_be_reached_is_followed() -> None:
    worker = Worker(GONE)
    reading = worker.reading()
    await settle()
    await worker.spend(PATIENCE - 0.1)
    worker.board[named(NAME)] = ("third", FOREVER)
    worker.peers.script = [*[GONE] * len(worker.peers.looks), Answer((b"third's",))]
    await worker.spend(0.5)

    assert await reading == b"third's"
    assert not worker.flown


async def test_leases_that_cannot_be_taken_away_make_it_fly_alone() -> None:
    worker = Worker(GONE)
    worker.leases = Kept(worker.board, "me", worker.clock)
    worker.sharing = Sharing(worker.leases, worker.peers, worker.clock, chance=lambda: 0.0)
    reading = worker.reading()
    await settle()
    await worker.spend(PATIENCE + 0.1)

    assert await reading == b"own"
    assert worker.board[named(NAME)][0] == "other"


async def test_an_owner_that_is_slow_to_store_is_asked_again_next_time() -> None:
    worker = Worker(None)
    reading = worker.reading()
    await settle()
    await worker.spend(PATIENCE + 0.1)
    await reading
    worker.peers.script = [Answer((b"theirs",))]

    assert await worker.reading() == b"theirs"


async def test_a_refresh_that_another_worker_flies_already_ends() -> None:
    worker = Worker(events(b"one ", asyncio.Event()))
    worker.flights.refresh(NAME, worker.fly, "stale")
    await settle()

    assert len(worker.flights) == 0
    assert not worker.peers.looks
    assert not worker.flown


async def test_a_refresh_that_somebody_reads_is_followed() -> None:
    worker = Worker(Answer((b"all",)))
    worker.flights.refresh(NAME, worker.fly, "stale")

    assert await worker.reading() == b"all"


async def test_who_waited_in_vain_gives_back_nothing() -> None:
    """A second flight of the same name may hold the lease by then."""
    worker = Worker(None)
    reading = worker.reading()
    await settle()
    await worker.spend(PATIENCE + 0.1)
    await reading

    assert worker.leases.released == []


async def test_a_lease_store_that_fails_lets_everyone_fly() -> None:
    worker = Worker()
    worker.leases.failing = True

    assert await worker.reading() == b"own"


async def test_who_flew_without_the_lease_leaves_it_with_its_holder() -> None:
    worker = Worker()
    worker.leases.failing = True
    await worker.reading()
    await settle()

    assert worker.board[named(NAME)][0] == "other"


class Kept(Told):
    """Leases that are taken away from nobody."""

    async def acquire(self, name: bytes, instead: str = "") -> int | str:
        return await super().acquire(name)


class Taken(FakeLeases):
    """Leases of which every one is another worker's for the first look."""

    looks = 0

    async def acquire(self, name: bytes, instead: str = "") -> int | str:
        self.looks += 1
        return "other" if self.looks == 1 else await super().acquire(name, instead)


@pytest.fixture
async def clock() -> AsyncIterator[FakeClock]:
    yield FakeClock()


def beside(peers: FakePeers, clock: FakeClock, *script: Answer) -> Stage:
    """A gateway whose first look finds that another worker has the lease."""
    return Stage(*script, leases=Taken({}, "me", clock), peers=peers)


async def test_an_answer_that_another_worker_stored_meanwhile_is_not_asked_for(
    clock: FakeClock,
) -> None:
    """Between our look and our turn it may have landed there."""
    origin, store = Stage(said("theirs")), FakeStore()
    await origin.ask()
    await settle()
    stage = Stage(said("own"), stores=[store], leases=Taken({}, "me", clock), peers=FakePeers(None))
    asking = stage.asking()
    await settle()
    store.data |= origin.store.data
    stage.clock.advance(0.1)
    got = await asking

    assert (got.outcome, await got.text()) == ("HIT", "theirs")
    assert stage.calls == 0


async def test_who_wants_exact_answers_is_not_given_what_was_found_for_another_spelling(
    clock: FakeClock,
) -> None:
    """Both board one flight, since their exact keys are alike; it finds what a fuzzier key says."""
    origin, store = Stage(said("theirs")), FakeStore()
    await origin.ask(chat("two blanks"))
    await settle()
    stage = Stage(said("own"), stores=[store], leases=Taken({}, "me", clock), peers=FakePeers(None))
    question = chat("two  blanks")
    fuzzy, exact = stage.asking(question), stage.asking(question, ("x-cache-mode", "exact"))
    await settle()
    store.data |= origin.store.data
    stage.clock.advance(0.1)

    assert await (await fuzzy).text() == "theirs"
    assert await (await exact).text() == "own"


async def test_an_answer_carries_the_token_of_the_lease_that_it_was_asked_for_under() -> None:
    stage = Stage(said(), leases=Numbered({}, "me", FakeClock()))
    await stage.ask()
    await settle()
    fences = {header.fence for data in stage.store.data.values() if (header := wire.header(data))}

    assert 42 in fences


async def test_who_follows_another_workers_client_sees_nothing_of_that_ones_own(
    clock: FakeClock,
) -> None:
    theirs = said("hi", ("set-cookie", "a=1"), ("x-request-id", "req_up"))
    got = await beside(FakePeers(theirs), clock, said()).ask()

    assert got.outcome == "COLLAPSED"
    assert got.head.get("set-cookie") is None
    assert got.head.get("x-request-id") == "req_1"


async def test_who_wants_json_reads_another_workers_stream_as_json(clock: FakeClock) -> None:
    got = await beside(FakePeers(streaming(), asked="events"), clock, said()).ask()

    assert await got.text() == "hi"
    assert header(got.head.headers, "content-type") == ["application/json"]


async def test_who_wants_a_stream_reads_another_workers_json_as_one(clock: FakeClock) -> None:
    got = await beside(FakePeers(said("hi")), clock, said()).ask(STREAM)

    assert (await got.body()).endswith(b"data: [DONE]\n\n")


async def test_what_another_worker_received_is_stored_there_and_not_here(clock: FakeClock) -> None:
    stage = beside(FakePeers(said("hi")), clock, said())
    await stage.ask()
    await settle()

    assert not stage.store.data


async def test_a_new_answer_is_asked_for_whoever_has_the_lease(clock: FakeClock) -> None:
    """`no-cache` wants none that is on its way already."""
    peers = FakePeers(said("theirs"))
    got = await beside(peers, clock, said("own")).ask(None, ("cache-control", "no-cache"))

    assert await got.text() == "own"
    assert not peers.looks


async def test_what_another_worker_was_refused_is_only_for_the_same_spelling(
    clock: FakeClock,
) -> None:
    """It lies under the bytes of who started the flight; who joined it may have written better."""
    origin, store = Stage(failed(400)), FakeStore()
    await origin.ask(chat(user=1))
    await settle()
    stage = Stage(said("own"), stores=[store], leases=Taken({}, "me", clock), peers=FakePeers(None))
    first, second = stage.asking(chat(user=1)), stage.asking(chat())
    await settle()
    store.data |= origin.store.data
    stage.clock.advance(0.1)

    assert ((await first).status, (await first).outcome) == (400, "HIT")
    assert (await (await second).text(), (await second).outcome) == ("own", "BYPASS")
