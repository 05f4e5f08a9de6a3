"""One epoch for a fleet, and purges that reach every gateway, whatever Redis is through."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy import config
from proxy.adapters.clock import SystemClock
from proxy.adapters.epoch import Epochs
from proxy.adapters.redis import purges
from proxy.adapters.redis.feed import EVERY, Feed
from proxy.adapters.redis.link import Link
from proxy.adapters.redis.purges import LASTS, MOST, PORTION, WINDOW
from tests.fakes import FakeClock, settle
from tests.redis_server import RedisServer
from tests.scripted import PREFIX, Direct, names, value
from tests.stored import key

if TYPE_CHECKING:
    from collections.abc import Sequence

    import redis as driver

    from proxy.core.entry import Key
    from proxy.core.events import Event

EPOCH, PURGES = f"{PREFIX}{{fleet}}:epoch", f"{PREFIX}{{fleet}}:purges"
RENEWALS = f"{PREFIX}{{fleet}}:renewals"
AT = 1_800_000_000.0


class Gateway:
    """A machine with one worker, and all that it was told."""

    def __init__(
        self,
        client: driver.Redis,
        folder: Path,
        clock: FakeClock,
        place: Path | None = None,
        *,
        start: float = 0.0,
    ) -> None:
        """`start`: when its epoch began, if not now."""
        folder.mkdir(exist_ok=True)
        self.link = Direct(client)
        self.clock = clock
        begun = FakeClock(start) if start else clock
        self.epochs = Epochs(folder / "epoch", clock=begun)
        self.purged: list[Key] = []
        self.door = asyncio.Event()
        self.door.set()
        self.outdated: list[tuple[Key, float]] = []
        self.gaps = 0
        self.events: list[Event] = []
        self.feed = Feed(
            self.link,
            self.epochs,
            on_purge=self._purged,
            on_newer=self._newer,
            on_gap=self._missed,
            clock=clock,
            emit=self.events.append,
            path=place,
        )

    async def _newer(self, key: Key, asked: float) -> None:
        self.outdated.append((key, asked))

    async def _purged(self, key: Key, at: float) -> None:
        assert at == AT
        self.purged.append(key)
        await self.door.wait()

    def _missed(self) -> None:
        self.gaps += 1


Fleet = tuple[Gateway, Gateway]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def fleet(client: driver.Redis, tmp_path: Path, clock: FakeClock) -> Fleet:
    """Two gateways that know each other."""
    one = Gateway(client, tmp_path / "one", clock)
    await one.feed.round()
    clock.advance(1.0)
    await one.feed.round()
    other = Gateway(client, tmp_path / "other", clock)
    await other.feed.round()
    return one, other


async def rounds(fleet: Sequence[Gateway], count: int = 2) -> None:
    for _ in range(count):
        for gateway in fleet:
            await gateway.feed.round()


async def test_a_new_machine_takes_the_fleets_epoch(fleet: Fleet, client: driver.Redis) -> None:
    """Though its own start is a later time."""
    one, other = fleet

    assert one.epochs.current() == other.epochs.current() == FakeClock().now() * 1000
    assert value(client, EPOCH) == b"%d" % one.epochs.current()


async def test_an_answer_that_was_wanted_anew_outdates_the_others_older_ones(fleet: Fleet) -> None:
    """Told once, and taken for no purge."""
    one, other = fleet
    for asked in (0.25, 2.5, 1.0):
        await one.feed.renewed(key("a"), AT + asked)
    await one.feed.purge(key("b"), AT)
    await rounds(fleet)

    assert other.outdated == one.outdated == [(key("a"), AT + 2.5)]
    assert other.purged == [key("b")]


async def test_however_many_are_wanted_anew_no_purge_is_missed_or_late(
    fleet: Fleet, client: driver.Redis
) -> None:
    """Any client may have that done, and be it to make the others distrust what they hold."""
    one, other = fleet
    for number in range(MOST + 500):
        client.xadd(RENEWALS, {"key": key(number), "before": repr(AT)})
    await one.feed.purge(key("purged"), AT)
    await one.feed.renewed(key("last"), AT)
    await other.feed.round()

    assert other.purged == [key("purged")]
    assert 0 < len(other.outdated) <= PORTION
    assert (key("last"), AT) in other.outdated
    assert other.gaps == 0
    assert client.xlen(RENEWALS) < MOST + 200
    assert 0 < client.pttl(RENEWALS) <= 600_000


@pytest.mark.parametrize("foreign", [b"short", b"k" * 33, b""])
async def test_what_others_wrote_among_the_renewals_is_left_out(
    fleet: Fleet, client: driver.Redis, foreign: bytes
) -> None:
    one, other = fleet
    await one.feed.renewed(key("a"), AT)
    client.xadd(RENEWALS, {"key": foreign, "before": AT})
    client.xadd(RENEWALS, {"x": "y"})
    client.xadd(RENEWALS, {"key": key("b"), "before": "x"})
    await rounds(fleet)

    assert other.outdated == [(key("a"), AT)]


async def test_who_joins_hears_of_no_renewal_before(
    fleet: Fleet, client: driver.Redis, tmp_path: Path, clock: FakeClock
) -> None:
    await fleet[0].feed.renewed(key("a"), AT)
    new = Gateway(client, tmp_path / "new", clock)
    await new.feed.round()
    await fleet[0].feed.renewed(key("b"), AT)
    await new.feed.round()

    assert new.outdated == [(key("b"), AT)]


async def test_a_purge_of_all_reaches_every_gateway_in_one_round(fleet: Fleet) -> None:
    one, other = fleet
    before = other.epochs.current()

    assert await one.feed.purge_all()
    await other.feed.round()
    assert other.epochs.current() == one.epochs.current() > before


async def test_a_purge_of_all_that_redis_did_not_hear_is_told_later(fleet: Fleet) -> None:
    one, other = fleet
    before = other.epochs.current()
    one.link.down = True
    assert not await one.feed.purge_all()
    voided = one.epochs.current()
    assert voided > before
    one.link.down = False
    await rounds(fleet)

    assert other.epochs.current() == voided
    assert [type(event).__name__ for event in one.events] == ["TierFailed"]


async def test_a_redis_that_was_emptied_gets_the_epoch_back(
    fleet: Fleet, client: driver.Redis, tmp_path: Path, clock: FakeClock
) -> None:
    """A machine that knows no fleet and comes first does not put its own there."""
    one, _ = fleet
    await one.feed.purge_all()
    new = Gateway(client, tmp_path / "new", clock)
    new.link.down = True
    await new.feed.round()
    client.flushall()
    clock.advance(5.0)
    new.link.down = False
    await new.feed.round()
    assert value(client, EPOCH) is None
    await rounds(fleet)
    await new.feed.round()

    assert new.epochs.current() == one.epochs.current()


async def test_a_redis_that_takes_no_writes_still_tells_its_epoch(
    fleet: Fleet, client: driver.Redis, tmp_path: Path, clock: FakeClock
) -> None:
    one, _ = fleet
    clock.advance(5.0)
    new = Gateway(client, tmp_path / "new", clock)
    new.link.full = True
    await new.feed.round()

    assert new.epochs.current() == one.epochs.current()


async def between(gateway: Gateway, client: driver.Redis, epoch: int) -> None:
    """A round in which another gateway says its epoch after this one has looked."""
    gateway.link.door.clear()
    looking = asyncio.create_task(gateway.feed.round())
    await settle()
    client.set(EPOCH, epoch)
    gateway.link.door.set()
    await looking


async def test_of_two_new_gateways_the_first_to_say_its_epoch_is_heard(
    client: driver.Redis, tmp_path: Path, clock: FakeClock
) -> None:
    new = Gateway(client, tmp_path / "new", clock)
    await new.feed.round()
    clock.advance(1.0)
    await between(new, client, 5)

    assert (new.epochs.current(), value(client, EPOCH)) == (5, b"5")


async def test_what_is_said_meanwhile_is_not_undone(fleet: Fleet, client: driver.Redis) -> None:
    one, _ = fleet
    said = one.epochs.bump() + 9
    await between(one, client, said)

    assert value(client, EPOCH) == b"%d" % one.epochs.current()
    assert one.epochs.current() == said


async def test_a_gateway_alone_has_an_epoch_after_a_moment(
    client: driver.Redis, tmp_path: Path, clock: FakeClock
) -> None:
    one = Gateway(client, tmp_path / "one", clock)
    meeting = asyncio.create_task(one.feed.meet(5.0))
    running = asyncio.create_task(one.feed.run())
    for _ in range(6):
        await settle()
        clock.advance(EVERY)
    for _ in range(100):  # it is written in a thread
        await SystemClock().sleep(0.01)
        if meeting.done():
            break
    running.cancel()

    assert await meeting
    assert not one.epochs.provisional


async def test_nobody_waits_for_ever_to_meet_a_fleet(
    client: driver.Redis, tmp_path: Path, clock: FakeClock
) -> None:
    assert not await Gateway(client, tmp_path / "one", clock).feed.meet(0.01)


@pytest.mark.parametrize("foreign", [b"x", b"-1", b"0", b"9" * 30, b"\xff"])
async def test_what_is_no_epoch_is_replaced(
    fleet: Fleet, client: driver.Redis, foreign: bytes
) -> None:
    one, other = fleet
    before = one.epochs.current()
    client.set(EPOCH, foreign)
    await rounds(fleet)

    assert one.epochs.current() == other.epochs.current() == before
    assert value(client, EPOCH) == b"%d" % before


async def test_a_purge_reaches_every_gateway_in_one_round(fleet: Fleet) -> None:
    one, other = fleet

    assert await one.feed.purge(key("a"), AT)
    assert await one.feed.purge(key("b"), AT)
    await rounds(fleet, 1)
    assert one.purged == other.purged == [key("a"), key("b")]
    await rounds(fleet)
    assert len(other.purged) == 2


async def test_a_purge_that_redis_did_not_hear_is_told_later(fleet: Fleet) -> None:
    one, other = fleet
    one.link.down = True
    assert not await one.feed.purge(key("a"), AT)
    one.link.down = False
    await rounds(fleet)

    assert other.purged == [key("a")]
    assert len(one.events) == 1


async def test_who_was_cut_off_reads_what_it_missed_at_once(fleet: Fleet) -> None:
    one, other = fleet
    other.link.down = True
    for number in range(500):
        await one.feed.purge(key(str(number)), AT)
    await other.feed.round()
    other.link.down = False
    await other.feed.round()

    assert other.purged == [key(str(number)) for number in range(500)]
    assert other.gaps == 0


async def test_what_was_dropped_before_it_was_read_is_a_gap(
    fleet: Fleet, client: driver.Redis
) -> None:
    one, other = fleet
    other.link.down = True
    for name in "abc":
        await one.feed.purge(key(name), AT)
    await one.feed.round()
    client.xtrim(PURGES, maxlen=1, approximate=False)
    other.link.down = False
    await rounds(fleet)

    assert other.purged == [key("c")]
    assert (one.gaps, other.gaps) == (0, 1)


@pytest.mark.parametrize("before", [0, 1])
async def test_what_a_gateway_could_not_keep_until_redis_came_back_is_a_gap(
    client: driver.Redis,
    tmp_path: Path,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
) -> None:
    """`before`: purges of others that are read with the first ones of its."""
    monkeypatch.setattr(purges, "MOST", 3)
    one, other, third = (Gateway(client, tmp_path / name, clock) for name in "abc")
    await rounds((one, other))
    one.link.down = True
    for name in "abcde":
        assert not await one.feed.purge(key(name), AT)
    one.link.down = False
    for _ in range(before):
        await third.feed.purge(key("other"), AT)
    await one.feed.round()
    await rounds((one, other), 3)

    assert other.gaps == 1
    assert set(other.purged) >= {key(name) for name in "cde"}
    await rounds((one, other), 3)
    assert other.gaps == 1


async def test_what_was_told_too_long_ago_to_be_told_again_is_a_gap(
    client: driver.Redis, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than a gateway remembers were told since then, and Redis has lost them all."""
    monkeypatch.setattr(purges, "MOST", 3)
    one, other = (Gateway(client, tmp_path / name, clock) for name in "ab")
    await one.feed.purge(key("first"), AT)
    await rounds((one, other))
    other.link.down = True
    for name in "abcde":
        await one.feed.purge(key(name), AT)
    await one.feed.round()
    client.flushall()
    other.link.down = False
    await rounds((one, other), 3)

    assert set(other.purged) >= {key(name) for name in "cde"}
    assert other.gaps == 1


