"""Where commands go when servers say something unusual: played by hand, server by server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import hiredis
import pytest

from proxy import config
from proxy.adapters.redis.asked import LinkError
from proxy.adapters.redis.link import Link
from proxy.quantity import Timeout
from tests.fakes import FakeClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


class Played:
    """A server that answers as the test says; what it was asked is remembered."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[tuple[str, ...]] = []
        self.connections = 0
        self.replies: dict[str, bytes] = {}
        self.asking = b""
        """The reply to a GET behind ASKING; empty: the same as to any."""
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []

    def count(self, command: str) -> int:
        return sum(asked[0] == command for asked in self.asked)

    def says(self, command: str, reply: bytes) -> None:
        self.replies[command] = reply

    async def __aenter__(self) -> Played:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.close()
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        parser, asking = hiredis.Reader(encoding="latin-1"), False
        while data := await reader.read(65536):
            parser.feed(data)
            while (command := parser.gets()) is not False:
                self.asked.append(tuple(command))
                reply = self.replies.get(command[0], b"+OK\r\n")
                writer.write(self.asking if asking and self.asking else reply)
                asking = command[0] == "ASKING"


@asynccontextmanager
async def played(count: int, url: Callable[[list[Played]], str]) -> AsyncIterator[Any]:
    """Servers, and a link to what `url` makes of them."""
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(Played()) for _ in range(count)]
        settings = config.Redis(url=url(servers), timeout=Timeout(0.5))
        link = Link(settings, None, clock=FakeClock(), emit=lambda _: None)
        stack.push_async_callback(link.aclose)
        yield link, servers


def cluster(servers: list[Played]) -> str:
    """The first one holds all slots, and all say so."""
    for server in servers:
        server.says("CLUSTER", slots(servers[0]))
        server.says("GET", b"$-1\r\n")
    return f"redis+cluster://127.0.0.1:{servers[0].port}"


def slots(holder: Played) -> bytes:
    return b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:%d\r\n" % holder.port


def moved(to: Played, kind: str = "MOVED") -> bytes:
    return b"-%s 1 127.0.0.1:%d\r\n" % (kind.encode(), to.port)


NAME = b"hotprefix:{a}:e"


async def test_what_was_moved_twice_comes_back_whole() -> None:
    """ASK, and from there MOVED: the reply is to the command, not to ASKING."""
    async with played(3, cluster) as (link, (first, second, third)):
        await link.tend()
        first.says("GET", moved(second, "ASK"))
        second.asking = moved(third)
        third.says("GET", b"$5\r\nfound\r\n")

        assert await link.ask("GET", NAME) == b"found"
        assert (second.count("ASKING"), third.count("ASKING")) == (1, 0)


async def test_asking_is_said_where_it_was_asked_for_and_once() -> None:
    async with played(2, cluster) as (link, (first, second)):
        await link.tend()
        first.says("GET", moved(second, "ASK"))
        second.says("GET", moved(first))
        second.asking = b"$5\r\nfound\r\n"
        answers = await asyncio.gather(*(link.ask("GET", NAME) for _ in range(50)))

        assert answers == [b"found"] * 50
        assert second.count("ASKING") == second.count("GET") == 50


async def test_a_slot_that_moved_is_asked_for_there_at_once() -> None:
    async with played(2, cluster) as (link, (first, second)):
        await link.tend()
        before = first.count("GET")
        second.says("GET", b"$5\r\nfound\r\n")
        slot = b"hotprefix:{123}:e"
        first.says("GET", b"-MOVED 5970 127.0.0.1:%d\r\n" % second.port)
        for _ in range(5):
            assert await link.ask("GET", slot) == b"found"

        assert first.count("GET") == before + 1


async def test_the_table_goes_before_what_was_seen_earlier() -> None:
    """A redirection holds until the table is read again: its server may be dead by then."""
    async with played(3, cluster) as (link, (first, second, third)):
        await link.tend()
        first.says("GET", b"-MOVED 5970 127.0.0.1:%d\r\n" % second.port)
        second.says("GET", b"$6\r\nsecond\r\n")
        third.says("GET", b"$5\r\nthird\r\n")
        assert await link.ask("GET", b"hotprefix:{123}:e") == b"second"
        tables = sum(server.count("CLUSTER") for server in (first, second, third))
        for server in (first, second, third):
            server.says("CLUSTER", slots(third))
        await link.tend()

        assert await link.ask("GET", b"hotprefix:{123}:e") == b"third"
        for _ in range(3):
            await link.tend()
        assert sum(server.count("CLUSTER") for server in (first, second, third)) == tables + 1


async def test_servers_that_send_each_other_round_are_given_up() -> None:
    async with played(2, cluster) as (link, (first, second)):
        await link.tend()
        first.says("GET", moved(second))
        second.says("GET", moved(first))

        with pytest.raises(LinkError, match="MOVED"):
            await link.ask("GET", NAME)


@pytest.mark.parametrize(
    "reply", [b"-MOVED\r\n", b"-MOVED 1 nowhere\r\n", b"-MOVED x 127.0.0.1:1\r\n", b"-ASK 1 :0\r\n"]
)
async def test_a_redirection_that_is_none_is_an_error(reply: bytes) -> None:
    async with played(1, cluster) as (link, (first,)):
        await link.tend()
        first.says("GET", reply)

        with pytest.raises(LinkError):
            await link.ask("GET", NAME)
        first.says("GET", b"$-1\r\n")
        assert await link.ask("GET", NAME) is None


@pytest.mark.parametrize(
    "reply",
    [
        b"-ERR This instance has cluster support disabled\r\n",
        b"*0\r\n",
        b"$-1\r\n",
        b"*1\r\n:7\r\n",
        b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n:1\r\n$1\r\nx\r\n",
    ],
)
async def test_a_table_that_is_none_is_not_used(reply: bytes) -> None:
    async with played(1, cluster) as (link, (first,)):
        first.says("CLUSTER", reply)
        await link.tend()
        assert not link.working
        first.says("CLUSTER", slots(first))
        await link.tend()

        assert link.working
        assert await link.ask("GET", NAME) is None


async def test_a_server_without_a_name_is_where_it_was_asked() -> None:
    async with played(1, cluster) as (link, (first,)):
        table = b"*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$0\r\n\r\n:%d\r\n" % first.port
        first.says("CLUSTER", table)
        await link.tend()

        assert await link.ask("GET", NAME) is None


def sentinels(servers: list[Played]) -> str:
    """The last one is the master, the others say so."""
    *watching, master = servers
    said = f"name m ip 127.0.0.1 port {master.port} flags master num-other-sentinels 1"
    state = [b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in said.split()]
    for server in watching:
        server.says("SENTINEL", b"*1\r\n*%d\r\n" % len(state) + b"".join(state))
    master.says("GET", b"$-1\r\n")
    hosts = ",".join(f"127.0.0.1:{server.port}" for server in watching)
    return f"redis+sentinel://{hosts}/m"


async def test_the_sentinel_that_answers_is_asked_first_from_then_on() -> None:
    async with played(3, sentinels) as (link, (first, second, master)):
        first.says("SENTINEL", b"*0\r\n")
        for _ in range(3):
            assert await link.ask("GET", NAME) is None
            master.says("SET", b"-READONLY not any more\r\n")
            with pytest.raises(LinkError, match="READONLY"):
                await link.ask("SET", NAME, "1", write=True)

        assert (first.count("SENTINEL"), second.count("SENTINEL")) == (1, 3)
        assert master.connections == 3
