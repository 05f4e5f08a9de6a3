"""What becomes of a connection on which a server says something that is no reply."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from proxy import config
from proxy.adapters.redis.asked import LinkError
from proxy.adapters.redis.link import Link
from proxy.quantity import Timeout
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def linked(
    *scripts: Script, timeout: float = 0.5, password: str | None = None
) -> AsyncIterator[tuple[Link, list[int]]]:
    """A link to a server whose connections do what the scripts say, the last one again and again;
    and how many there were."""
    made: list[int] = []

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        made.append(1)
        try:
            await scripts[min(len(made), len(scripts)) - 1](reader, writer)
        except OSError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        settings = config.Redis(url=f"redis://127.0.0.1:{port}", timeout=Timeout(timeout))
        link = Link(settings, password, clock=FakeClock(), emit=lambda _: None)
        yield link, made
        await link.aclose()


def says(*replies: bytes) -> Script:
    """One of these for each read; then it is silent."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for reply in replies:
            await reader.read(1000)
            writer.write(reply)
        await reader.read()

    return script


async def fine(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(1000):
        writer.write(b"$4\r\nfine\r\n")


@pytest.mark.parametrize("size", [1, 2, 3, 7])
async def test_pieces_of_any_size_are_put_together(size: int) -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        replies = b"$4\r\n\xff\r\n\0\r\n" + b"*2\r\n:7\r\n$-1\r\n"
        for start in range(0, len(replies), size):
            writer.write(replies[start : start + size])
            await writer.drain()
            await asyncio.sleep(0)
        await reader.read()

    async with linked(script) as (link, _):
        first, second = await asyncio.gather(link.ask("GET", "a"), link.ask("GET", "b"))

    assert first == b"\xff\r\n\0"
    assert second == [7, None]


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"$5\r\nab",
        b"$99999999999999999999\r\n",
        b"\x00\xff\x00\xff",
        b"*1\r\n" * 20,
        b"-LOADING Redis is loading the dataset in memory\r\n",
    ],
)
async def test_what_is_no_reply_ends_the_connection(said: bytes) -> None:
    async with linked(says(said), fine, timeout=0.1) as (link, made):
        with pytest.raises(LinkError):
            await link.ask("GET", "a")

        assert await link.ask("GET", "b") == b"fine"
        assert len(made) == 2


async def test_a_server_that_hangs_up_is_an_error_and_no_more() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)

    async with linked(script, fine) as (link, _):
        with pytest.raises(LinkError):
            await link.ask("GET", "a")
        assert await link.ask("GET", "b") == b"fine"


async def test_a_reply_too_many_ends_the_connection() -> None:
    """Whoever comes next would get the answer to somebody else's question (redis-py#2624)."""
    async with linked(says(b"$1\r\n1\r\n$1\r\n2\r\n"), fine) as (link, made):
        assert await link.ask("GET", "a") == b"1"
        await asyncio.sleep(0.02)
        assert await link.ask("GET", "b") == b"fine"
        assert len(made) == 2


async def test_a_reply_that_comes_too_late_is_nobodys() -> None:
    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        await asyncio.sleep(0.15)
        writer.write(b"$4\r\nlate\r\n")
        await reader.read()

    async with linked(script, fine, timeout=0.1) as (link, made):
        with pytest.raises(LinkError, match="TimeoutError"):
            await link.ask("GET", "a")
        await asyncio.sleep(0.1)
        assert await link.ask("GET", "b") == b"fine"
        assert len(made) == 2


async def test_a_greeting_may_take_longer_than_an_operation() -> None:
    """Who waits is told in time; the connection stands for those who come later."""

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        await asyncio.sleep(0.2)
        writer.write(b"+OK\r\n")
        await fine(reader, writer)

    async with linked(slow, timeout=0.1, password="secret") as (link, made):
        with pytest.raises(LinkError, match="TimeoutError"):
            await link.ask("GET", "a")
        await asyncio.sleep(0.2)

        assert await link.ask("GET", "b") == b"fine"
        assert len(made) == 1