async def test_what_was_all_dropped_is_told_again(fleet: Fleet, client: driver.Redis) -> None:
    one, other = fleet
    await one.feed.purge(key("old"), AT)
    await rounds(fleet)
    other.link.down = True
    await one.feed.purge(key("a"), AT)
    client.flushall()
    other.link.down = False
    await rounds(fleet, 3)

    assert other.purged[-2:] == [key("old"), key("a")]
    assert other.gaps == 0


@pytest.mark.parametrize("since", [0, 1, 5])
async def test_a_purge_that_redis_lost_at_once_is_told_again(
    fleet: Fleet, client: driver.Redis, since: int
) -> None:
    """Before anybody has read it, and however many came to its place."""
    one, other = fleet
    await one.feed.purge(key("a"), AT)
    client.flushall()
    for number in range(since):
        await other.feed.purge(key(str(number)), AT)
    await rounds(fleet, 3)

    assert key("a") in other.purged
    told = len(other.purged)
    await rounds(fleet, 3)
    assert len(other.purged) == told


async def test_another_stream_at_its_place_is_noticed(fleet: Fleet, client: driver.Redis) -> None:
    """Redis was emptied, and somebody has purged since."""
    one, other = fleet
    for name in "abc":
        await one.feed.purge(key(name), AT)
    await rounds(fleet)
    client.flushall()
    await one.feed.purge(key("new"), AT)
    await rounds(fleet, 3)

    assert key("new") in other.purged
    assert other.gaps == 0


