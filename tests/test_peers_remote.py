"""Workers of other machines: who is let in, what a stranger learns, what a slow one costs."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from proxy.adapters.peers.follow import Peers
from proxy.adapters.peers.frames import PURGE
from proxy.adapters.peers.seal import HELLO, NONCE, Secret
from proxy.adapters.peers.server import PeerServer, Remote, address
from proxy.core.events import TierFailed
from proxy.ports import UpstreamError
from proxy.sharing import named
from tests.owner import HEAD, NAME, SECRET, Owner, eventually
from tests.stored import NOW, key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from proxy.core.events import Event

PEERS = Peers(SECRET)
ASK = b"F" + named(NAME)


@pytest.fixture
async def owner(tmp_path: Path) -> AsyncIterator[Owner]:
    made = Owner(tmp_path / "owner.sock")
    await made.start()
    yield made
    await made.aclose()


class Wire:
    """What an eavesdropper between a follower and an owner has heard."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.asked, self.answered = b"", b""


@asynccontextmanager
async def tapped(owner: Owner) -> AsyncIterator[Wire]:
    tasks: set[asyncio.Task[None]] = set()

    async def relay(asks: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        replies, onward = await asyncio.open_connection(owner.host, owner.port)

        async def asking() -> None:
            while data := await asks.read(1 << 16):
                wire.asked += data
                onward.write(data)
            onward.close()

        tasks.add(asyncio.create_task(asking()))
        while data := await replies.read(1 << 16):
            wire.answered += data
            writer.write(data)
        writer.close()

    server = await asyncio.start_server(relay, "127.0.0.1", 0)
    wire = Wire(address("127.0.0.1", server.sockets[0].getsockname()[1]))
    yield wire
    server.close()
    await asyncio.gather(*tasks)


async def told(owner: Owner, *said: bytes) -> bytes:
    """All that the owner answers to someone who says this and then waits."""
    reader, writer = await asyncio.open_connection(owner.host, owner.port)
    answer = b""
    try:
        for words in said:
            writer.write(words)
            answer += await reader.read(NONCE)
        while more := await reader.read(1 << 16):
            answer += more
    except ConnectionError:
        pass  # a connection that is aborted with bytes unread
    finally:
        writer.close()
    return answer


async def test_what_passes_between_machines_tells_nobody_anything(owner: Owner) -> None:
    owner.depart(HEAD, b"the answer in clear text")
    async with tapped(owner) as wire:
        followed = await PEERS.follow(wire.address, named(NAME))
        assert followed is not None
        assert await anext(followed) == b"the answer in clear text"
        await followed.aclose()

    for clear in (NAME[0], b"clear text", b"event-stream", b"gpu", SECRET):
        assert clear not in wire.asked + wire.answered


async def test_the_same_flight_never_looks_the_same_twice(owner: Owner) -> None:
    owner.depart(HEAD, b"one")
    heard = []
    for _ in range(2):
        async with tapped(owner) as wire:
            followed = await PEERS.follow(wire.address, named(NAME))
            assert followed is not None
            await followed.aclose()
        heard.append(wire)

    assert heard[0].asked[:NONCE] != heard[1].asked[:NONCE]
    assert heard[0].asked[-41:] != heard[1].asked[-41:]
    assert heard[0].answered[:NONCE] != heard[1].answered[:NONCE]


@pytest.mark.parametrize(
    "said",
    [ASK, ASK * 2, bytes(HELLO), b"GET / HTTP/1.1\r\nhost: a\r\n\r\n" * 4, os.urandom(1 << 20)],
    ids=["as on this machine", "twice", "zeros", "http", "noise"],
)
async def test_a_stranger_gets_nothing_but_a_closed_connection(owner: Owner, said: bytes) -> None:
    reader = owner.depart(HEAD, b"one")

    assert await told(owner, said) == b""
    assert reader.flight.readers == {reader}


async def test_a_stranger_that_says_nothing_is_let_go(owner: Owner) -> None:
    assert await told(owner, b"") == b""


async def test_a_worker_with_another_secret_is_a_stranger(owner: Owner) -> None:
    reader = owner.depart(HEAD, b"one")
    events: list[Event] = []
    other = Peers(SECRET[:-1] + b"!", events.append)

    for asked in (
        other.follow(owner.remote, named(NAME)),
        other.forget(owner.remote, key("a"), NOW),
    ):
        with pytest.raises(UpstreamError) as failed:
            await asked
        assert failed.value.kind == "stranger"
    assert reader.flight.readers == {reader}
    assert owner.forgotten == []
    assert events == [TierFailed("peers", "open", "StrangerError")] * 2


async def test_what_was_heard_once_opens_nothing_again(owner: Owner) -> None:
    """Words of a true peer, said again by someone who heard them: it learns a nonce."""
    async with tapped(owner) as wire:
        assert await PEERS.forget(wire.address, key("a"), NOW)
    said = wire.asked[:HELLO], wire.asked[HELLO:]

    assert len(await told(owner, *said)) == NONCE
    assert owner.forgotten == [(key("a"), NOW)]


async def test_an_owner_that_does_not_know_the_secret_is_not_believed() -> None:
    """It may say again what it heard a true one say."""

    async def serve(asks: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asks.readexactly(HELLO)
        writer.write(bytes(NONCE))
        await asks.readexactly(len(ASK) + 16)
        _, answers = Secret(SECRET[:-1] + b"!").seals(bytes(NONCE), bytes(NONCE))
        writer.write(b"N\0\0\0\0" + answers.close(b"", b"N\0\0\0\0"))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    with pytest.raises(UpstreamError) as failed:
        await PEERS.follow(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", named(NAME))
    server.close()

    assert failed.value.kind == "gone"


async def test_a_crowd_of_strangers_keeps_no_peer_out(tmp_path: Path) -> None:
    """The oldest of them is let go for each that comes, and none that has proved itself."""
    owner = Owner(tmp_path / "s", strangers=4)
    await owner.start()
    owner.depart(HEAD, b"one")
    early = await PEERS.follow(owner.remote, named(NAME))
    crowd = [await asyncio.open_connection(owner.host, owner.port) for _ in range(12)]
    late = await PEERS.follow(owner.remote, named(NAME))

    for followed in (early, late):
        assert followed is not None
        assert await anext(followed) == b"one"
        await followed.aclose()
    async with asyncio.timeout(1):  # sooner than those that nobody displaced
        assert await crowd[0][0].read() == b""
    for _, writer in crowd:
        writer.close()
    await owner.aclose()


NOWHERE = ["", "nobody", "host:", ":1", "127.0.0.1:x", "127.0.0.1:99999", "127.0.0.1:-1"]
NOWHERE += ["127.0.0.1:1", "[::1:7", "\0:1", "/\0", "/" + "long" * 99, "é" * 99 + ":1"]


@pytest.mark.parametrize("nowhere", NOWHERE)
async def test_an_address_that_leads_nowhere(nowhere: str) -> None:
    with pytest.raises(UpstreamError) as failed:
        await PEERS.follow(nowhere, named(NAME))

    assert failed.value.kind == "gone"


async def test_without_a_secret_other_machines_are_out_of_reach(owner: Owner) -> None:
    owner.depart(HEAD, b"one")
    with pytest.raises(UpstreamError) as failed:
        await Peers().follow(owner.remote, named(NAME))

    assert failed.value.kind == "gone"


async def test_without_a_secret_no_port_is_opened(tmp_path: Path) -> None:
    async def forget(_: bytes, at: float) -> bool:
        return False

    server = PeerServer(lambda _: None, forget, tmp_path / "s")

    assert await server.start() == 0
    await server.aclose()


def test_a_secret_is_in_no_representation() -> None:
    assert "0123" not in f"{Remote('h', 0, SECRET)!r} {Secret(SECRET)!r}"


@pytest.mark.parametrize("host", ["::1", "localhost"])
async def test_hosts_with_more_than_one_kind_of_address(tmp_path: Path, host: str) -> None:
    """`localhost` has two, and only one port is told."""
    if host == "::1" and not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    owner = Owner(tmp_path / "s", host=host)
    await owner.start()

    assert await PEERS.forget(owner.remote, key("a"), NOW)
    await owner.aclose()


def _has_ipv6() -> bool:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


async def _silent(owner: Owner, remote: bool) -> asyncio.StreamWriter:
    """A follower that has asked and then reads nothing: as one that is frozen."""
    if not remote:
        reader, writer = await asyncio.open_unix_connection(owner.path, limit=1)
        writer.write(ASK)
        writer.transport.pause_reading()  # type: ignore[attr-defined]  # one can be read too
        return writer
    reader, writer = await asyncio.open_connection(owner.host, owner.port, limit=NONCE)
    secret, nonce = Secret(SECRET), os.urandom(NONCE)
    writer.write(secret.hello(nonce))
    asks, _ = secret.seals(nonce, await reader.readexactly(NONCE))
    writer.write(asks.close(ASK))
    writer.transport.pause_reading()  # type: ignore[attr-defined]
    return writer


@pytest.mark.parametrize("remote", [False, True], ids=["here", "elsewhere"])
async def test_a_follower_that_reads_nothing_holds_up_nobody(owner: Owner, remote: bool) -> None:
    reader = owner.depart(HEAD)
    frozen = [await _silent(owner, remote) for _ in range(3)]
    await eventually(lambda: len(reader.flight.readers) == 4)
    following = asyncio.create_task(_whole(owner.remote if remote else owner.path))
    await eventually(lambda: len(reader.flight.readers) == 5)
    for _ in range(12):
        owner.pieces.put_nowait(bytes(1 << 20))
    owner.pieces.put_nowait(None)

    assert len(b"".join([chunk async for chunk in reader])) == 12 << 20
    assert await following == 12 << 20
    assert len(reader.flight.readers) == 3  # they are not written to beyond what they read
    for writer in frozen:
        writer.transport.abort()
    await eventually(lambda: not reader.flight.readers)


async def _whole(owner: str) -> int:
    followed = await PEERS.follow(owner, named(NAME))
    assert followed is not None
    size = sum([len(chunk) async for chunk in followed])
    await followed.aclose()
    return size


async def test_an_owner_with_many_followers_closes_at_once(owner: Owner) -> None:
    """Those that read, and those that do not."""
    reader = owner.depart(HEAD, bytes(1 << 20))
    frozen = [await _silent(owner, remote=True) for _ in range(3)]
    asking = (PEERS.follow(owner.remote, named(NAME)) for _ in range(100))
    following = await asyncio.gather(*asking)
    async with asyncio.timeout(1):
        await owner.server.aclose()

    for followed in following:
        assert followed is not None
        with pytest.raises(UpstreamError) as failed:
            async for _ in followed:
                pass
        await followed.aclose()
        assert failed.value.kind == "gone"
    for writer in frozen:
        writer.transport.abort()
    assert reader.flight.readers == {reader}


async def test_a_purge_goes_through_though_the_asker_leaves(owner: Owner) -> None:
    _, writer = await asyncio.open_unix_connection(owner.path)
    writer.write(b"D" + PURGE.pack(key("a"), NOW))
    writer.close()

    await eventually(lambda: owner.forgotten == [(key("a"), NOW)])


async def test_an_owner_says_that_it_lives_while_it_forgets(tmp_path: Path) -> None:
    """A tier may be slow."""
    done = asyncio.Event()

    async def forget(_: bytes, at: float) -> bool:
        return await done.wait()

    server = PeerServer(lambda _: None, forget, tmp_path / "s")
    await server.start()
    asks, writer = await asyncio.open_unix_connection(str(tmp_path / "s"))
    writer.write(b"D" + PURGE.pack(key("a"), NOW))

    assert await asks.readexactly(5) == b"K\0\0\0\0"
    done.set()
    assert await asks.readexactly(6) == b"E\0\0\0\x011"
    writer.close()
    await server.aclose()
