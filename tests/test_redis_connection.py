"""What a connection makes of the bytes that a server sends, whatever they are."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.adapters.redis.connection import Call, Connection, packed
from proxy.adapters.redis.dialer import Dialer
from proxy.adapters.redis.url import Address, parse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def served(script: Script) -> AsyncIterator[Address]:
    """A server on loopback that does what a test says."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await script(reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield Address(*server.sockets[0].getsockname()[:2])


async def dial(address: Address, url: str = "redis://host") -> Connection:
    return await Dialer(parse(url), None).dial(address)


def call(*command: str) -> Call:
    return Call(packed(*command), asyncio.get_running_loop().create_future())


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readexactly(len(packed("PING")))
    writer.write(b"+PONG\r\n")


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_pieces_of_any_size_are_put_together(size: int) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.readexactly(len(packed("GET", "a") + packed("GET", "b")))
        replies = b"$4\r\n\xff\r\n\0\r\n" + b"*2\r\n:7\r\n$-1\r\n"
        for start in range(0, len(replies), size):
            writer.write(replies[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)
        await reader.read()

    async with served(script) as address:
        connection = await dial(address)
        calls = [call("GET", "a"), call("GET", "b")]
        for one in calls:
            connection.send(one)

        assert await calls[0].future == b"\xff\r\n\0"
        assert await calls[1].future == [7, None]
        connection.close(OSError())


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"$5\r\nab",
        b"$99999999999999999999\r\n",
        b"\x00\xff\x00\xff",
        b"*1\r\n" * 20,
    ],
)
async def test_what_is_no_reply_ends_the_connection(said: bytes) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.readexactly(len(packed("GET", "a")))
        writer.write(said)

    async with served(script) as address:
        connection = await dial(address)
        asked = call("GET", "a")
        connection.send(asked)

        assert isinstance(await asked.future, ConnectionError)
        assert connection.closed
        late = call("GET", "b")
        connection.send(late)
        assert isinstance(await late.future, ConnectionError)


async def test_a_reply_too_many_ends_the_connection() -> None:
    """Whoever comes next would get the answer to somebody else's question (redis-py#2624)."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.readexactly(len(packed("GET", "a")))
        writer.write(b"$1\r\n1\r\n$1\r\n2\r\n")
        await reader.read()

    async with served(script) as address:
        connection = await dial(address)
        asked = call("GET", "a")
        connection.send(asked)

        assert await asked.future == b"1"
        assert connection.closed


async def test_a_reply_without_an_end_is_given_up() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.readexactly(len(packed("GET", "a")))
        writer.write(b"$400000000\r\n")
        for _ in range(100):
            writer.write(bytes(1_000_000))
            await writer.drain()
        await reader.read()

    async with served(script) as address:
        connection = await dial(address)
        asked = call("GET", "a")
        connection.send(asked)

        assert isinstance(await asked.future, ConnectionError)


async def test_a_server_that_reads_nothing_is_not_written_to_for_ever() -> None:
    done = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await done.wait()

    async with served(script) as address:
        connection = await dial(address)
        sent = 0
        while not connection.full:
            connection.send(call("SET", "a", "x" * (1 << 20)))
            await asyncio.sleep(0)
            sent += 1
        assert 16 <= sent < 100
        connection.close(OSError())
        done.set()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://:secret@host", b"-WRONGPASS invalid secret\r\n+PONG\r\n"),
        ("redis://host", b"-NOAUTH Authentication required.\r\n"),
        ("redis://host", b"-LOADING Redis is loading the dataset in memory\r\n"),
        ("redis://host/7", b"-ERR DB index is out of range\r\n+PONG\r\n"),
        ("redis+sentinel://host/m", b"*3\r\n$5\r\nslave\r\n$1\r\nh\r\n:1\r\n+PONG\r\n"),
        ("redis://host", b""),
    ],
)
async def test_a_server_that_is_not_ready_is_not_connected(url: str, said: bytes) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(said)

    async with served(script) as address:
        with pytest.raises(ConnectionError) as caught:
            await dial(address, url)

    assert "secret" not in str(caught.value)


async def test_a_greeting_may_be_given_up() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    async with served(script) as address:
        task = asyncio.get_running_loop().create_task(dial(address))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


class Nowhere(asyncio.Transport):
    """Takes everything."""

    def write(self, data: object) -> None: ...

    def abort(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return 0


@given(st.binary(max_size=64))
def test_no_bytes_raise(said: bytes) -> None:
    """Whatever comes, the calls get a reply or learn that there is none."""

    async def receive() -> None:
        lost: list[Call] = []
        connection = Connection(lambda _, calls, error: lost.extend(calls))
        connection.connection_made(Nowhere())
        asked = [call("GET", "a") for _ in range(3)]
        for one in asked:
            connection.send(one)
        connection.data_received(said)
        connection.connection_lost(None)

        assert all(one.future.done() or one in lost for one in asked)

    asyncio.run(receive())