async def test_a_replica_that_lacks_the_last_purges_gets_them_again(
    fleet: Fleet, client: driver.Redis, clock: FakeClock
) -> None:
    one, other = fleet
    await one.feed.purge(key("a"), AT)
    await rounds(fleet)
    clock.advance(WINDOW)
    await rounds(fleet)
    clock.advance(1.0)
    other.link.down = True
    await one.feed.purge(key("lost"), AT)
    await one.feed.round()
    last: Any = client.xrevrange(PURGES, count=1)
    client.xdel(PURGES, last[0][0])
    other.link.down = False
    await rounds(fleet, 3)

    assert other.purged == [key("a"), key("lost")]
    assert one.purged == [key("a"), key("lost"), key("lost")]
    assert other.gaps == 0


async def test_who_was_away_for_too_long_cannot_be_told_again(
    fleet: Fleet, client: driver.Redis, clock: FakeClock
) -> None:
    one, other = fleet
    await one.feed.purge(key("a"), AT)
    await rounds(fleet)
    clock.advance(WINDOW + 1)
    await one.feed.round()
    client.flushall()
    await rounds(fleet)

    assert (one.gaps, other.gaps) == (0, 1)


async def test_a_gateway_that_was_down_reads_what_it_missed(
    client: driver.Redis, tmp_path: Path, clock: FakeClock, fleet: Fleet
) -> None:
    """Its disk still has what was purged meanwhile."""
    place, folder = tmp_path / "place", tmp_path / "third"
    before = Gateway(client, folder, clock, place)
    await fleet[0].feed.purge(key("a"), AT)
    await before.feed.round()
    await fleet[0].feed.purge(key("b"), AT)
    clock.advance(2.0)
    await before.feed.round()
    await fleet[0].feed.purge(key("missed"), AT)
    after = Gateway(client, folder, clock, place)
    await after.feed.round()

    assert before.purged == [key("b")]
    assert after.purged == [key("missed")]


