"""What the link promises: an answer soon or an error soon, and each answer to who asked."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
import uvloop

from proxy import config
from proxy.adapters.redis.asked import LinkError
from proxy.adapters.redis.circuit import Circuit
from proxy.adapters.redis.link import Link
from proxy.config import ConfigError
from proxy.core.events import TierKnown, TierTurned
from proxy.quantity import Timeout
from tests.fakes import FakeClock
from tests.redis_server import RedisServer
from tests.relay import Relay, certificate

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from pathlib import Path

    from proxy.core.events import Event

BUDGET = 0.1
"""Seconds of an operation here: more than the default, for machines that are busy with tests."""


@pytest.fixture
def own(tmp_path: Path) -> Iterator[RedisServer]:
    """A server to be mistreated."""
    with RedisServer(tmp_path) as server:
        yield server


@asynccontextmanager
async def linked(
    url: str,
    password: str | None = None,
    *,
    timeout: float = BUDGET,
    clock: FakeClock | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[Link, list[TierTurned]]]:
    """A link that is looked after only when a test calls `tend`."""
    events: list[TierTurned] = []

    def emit(event: Event) -> None:
        if isinstance(event, TierTurned):
            events.append(event)

    given = config.Redis(url=url, timeout=Timeout(timeout), **settings)
    link = Link(given, password, clock=clock or FakeClock(), emit=emit)
    try:
        yield link, events
    finally:
        await link.aclose()


async def code(awaitable: Any) -> str:
    """What kind of error this is."""
    with pytest.raises(LinkError) as caught:
        await awaitable
    return caught.value.code


async def until(true: Callable[[], bool], link: Link) -> None:
    """Look after the link until something is so."""
    async with asyncio.timeout(10):
        while not true():
            await link.tend()
            await asyncio.sleep(0.01)


async def held(link: Link, clock: FakeClock) -> None:
    """What works has done so for a while."""
    await link.tend()
    clock.advance(5.0)
    await link.tend()


async def test_bytes_stay_bytes(server: RedisServer) -> None:
    async with linked(server.url) as (link, _):
        name = link.name(b"\x01\xff", "e")

        assert name == b"hotprefix:{01ff}:e"
        assert await link.ask("SET", name, b"\xff\r\n\0", "PX", 60000, write=True) == b"OK"
        assert await link.ask("GET", name) == b"\xff\r\n\0"
        assert await link.ask("GET", link.name("other", "e")) is None
        assert await link.script("return {1, KEYS[1], ARGV[1]}", [name], [2.5]) == [
            *(1, name, b"2.5")
        ]


async def test_the_turn_of_a_loop_is_one_write(server: RedisServer) -> None:
    """Many commands cost the server no more reads than one."""
    async with linked(server.url) as (link, _):
        await link.ask("PING")
        with server.client() as client:
            before = client.info("stats")["total_reads_processed"]
            await asyncio.gather(*(link.ask("GET", link.name(str(n), "e")) for n in range(100)))
            after = client.info("stats")["total_reads_processed"]

    assert after - before <= 3


async def test_an_error_is_told_to_who_caused_it(server: RedisServer) -> None:
    async with linked(server.url) as (link, _):
        number = link.name("number", "e")
        await link.ask("SET", number, "x", "PX", 60000, write=True)
        replies = await asyncio.gather(
            *(link.ask("GET", number), link.ask("INCR", number), link.ask("LPOP", number)),
            link.ask("GET", number),
            return_exceptions=True,
        )

    assert replies[0] == replies[3] == b"x"
    assert [error.code for error in replies[1:3] if isinstance(error, LinkError)] == [
        *("ERR", "WRONGTYPE")
    ]
    assert str(replies[1]) == "redis: ERR"


async def test_foreign_data_under_our_names_is_no_outage(server: RedisServer) -> None:
    async with linked(server.url) as (link, events):
        name = link.name("list", "e")
        await link.ask("RPUSH", name, "x", write=True)
        for _ in range(20):
            assert await code(link.ask("GET", name)) == "WRONGTYPE"
        await link.ask("DEL", name, write=True)
        assert await link.ask("GET", name) is None
    assert events == []


async def test_who_gives_up_waiting_takes_nobodys_answer(server: RedisServer) -> None:
    """A cancelled command keeps its place in the line (redis-py#2665)."""
    async with linked(server.url) as (link, _):
        names = [link.name(str(number), "e") for number in range(50)]
        for number, name in enumerate(names):
            await link.ask("SET", name, number, "PX", 60000, write=True)
        loop = asyncio.get_running_loop()
        tasks = [loop.create_task(link.ask("GET", name)) for name in names]
        await asyncio.sleep(0)
        for task in tasks[::2]:
            task.cancel()
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        again = await asyncio.gather(*(link.ask("GET", name) for name in names))

    assert answers[1::2] == [str(number).encode() for number in range(1, 50, 2)]
    assert again == [str(number).encode() for number in range(50)]


async def test_a_frozen_server_costs_little_and_answers_nobody_else(own: RedisServer) -> None:
    """Some commands wait for the budget, then none do; after the thaw no late reply is taken for
    another one (litellm#35273)."""
    clock = FakeClock()
    async with linked(own.url, clock=clock) as (link, events):
        for number in range(30):
            await link.ask("SET", link.name(str(number), "e"), number, "PX", 60000, write=True)
        own.freeze()
        waits = []
        for number in range(30):
            start = time.monotonic()
            await code(link.ask("GET", link.name(str(number), "e")))
            waits.append(time.monotonic() - start)
        await link.tend()
        assert not link.working
        own.thaw()
        await until(lambda: link.working, link)
        answers = [await link.ask("GET", link.name(str(number), "e")) for number in range(30)]
        with own.client() as client:  # what was silent is closed
            assert client.info("clients")["connected_clients"] == 2
        await held(link, clock)

    assert max(waits) < BUDGET + 0.3
    assert sum(wait > BUDGET / 2 for wait in waits) == 5
    assert answers == [str(number).encode() for number in range(30)]
    turned = [event for event in events if event.tier == "redis"]
    assert turned == [TierTurned("redis", False, "TimeoutError"), TierTurned("redis", True)]


async def test_it_is_known_for_a_moment_that_somebody_has_waited_in_vain(own: RedisServer) -> None:
    async with linked(own.url) as (link, _):
        await link.ask("PING")
        silent = [link.silent]
        own.freeze()
        assert await code(link.ask("PING")) == "TimeoutError"
        silent.append(link.silent)
        own.thaw()
        await asyncio.sleep(2.5 * BUDGET)

        assert [*silent, link.silent] == [False, True, False]


async def test_who_is_answered_late_gets_nobody_elses_answer(own: RedisServer) -> None:
    """What was under way in a short freeze is over with its connection (redis-py#2665)."""
    async with linked(own.url) as (link, _):
        names = [link.name(str(number), "e") for number in range(4)]
        for number, name in enumerate(names):
            await link.ask("SET", name, number, "PX", 60000, write=True)
        with own.client() as client:
            connections = client.info("stats")["total_connections_received"]
            own.freeze()
            await asyncio.gather(*(code(link.ask("GET", names[0])) for _ in range(20)))
            assert await code(link.ask("GET", names[1])) == "TimeoutError"
            own.thaw()

            assert await link.ask("GET", names[2]) == b"2"
            assert await link.ask("GET", names[3]) == b"3"
            assert client.info("stats")["total_connections_received"] == connections + 2


async def test_it_starts_without_redis_and_finds_it_by_itself(tmp_path: Path) -> None:
    server, clock = RedisServer(tmp_path), FakeClock()
    async with linked(server.url, clock=clock) as (link, events):
        assert await code(link.ask("GET", link.name("a", "e"))) == "ConnectionRefusedError"
        await link.tend()
        assert await code(link.ask("GET", link.name("a", "e"))) == "CircuitOpen"
        with server:
            await until(lambda: link.working, link)
            assert await link.ask("GET", link.name("a", "e")) is None
            await held(link, clock)

    assert [event for event in events if event.tier == "redis"] == [
        TierTurned("redis", False, "ConnectionRefusedError"),
        TierTurned("redis", True),
    ]


async def test_a_restart_is_survived(own: RedisServer) -> None:
    clock = FakeClock()
    async with linked(own.url, clock=clock) as (link, events):
        await link.ask("SET", link.name("a", "e"), 1, "PX", 60000, write=True)
        own.kill()
        for _ in range(1000):
            await code(link.ask("GET", link.name("a", "e")))
        own.start()
        await until(lambda: link.working, link)

        assert await link.ask("GET", link.name("a", "e")) is None
        await held(link, clock)
    assert len([event for event in events if event.tier == "redis"]) == 2


async def test_a_full_redis_is_read_and_not_written(own: RedisServer) -> None:
    """Refused writes open their own circuit, and only theirs (litellm#34299)."""
    clock = FakeClock()
    async with linked(own.url, clock=clock) as (link, events):
        kept = link.name("kept", "e")
        await link.ask("SET", kept, 1, "PX", 60000, write=True)
        with own.client() as client:
            client.config_set("maxmemory", 1)
            codes = [await code(link.ask("SET", kept, 2, write=True)) for _ in range(200)]
            attempts = client.info("commandstats")["cmdstat_set"]
            await link.tend()

            assert codes == ["OOM"] * 5 + ["CircuitOpen"] * 195
            assert attempts["rejected_calls"] == 5
            assert await link.ask("GET", kept) == b"1"
            assert link.working
            client.config_set("maxmemory", 0)
        await link.tend()
        await link.ask("SET", kept, 3, "PX", 60000, write=True)
        assert await link.ask("GET", kept) == b"3"
        await held(link, clock)
    assert events == [TierTurned("redis-writes", False, "OOM"), TierTurned("redis-writes", True)]


async def test_at_the_edge_of_its_memory_an_outage_is_told_once(own: RedisServer) -> None:
    """What fails and works in turn has not recovered until it has worked for a while."""
    clock = FakeClock()
    async with linked(own.url, clock=clock) as (link, events):
        with own.client() as client:
            for _ in range(6):
                client.config_set("maxmemory", 1)
                for _ in range(5):
                    await code(link.ask("SET", link.name("a", "e"), 2, write=True))
                client.config_set("maxmemory", 0)
                for _ in range(4):
                    await link.tend()
                    clock.advance(0.5)
                await link.ask("SET", link.name("a", "e"), 2, "PX", 1000, write=True)
            assert events == [TierTurned("redis-writes", False, "OOM")]
            await held(link, clock)
    assert events[1:] == [TierTurned("redis-writes", True)]


@pytest.mark.parametrize("there", [True, False])
async def test_what_works_from_the_start_is_known_to_once(tmp_path: Path, *, there: bool) -> None:
    """So that it shows in the metrics before anything has changed; no sooner than it is sure."""
    events: list[Event] = []
    server = RedisServer(tmp_path)
    settings = config.Redis(url=server.url, timeout=Timeout(BUDGET))
    link = Link(settings, None, clock=FakeClock(), emit=events.append)
    with server:
        if not there:
            server.kill()
            await code(link.ask("GET", link.name("a", "e")))
        assert events == []
        for _ in range(3):
            await link.tend()
        await link.aclose()

    known = [TierKnown("redis"), TierKnown("redis-writes")]
    assert [event for event in events if isinstance(event, TierKnown)] == (known if there else [])


async def test_a_read_only_server_is_told_from_one_that_is_down(own: RedisServer) -> None:
    async with linked(own.url) as (link, events):
        with own.client() as client:
            client.execute_command("REPLICAOF", "127.0.0.1", 1)
        for _ in range(6):
            await code(link.ask("SET", link.name("a", "e"), 1, write=True))

        assert await link.ask("GET", link.name("a", "e")) is None
    assert events == [TierTurned("redis-writes", False, "READONLY")]


async def test_nobody_waits_longer_than_the_budget_for_a_slow_server(server: RedisServer) -> None:
    """Few connections and a slow server: waiting for one is part of the budget (litellm#40672)."""
    async with Relay(server.port, delay=0.25) as relay:
        url = f"redis://127.0.0.1:{relay.port}"
        async with linked(url, max_connections=2) as (link, _):
            start = time.monotonic()
            waited = []

            async def one(number: int) -> None:
                await code(link.ask("GET", link.name(str(number), "e")))
                waited.append(time.monotonic() - start)

            await asyncio.gather(*(one(number) for number in range(300)))

    assert max(waited) < BUDGET + 0.3


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_busy_loop_is_not_taken_for_a_silent_server(
    server: RedisServer, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """What this process was late for itself may already be there."""

    async def ask() -> None:
        async with linked(server.url, timeout=0.02) as (link, _):
            await link.tend()
            running = asyncio.get_running_loop()
            ours, theirs = socket.socketpair()
            running.add_reader(ours, _dawdle, ours)
            for _ in range(10):
                task = running.create_task(link.ask("GET", b"hotprefix:a"))
                for _ in range(3):
                    await asyncio.sleep(0)
                theirs.send(b"x")  # what the loop turns to next takes long
                assert await task is None
            running.remove_reader(ours)
            ours.close()
            theirs.close()

    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(ask())


def _dawdle(called: socket.socket) -> None:
    called.recv(1)
    time.sleep(0.05)


async def test_passwords_users_and_databases(tmp_path: Path) -> None:
    with RedisServer(tmp_path, password="s@cret") as server, server.client() as client:
        client.execute_command("ACL", "SETUSER", "me", "on", ">mine", "~hot*", "+@all")
        place = f"127.0.0.1:{server.port}"
        async with linked(f"redis://:s%40cret@{place}/5") as (link, _):
            await link.ask("SET", link.name("a", "e"), 1, "PX", 60000, write=True)
        async with linked(f"redis://{place}/5", "mine", username="me") as (link, _):
            assert await link.ask("GET", link.name("a", "e")) == b"1"
        for url, said in ((f"redis://:wrong@{place}", "WRONGPASS"), (f"redis://{place}", "NOAUTH")):
            async with linked(url) as (link, _):
                assert await code(link.ask("GET", link.name("a", "e"))) == said
        assert client.info("keyspace").keys() == {"db5"}


async def test_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "redis.sock"
    with RedisServer(tmp_path, "--unixsocket", str(path)):
        async with linked(f"unix://{path}?db=1") as (link, _):
            assert await link.ask("GET", link.name("a", "e")) is None


async def test_an_encrypted_server_must_be_who_it_says(server: RedisServer, tmp_path: Path) -> None:
    crt, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, key)
    async with Relay(server.port, tls=context) as relay:
        url = f"rediss://127.0.0.1:{relay.port}"
        async with linked(url, ca_file=str(crt), timeout=1.0) as (link, _):
            assert await link.ask("GET", link.name("a", "e")) is None
        async with linked(url, timeout=1.0) as (link, _):
            assert await code(link.ask("GET", link.name("a", "e"))) == "SSLCertVerificationError"


def test_a_file_without_certificates_is_an_error_at_the_start(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("")
    for path in (nothing, tmp_path / "absent.pem"):
        settings = config.Redis(url="rediss://host", ca_file=str(path))
        with pytest.raises(ConfigError, match=r"cache\.redis\.ca_file"):
            Link(settings, None, clock=FakeClock(), emit=print)


async def test_a_closed_link_refuses(server: RedisServer) -> None:
    async with linked(server.url) as (link, _):
        await link.ask("PING")
    assert await code(link.ask("PING")) == "ServerUnknown"


async def test_connections_are_few_until_there_is_much_to_do(server: RedisServer) -> None:
    async with linked(server.url, max_connections=4) as (link, _):
        await link.ask("PING")
        with server.client() as client:
            before = client.info("clients")["connected_clients"]
            for _ in range(20):
                await asyncio.gather(*(link.ask("GET", link.name("a", "e")) for _ in range(10)))
            assert client.info("clients")["connected_clients"] == before
            tasks = []
            for _ in range(20):  # turns of the loop that do not wait for each other
                tasks.append(asyncio.get_running_loop().create_task(link.ask("GET", b"a")))
                await asyncio.sleep(0)
            await asyncio.gather(*tasks, return_exceptions=True)
            assert before < client.info("clients")["connected_clients"] <= before + 3


@pytest.mark.parametrize(
    ("outcomes", "turns"),
    [
        ("----", []),
        ("-----", [True]),
        ("----+----+----", [True]),
        ("--++--++--++--++", []),
        ("++++++++-----", [True]),
        ("-----+----", [True]),
    ],
)
def test_failures_that_outweigh_successes_open_a_circuit(outcomes: str, turns: list[bool]) -> None:
    """A full Redis still runs scripts that write nothing in the end (litellm#34299)."""
    turned: list[bool] = []
    circuit = Circuit(lambda: turned.append(circuit.open))
    for outcome in outcomes:
        if outcome == "-":
            circuit.failed("OOM")
        else:
            circuit.succeeded()

    assert turned == turns


def test_only_a_probe_closes_a_circuit() -> None:
    turns: list[bool] = []
    circuit = Circuit(lambda: turns.append(circuit.open))
    for _ in range(7):
        circuit.failed("TimeoutError")
    for _ in range(9):
        circuit.succeeded()
    circuit.probed("OOM")
    circuit.probed()
    circuit.probed()

    assert turns == [True, False]


async def test_it_looks_after_itself(tmp_path: Path) -> None:
    clock = FakeClock()
    server = RedisServer(tmp_path)
    settings = config.Redis(url=server.url, timeout=Timeout(BUDGET))
    link = Link(settings, None, clock=clock, emit=lambda _: None)
    task = asyncio.get_running_loop().create_task(link.run())
    try:
        async with asyncio.timeout(10):
            while link.working:
                await clock.sleep(0)
            with server:
                while not link.working:
                    clock.advance(0.5)
                    await asyncio.sleep(0.01)
    finally:
        task.cancel()
        await link.aclose()
