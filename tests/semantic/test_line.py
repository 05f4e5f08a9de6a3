"""The line between a worker and the semantic process: many questions, one connection, no trust."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.client import AbsentError, Client, ClientError
from semantic.frames import FrameError, framed, read
from semantic.protocol import LARGEST, Done, Failed, Found, Framed, Learn, Message, Nearest, Record
from semantic.server import AT_ONCE, Server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "semantic.sock"


def asked(text: str) -> Nearest:
    return Nearest(b"s" * 32, "m", text, 60.0)


async def echo(message: Message) -> Message:
    """A find that names what was asked for; other words have other effects."""
    if not isinstance(message, Nearest):
        return Done(len(message.records) if isinstance(message, Learn) else 0)
    match message.text:
        case "fail":
            raise ValueError("a secret text")
        case "refuse":
            return Failed("busy")
        case "other":
            return Done()
        case "slow":
            await asyncio.sleep(3600)
        case _:
            pass
    return Found(key=message.text.encode())


@asynccontextmanager
async def line(
    path: Path, answer: Callable[[Message], Awaitable[Message]] = echo
) -> AsyncIterator[Client]:
    server, client = Server(path, answer), Client(path)
    await server.start()
    try:
        yield client
    finally:
        await client.aclose()
        await server.aclose()


async def test_an_answer_comes_to_who_asked(path: Path) -> None:
    async with line(path) as client:
        found = await asyncio.gather(*[client.nearest(asked(str(n))) for n in range(200)])

    assert [one.key for one in found] == [str(n).encode() for n in range(200)]


async def test_who_gives_up_disturbs_nobody(path: Path) -> None:
    async with line(path) as client:
        slow = asyncio.create_task(client.nearest(asked("slow")))
        await client.nearest(asked("a"))
        slow.cancel()
        await asyncio.gather(slow, return_exceptions=True)

        assert (await client.nearest(asked("b"))).key == b"b"


@pytest.mark.parametrize("word", ["fail", "refuse", "other"])
async def test_what_is_no_answer_is_an_error_that_tells_no_text(path: Path, word: str) -> None:
    async with line(path) as client:
        with pytest.raises(ClientError) as caught:
            await client.nearest(asked(word))

        assert "secret" not in str(caught.value)
        assert (await client.nearest(asked("next"))).key == b"next"


async def test_nobody_there_is_an_error(path: Path) -> None:
    with pytest.raises(AbsentError):
        await Client(path).nearest(asked("a"))


async def test_a_line_that_broke_is_laid_anew(path: Path) -> None:
    async with line(path) as client:
        waiting = asyncio.create_task(client.nearest(asked("slow")))
        await client.nearest(asked("a"))
        assert client._writer is not None
        client._writer.transport.abort()
        with pytest.raises(ClientError) as broken:
            await waiting
        assert not isinstance(broken.value, AbsentError)

        assert (await client.nearest(asked("b"))).key == b"b"


async def test_a_process_that_comes_back_is_found(path: Path) -> None:
    client = Client(path)
    for word in ("a", "b"):
        server = Server(path, echo)
        await server.start()
        found = None
        for _ in range(3):  # the first attempt may still meet the old line's end
            try:
                found = await client.nearest(asked(word))
                break
            except ClientError:
                continue
        assert found is not None
        assert found.key == word.encode()
        await server.aclose()
    await client.aclose()


async def test_no_more_is_worked_on_at_once_than_can_be_done(path: Path) -> None:
    async with line(path) as client:
        held = [asyncio.create_task(client.nearest(asked("slow"))) for _ in range(AT_ONCE)]
        await asyncio.sleep(0.1)
        with pytest.raises(ClientError, match="busy"):
            await client.nearest(asked("a"))
        for one in held:
            one.cancel()
        await asyncio.gather(*held, return_exceptions=True)


async def test_an_answer_nobody_waits_for_is_dropped(path: Path) -> None:
    async with line(path) as client:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await client.nearest(asked("slow"))

        assert client._waiting == {}


async def test_what_is_too_large_is_not_sent(path: Path) -> None:
    async with line(path) as client:
        with pytest.raises(ClientError):
            await client.learn([Record(b"k", b"s", "x" * (LARGEST + 1), 0.0)])

        assert (await client.nearest(asked("a"))).key == b"a"


@pytest.mark.parametrize(
    "sent", [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\5hello", b"\0\0", b"\xff" * 64]
)
async def test_a_stranger_is_hung_up_on_and_the_others_are_served(path: Path, sent: bytes) -> None:
    async with line(path) as client:
        reader, writer = await asyncio.open_unix_connection(str(path))
        writer.write(sent)
        writer.write_eof()

        assert await reader.read() == b""
        assert (await client.nearest(asked("a"))).key == b"a"
        writer.close()


async def test_the_socket_is_its_owners_alone(path: Path) -> None:
    async with line(path):
        mode = (await asyncio.to_thread(path.stat)).st_mode

    assert mode & 0o077 == 0


@given(st.binary(max_size=200))
async def test_any_bytes_are_a_message_the_end_or_an_error(data: bytes) -> None:
    stream = asyncio.StreamReader()
    stream.feed_data(data)
    stream.feed_eof()
    try:
        while await read(stream) is not None:
            pass
    except FrameError:
        pass


@given(st.integers(0, 2**40), st.text(max_size=50))
async def test_what_is_framed_is_read_again(number: int, text: str) -> None:
    stream = asyncio.StreamReader()
    message = Framed(number, asked(text))
    stream.feed_data(framed(message))

    assert await read(stream) == message