async def test_who_could_not_reach_redis_at_first_distrusts_what_it_stored_meanwhile(
    client: driver.Redis, tmp_path: Path, clock: FakeClock, fleet: Fleet
) -> None:
    """It may have been purged, and nobody knows."""
    late = Gateway(client, tmp_path / "third", clock)
    late.link.down = True
    await late.feed.round()
    clock.advance(60.0)
    await fleet[0].feed.purge(key("a"), AT)
    late.link.down = False
    await late.feed.round()

    assert (late.purged, late.gaps) == ([], 1)


async def test_a_purge_that_takes_long_holds_up_no_other(fleet: Fleet) -> None:
    """A disk commits many deletions together, and objects are far away."""
    one, other = fleet
    for name in "abc":
        await one.feed.purge(key(name), AT)
    other.door.clear()
    looking = asyncio.create_task(other.feed.round())
    await settle()
    heard = len(other.purged)
    other.door.set()

    assert (await looking, heard) == (True, 3)


@pytest.mark.parametrize("torn", [b"", b"{", b'{"id":"x","number":1}'])
async def test_a_place_that_was_torn_is_the_beginning(
    client: driver.Redis, tmp_path: Path, clock: FakeClock, fleet: Fleet, torn: bytes
) -> None:
    await fleet[0].feed.purge(key("a"), AT)
    (tmp_path / "place").write_bytes(torn)
    third = Gateway(client, tmp_path / "third", clock, tmp_path / "place")
    await third.feed.round()

    assert third.purged == [key("a")]


