"""What a worker makes of what arrives: sealed frames that were changed on their way, and noise."""

from __future__ import annotations

import asyncio
import socket
from threading import Event

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.adapters.peers.follow import FollowedFlight
from proxy.adapters.peers.frames import opening, trouble
from proxy.adapters.peers.link import SILENCE, Link
from proxy.adapters.peers.seal import Secret
from proxy.core.message import Head
from proxy.ports import UpstreamError
from tests.fakes import settle
from tests.owner import SECRET

FRAMES = [(b"C", b"one"), (b"K", b""), (b"C", b""), (b"C", bytes(300)), (b"E", b"")]
CHUNKS = [b"one", b"", bytes(300)]
NONCES = b"a" * 32, b"b" * 32
OPENING = msgspec.msgpack.encode((Head(200, ()), "gpu", "json", b"raw", True))


class Way(asyncio.Transport):
    """The way back, with bytes on it that the other side has not read."""

    def __init__(self, unread: bytes = b"") -> None:
        super().__init__()
        self.unread = unread
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.unread += data

    def get_write_buffer_size(self) -> int:
        return len(self.unread)

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True


def sealed() -> list[bytes]:
    """The frames of a flight's body as they leave its owner."""
    _, seal = Secret(SECRET).seals(*NONCES)
    records = []
    for letter, data in FRAMES:
        header = letter + len(data).to_bytes(4, "big")
        records.append(header + seal.close(data, header))
    return records


def linked(reader: asyncio.StreamReader, way: Way, *, plain: bool = False) -> Link:
    loop = asyncio.get_running_loop()
    writer = asyncio.StreamWriter(way, asyncio.StreamReaderProtocol(reader), reader, loop)
    return Link(reader, writer, None if plain else Secret(SECRET).seals(*NONCES))


def read(data: bytes, *, plain: bool = False) -> tuple[list[bytes], bool]:
    """The chunks that a follower gets of these bytes, and whether it takes that for the whole."""

    async def follow() -> tuple[list[bytes], bool]:
        reader = asyncio.StreamReader()
        reader.feed_data(data)
        reader.feed_eof()
        flight = FollowedFlight(linked(reader, Way(), plain=plain), opening(OPENING))
        chunks: list[bytes] = []
        try:
            async for chunk in flight:
                chunks.append(chunk)  # noqa: PERF401  # what came before an error counts
        except UpstreamError:
            return chunks, False
        finally:
            await flight.aclose()
        return chunks, True

    return asyncio.run(follow())


def test_frames_that_nobody_touched() -> None:
    assert read(b"".join(sealed())) == (CHUNKS, True)


@given(st.integers(0, len(b"".join(sealed())) - 1), st.integers(0, 7))
def test_one_bit_changed_anywhere_ends_it_there(at: int, bit: int) -> None:
    data = bytearray(b"".join(sealed()))
    data[at] ^= 1 << bit
    chunks, whole = read(bytes(data))

    assert not whole
    assert chunks == CHUNKS[: len(chunks)]


@given(st.integers(0, len(b"".join(sealed())) - 1))
def test_an_answer_cut_anywhere_is_no_whole_one(at: int) -> None:
    chunks, whole = read(b"".join(sealed())[:at])

    assert not whole
    assert chunks == CHUNKS[: len(chunks)]


@given(st.lists(st.sampled_from(range(len(FRAMES))), max_size=7))
def test_frames_left_out_repeated_or_moved_end_it_there(order: list[int]) -> None:
    records = sealed()
    chunks, whole = read(b"".join(records[i] for i in order))

    assert whole == (order[: len(FRAMES)] == list(range(len(FRAMES))))
    assert chunks == CHUNKS[: len(chunks)]


def test_frames_of_another_connection_are_none() -> None:
    _, other = Secret(SECRET).seals(NONCES[1], NONCES[0])
    header = b"E\0\0\0\0"

    assert read(header + other.close(b"", header)) == ([], False)


def test_what_the_follower_said_itself_is_not_taken_for_an_answer() -> None:
    asks, _ = Secret(SECRET).seals(*NONCES)
    header = b"E\0\0\0\0"

    assert read(header + asks.close(b"", header)) == ([], False)


@given(st.binary(max_size=200), st.booleans())
def test_noise_is_no_answer(noise: bytes, plain: bool) -> None:
    _, whole = read(noise, plain=plain)

    assert not whole or (plain and b"E" in noise)


@pytest.mark.parametrize("plain", [True, False])
async def test_a_frame_without_bounds_is_not_waited_for(plain: bool) -> None:
    reader = asyncio.StreamReader()
    reader.feed_data(b"C\xff\xff\xff\xff")
    link = linked(reader, Way(), plain=plain)

    with pytest.raises(ConnectionAbortedError):
        await link.next()
    link.close()


@given(st.binary(max_size=60))
def test_any_opening_is_one_or_an_error(data: bytes) -> None:
    """As between two releases."""
    try:
        opening(data)
    except UpstreamError as error:
        assert error.kind == "gone"


def test_trouble_of_an_older_release_has_less_to_tell() -> None:
    error = trouble(msgspec.msgpack.encode(("gpu", "timeout", "too slow")))

    assert (error.node, error.kind, str(error)) == ("gpu", "timeout", "too slow")
    assert error.retry_after == 0


@given(st.binary(max_size=60))
def test_any_trouble_is_an_error(data: bytes) -> None:
    assert isinstance(trouble(data), UpstreamError)


@pytest.mark.parametrize(("unread", "said"), [(b"", b"K\0\0\0\0"), (b"much", b"much")])
async def test_who_has_yet_to_read_needs_no_beat(unread: bytes, said: bytes) -> None:
    """Beats of hours would pile up for one that is frozen."""
    way = Way(unread)
    link = linked(asyncio.StreamReader(), way, plain=True)
    link.beat()
    link.close()

    assert way.unread == said


async def test_a_process_that_stood_still_reads_first_what_came_meanwhile() -> None:
    """After a standstill all its time limits have passed at once."""
    here, there = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=here)
    reading = asyncio.create_task(Link(reader, writer).next())
    await settle()
    there.sendall(b"E\0\0\0\0")
    Event().wait(SILENCE + 0.05)

    assert await reading == (b"E", b"")
    writer.close()
    there.close()
