"""Workers that follow each other's flights, over real sockets, plain and sealed."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec
import pytest

from proxy.adapters.peers.follow import NoPeers, Peers
from proxy.core.decision import Found
from proxy.core.message import Head
from proxy.ports import UpstreamError
from proxy.sharing import named
from tests.fakes import settle
from tests.owner import HEAD, NAME, SECRET, Owner, eventually
from tests.stored import NOW, entry, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from proxy.flight import Flight

PEERS = Peers(SECRET)


@pytest.fixture(params=["here", "elsewhere"])
async def owner(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Owner]:
    made = Owner(tmp_path / "owner.sock")
    await made.start()
    if request.param == "elsewhere":
        made.address = made.remote
    yield made
    await made.aclose()


@asynccontextmanager
async def strange(path: Path, *frames: bytes, hold: bool = False) -> AsyncIterator[str]:
    """An owner that says just this, whatever it is asked, and then leaves or falls silent."""
    over = asyncio.Event()

    async def serve(asks: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asks.readexactly(41)
            writer.writelines(frames)
            if hold:
                await over.wait()
        finally:
            writer.close()

    server = await asyncio.start_unix_server(serve, path)
    yield str(path)
    over.set()
    server.close()
    await settle()


async def followed_to(owner: Owner, *last: bytes | Exception | None) -> bytes:
    """All that a follower reads, if this comes when it is there."""
    following = asyncio.create_task(follow(owner))
    await eventually(lambda: bool(owner.flown) and len(owner.flown[0].readers) == 2)
    for piece in last:
        owner.pieces.put_nowait(piece)
    return await following


async def follow(owner: Owner) -> bytes:
    followed = await PEERS.follow(owner.address, named(NAME))
    assert followed is not None
    try:
        return b"".join([chunk async for chunk in followed])
    finally:
        await followed.aclose()


async def test_another_workers_flight_is_read_live(owner: Owner) -> None:
    owner.depart(HEAD, b"one")
    followed = await PEERS.follow(owner.address, named(NAME))

    assert followed is not None
    assert (followed.head, followed.node, followed.asked) == (HEAD, "gpu", "events")
    assert (followed.raw, followed.counted) == (b"raw", False)
    assert await anext(followed) == b"one"
    owner.pieces.put_nowait(b"two")
    assert await anext(followed) == b"two"
    owner.pieces.put_nowait(None)
    assert await anext(followed, None) is None
    await followed.aclose()


async def test_a_follower_that_comes_late_gets_the_whole(owner: Owner) -> None:
    reader = owner.depart(HEAD, b"one ")
    await anext(reader)

    assert await followed_to(owner, b"two", None) == b"one two"


async def test_a_header_that_is_no_text_keeps_nobody_from_following(owner: Owner) -> None:
    """Such bytes are passed to the owner's own client as they are; a follower can do without."""
    odd = Head(200, (("x-odd", "\udcff"), ("X-Fine", "1")), "\udcff")
    owner.depart(odd)
    followed = await PEERS.follow(owner.address, named(NAME))

    assert followed is not None
    assert followed.head == Head(200, (("X-Fine", "1"),))
    await followed.aclose()


async def test_a_large_answer_comes_whole(owner: Owner) -> None:
    large = bytes(range(256)) * (1 << 14)
    owner.depart(HEAD, large)

    assert await followed_to(owner, large, None) == large * 2


async def test_what_does_not_fly_there(owner: Owner) -> None:
    owner.depart(HEAD)

    assert await PEERS.follow(owner.address, named((key("b"), 3))) is None
    assert await PEERS.follow(owner.address, named((key("a"), 4))) is None


async def test_an_answer_that_the_owner_found_stored_is_looked_for_there(owner: Owner) -> None:
    """In the tiers, where the follower looks next."""

    async def board(flight: Flight) -> None:
        flight.board(Found(entry("a"), "disk", "exact"))
        await over.wait()

    over = asyncio.Event()
    owner.flights.join(NAME, board)

    assert await PEERS.follow(owner.address, named(NAME)) is None
    assert len(owner.flights) == 1


@pytest.mark.parametrize("opened", [True, False])
async def test_the_owners_upstream_error_is_told_as_it_was(owner: Owner, opened: bool) -> None:
    error = UpstreamError("gpu", "overload", "too many \udcff", 503, 2.5)
    owner.depart(*(HEAD, b"one")[: 2 * opened])

    with pytest.raises(UpstreamError, match="too many") as failed:
        await followed_to(owner, error)
    assert (failed.value.node, failed.value.kind) == ("gpu", "overload")
    assert (failed.value.status, failed.value.retry_after) == (503, 2.5)


async def test_whatever_else_the_owner_met_before_its_answer_the_follower_meets_itself(
    owner: Owner,
) -> None:
    flight = owner.depart().flight
    following = asyncio.create_task(PEERS.follow(owner.address, named(NAME)))
    await eventually(lambda: len(flight.readers) == 2)
    owner.pieces.put_nowait(RuntimeError("anything"))

    assert await following is None


async def test_whatever_else_the_owner_met_in_the_middle_is_no_clean_end(owner: Owner) -> None:
    """Or half an answer would pass for a whole one."""
    owner.depart(HEAD, b"one")

    with pytest.raises(UpstreamError):
        await followed_to(owner, RuntimeError("anything"))