async def test_what_others_wrote_into_the_stream_is_left_out(
    fleet: Fleet, client: driver.Redis
) -> None:
    one, other = fleet
    await one.feed.purge(key("a"), AT)
    client.xadd(PURGES, {"key": b"short", "number": 2, "at": AT})
    client.xadd(PURGES, {"x": b"y"})
    await rounds(fleet, 3)
    await one.feed.purge(key("b"), AT)
    await rounds(fleet, 3)

    assert key("b") in other.purged


async def test_every_key_is_bounded_and_has_an_end(fleet: Fleet, client: driver.Redis) -> None:
    one, _ = fleet
    for number in range(MOST + 500):
        client.xadd(PURGES, {"key": b"k" * 32, "number": number, "at": AT})
    await one.feed.purge(key("a"), AT)

    assert set(names(client)) == {EPOCH.encode(), PURGES.encode()}
    assert all(0 < client.pttl(name) <= 1000 * LASTS for name in names(client))
    assert client.xlen(PURGES) < MOST + 200


STEPS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from(["all", "one", "round", "down", "deaf", "up", "wait", "empty"]),
    ),
    max_size=20,
)


@settings(max_examples=50)
@given(STEPS)
def test_no_epoch_that_was_seen_is_forgotten_and_at_rest_all_agree(
    server: RedisServer, steps: list[tuple[int, str]]
) -> None:
    with server.client() as client, tempfile.TemporaryDirectory() as folder:
        client.flushall()
        asyncio.run(_played(client, Path(folder), steps))


async def _played(client: driver.Redis, folder: Path, steps: list[tuple[int, str]]) -> None:
    clock = FakeClock()
    fleet = [
        Gateway(client, folder / str(number), clock, start=start)
        for number, start in enumerate((5.0, 9.0, 2.0))
    ]
    settled, purged = [0, 0, 0], list[bytes]()
    for gateway in fleet:  # what is purged before a gateway is there means nothing to it
        await gateway.feed.round()
    for count, (number, step) in enumerate(steps):
        gateway = fleet[number]
        if step == "all":
            await gateway.feed.purge_all()
        elif step == "one":
            purged.append(key(f"{count}"))
            await gateway.feed.purge(key(f"{count}"), AT)
        elif step == "round":
            await gateway.feed.round()
        elif step == "wait":
            clock.advance(1.0)
        elif step == "empty":
            client.flushall()
        else:
            gateway.link.down, gateway.link.deaf = step == "down", step == "deaf"
        for place, one in enumerate(fleet):
            if not one.epochs.provisional:
                assert one.epochs.current() >= settled[place]
                settled[place] = one.epochs.current()
    await _rested(fleet, clock)
    agreed = {gateway.epochs.current() for gateway in fleet}
    assert len(agreed) == 1
    assert max(agreed) >= max(settled)
    for one in fleet:
        assert set(purged) <= set(one.purged) or one.gaps
        one.epochs.close()


async def _rested(fleet: list[Gateway], clock: FakeClock) -> None:
    for gateway in fleet:
        gateway.link.down = gateway.link.deaf = False
    for _ in range(5):
        clock.advance(1.0)
        for gateway in fleet:
            await gateway.feed.round()


async def test_over_a_real_link_a_restart_of_redis_is_got_over(tmp_path: Path) -> None:
    clock = SystemClock()
    server = RedisServer(tmp_path / "redis").start()
    link = Link(config.Redis(url=server.url), None, clock=clock, emit=lambda _: None)
    told: list[bytes] = []

    async def purged(key: Key, at: float) -> None:
        told.append(key)

    async def newer(key: Key, asked: float) -> None:
        raise AssertionError("nobody has asked anew")

    epochs = Epochs(tmp_path / "epoch", clock=clock)
    feed = Feed(
        link,
        epochs,
        on_purge=purged,
        on_newer=newer,
        on_gap=lambda: None,
        clock=clock,
        emit=lambda _: None,
    )
    running = [asyncio.create_task(loop) for loop in (link.run(), feed.run())]
    assert await feed.meet(5.0)
    server.kill()
    assert not await feed.purge(key("a"), AT)
    await feed.purge_all()
    server.start()
    until = clock.mono() + 5.0
    while not told and clock.mono() < until:
        await clock.sleep(0.02)
    there = server.client().get("hotprefix:{fleet}:epoch")
    for task in running:
        task.cancel()
    await link.aclose()
    server.kill()

    assert told == [key("a")]
    assert there == b"%d" % epochs.current()
    epochs.close()