async def test_an_owner_says_that_it_lives_while_its_upstream_thinks(owner: Owner) -> None:
    reader = owner.depart()
    asks, writer = await asyncio.open_unix_connection(owner.path)
    writer.write(b"F" + named(NAME))

    assert await asks.readexactly(5) == b"K\0\0\0\0"
    writer.close()
    await reader.aclose()


def opening() -> bytes:
    data = msgspec.msgpack.encode((HEAD, "gpu", "json", b"raw", True))
    return b"H" + len(data).to_bytes(4, "big") + data


BEAT = b"K\0\0\0\0"


async def test_beats_between_the_parts_of_an_answer_are_not_part_of_it(tmp_path: Path) -> None:
    frames = (BEAT, opening(), BEAT, b"C\0\0\0\x02ab", BEAT, b"C\0\0\0\x01c", BEAT, b"E\0\0\0\0")
    async with strange(tmp_path / "s", *frames) as address:
        followed = await PEERS.follow(address, named(NAME))

        assert followed is not None
        assert [chunk async for chunk in followed] == [b"ab", b"c"]
        await followed.aclose()


async def test_an_owner_that_never_was(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError) as failed:
        await PEERS.follow(str(tmp_path / "nobody"), named(NAME))

    assert failed.value.kind == "gone"


@pytest.mark.parametrize(
    "frames", [(), (BEAT,), (opening()[:9],)], ids=["nothing", "a beat", "half a head"]
)
async def test_an_owner_that_dies_before_its_answer(
    tmp_path: Path, frames: tuple[bytes, ...]
) -> None:
    async with strange(tmp_path / "s", *frames) as address:
        with pytest.raises(UpstreamError) as failed:
            await PEERS.follow(address, named(NAME))

    assert failed.value.kind == "gone"


@pytest.mark.parametrize("last", [b"", BEAT, b"C\0\0\0\x02a"], ids=["chunk", "beat", "half"])
async def test_an_owner_that_dies_in_the_middle_is_no_clean_end(
    tmp_path: Path, last: bytes
) -> None:
    async with strange(tmp_path / "s", opening(), b"C\0\0\0\x01a", last) as address:
        followed = await PEERS.follow(address, named(NAME))
        assert followed is not None
        assert await anext(followed) == b"a"

        with pytest.raises(UpstreamError) as failed:
            await anext(followed)
        await followed.aclose()
    assert failed.value.kind == "gone"


async def test_an_owner_that_is_frozen_is_given_up(tmp_path: Path) -> None:
    """It answers nothing, and its socket stays open."""
    async with strange(tmp_path / "s", hold=True) as address:
        with pytest.raises(UpstreamError) as failed:
            await PEERS.follow(address, named(NAME))

    assert failed.value.kind == "gone"


@pytest.mark.parametrize("opened", [True, False])
async def test_a_follower_that_leaves_ends_the_call_that_nobody_else_reads(
    owner: Owner, opened: bool
) -> None:
    reader = owner.depart(*(HEAD, b"one")[: 2 * opened])
    following = asyncio.create_task(follow(owner))
    await eventually(lambda: len(reader.flight.readers) == 2)
    await reader.aclose()
    assert len(owner.flights) == 1
    following.cancel()

    await eventually(lambda: len(owner.flights) == 0)
    assert reader.flight.task is not None
    await eventually(reader.flight.task.cancelled)


async def test_a_follower_that_leaves_changes_nothing_for_the_others(owner: Owner) -> None:
    reader = owner.depart(HEAD, b"one ")
    leaving, staying = (asyncio.create_task(follow(owner)) for _ in range(2))
    await eventually(lambda: len(reader.flight.readers) == 3)
    leaving.cancel()
    await eventually(leaving.done)
    owner.pieces.put_nowait(b"two")
    owner.pieces.put_nowait(None)

    assert await staying == b"one two"


async def test_an_owner_that_closes_lets_its_followers_go(owner: Owner) -> None:
    owner.depart(HEAD, b"one")
    followed = await PEERS.follow(owner.address, named(NAME))
    assert followed is not None
    await anext(followed)
    await owner.server.aclose()

    with pytest.raises(UpstreamError) as failed:
        await anext(followed)
    assert failed.value.kind == "gone"
    await followed.aclose()


async def test_a_key_is_forgotten_at_another_worker(owner: Owner) -> None:
    had = [await PEERS.forget(owner.address, key(name), NOW) for name in ("a", "b")]

    assert owner.forgotten == [(key("a"), NOW), (key("b"), NOW)]
    assert had == [True, False]


async def test_another_worker_says_what_it_does_not_hold(owner: Owner) -> None:
    wanted = [key(number) for number in range(256)]
    owner.held = set(wanted[::3])

    assert await PEERS.unheld(owner.address, wanted) == [
        one for one in wanted if one not in owner.held
    ]
    owner.held = set(wanted)
    assert await PEERS.unheld(owner.address, wanted) == []


async def test_one_that_cannot_say_what_it_holds_is_no_word(owner: Owner) -> None:
    owner.held = None

    with pytest.raises(UpstreamError):
        await PEERS.unheld(owner.address, [key("a")])


async def test_one_that_is_not_there_is_no_word(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError):
        await PEERS.unheld(str(tmp_path / "nobody"), [key("a")])


async def test_nothing_can_be_forgotten_where_nobody_is(tmp_path: Path) -> None:
    with pytest.raises(UpstreamError):
        await PEERS.forget(str(tmp_path / "nobody"), key("a"), NOW)


async def test_one_worker_has_nobody_to_follow() -> None:
    assert await NoPeers().follow("anyone", named(NAME)) is None  # type: ignore[func-returns-value]
