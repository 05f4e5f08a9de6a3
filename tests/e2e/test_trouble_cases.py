"""What public bug reports tell of gateways whose upstream is in trouble; each names its case."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

import pytest

from tests import answers
from tests.client import post
from tests.e2e.checks.outcomes import prompt
from tests.engine import Running
from tests.gateway import ROOT, free_port, toml
from tests.reply import Reply, body, numbered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.answers import Json
    from tests.client import Got
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway, Settings
    from tests.upstream import Channel

pytestmark = pytest.mark.timeout(60)
FAILING: Final = body(answers.error("no", "server_error"), status=500)
OPEN_FOR: Final = 1.0
BREAKER: Settings = {"min_calls": 5, "open_for": OPEN_FOR}
NEVER_OPENS: Settings = {"min_calls": 1_000_000}


def asked(text: str) -> Json:
    return {"model": "m-small", "messages": [{"role": "user", "content": text}], "temperature": 0}


async def chat(gateway: Gateway, key: str, text: str, *headers: tuple[str, str]) -> Got:
    return await post(gateway.port, key, asked(text), *headers)


async def flood(gateway: Gateway, key: str, name: str, size: int) -> list[Got]:
    return await asyncio.gather(*[chat(gateway, key, f"{name} {n}") for n in range(size)])


def shed(got: Got) -> bool:
    return (
        got.status == 503 and got.get("retry-after") is not None and got.get("x-cache") == "ERROR"
    )


async def opened(start: Start, upstream: Channel, **settings: object) -> Gateway:
    """A gateway that leaves its upstream alone, since it failed."""
    gateway = await asyncio.to_thread(start, {"breaker": BREAKER, **settings})
    assert (await chat(gateway, upstream.key, "known")).status == 200
    upstream.default = FAILING
    for number in range(6):
        await chat(gateway, upstream.key, f"trouble {number}")
    assert shed(await chat(gateway, upstream.key, "trouble"))
    return gateway


async def test_the_one_that_recovers_is_tried_by_one(start: Start, upstream: Channel) -> None:
    """br-halfopen-flood."""
    gateway = await opened(start, upstream)
    upstream.default = FAILING.but(hold=0.5)
    await asyncio.sleep(OPEN_FOR + 0.2)
    before = upstream.calls
    got = await flood(gateway, upstream.key, "flood", 100)

    assert upstream.calls == before + 1
    assert sorted({one.status for one in got}) == [500, 503]
    assert sum(shed(one) for one in got) == 99
    assert shed(await chat(gateway, upstream.key, "open again"))


async def test_one_failure_on_trial_is_enough(start: Start, upstream: Channel) -> None:
    """br-halfopen-failure: however few calls the trial had."""
    gateway = await opened(start, upstream)
    await asyncio.sleep(OPEN_FOR + 0.2)
    before = upstream.calls
    fail = await chat(gateway, upstream.key, "fail")
    upstream.default = numbered
    after = [await chat(gateway, upstream.key, "ok") for _ in range(3)]

    assert fail.status == 500
    assert [shed(one) for one in after] == [True] * 3
    assert upstream.calls == before + 1
    await asyncio.sleep(OPEN_FOR + 0.2)
    assert (await chat(gateway, upstream.key, "ok")).status == 200


@pytest.mark.parametrize(
    "settings",
    [
        {"breaker": {"failure_ratio": 0.0}},
        {"breaker": {"open_for": "-1s"}},
        {"cache": {"jitter": 2.0}},
        {"overload": {"max_attempts": 0}},
    ],
    ids=lambda one: ".".join(f"{table}.{name}" for table in one for name in one[table]),
)
def test_settings_that_could_never_recover_are_refused(tmp_path: Path, settings: Settings) -> None:
    """br-config-zero. There is always one probe, so that number is no setting."""
    file = tmp_path / "gateway.toml"
    node = {"name": "mock", "url": "http://127.0.0.1:9/v1"}
    file.write_text(toml({"server": {"port": free_port()}, "upstream": [node], **settings}))
    command = [sys.executable, "-m", "proxy", "serve", "--config", str(file)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=30, check=False)

    table, names = next(iter(settings.items()))
    assert ended.returncode != 0
    assert f"{table}.{next(iter(names))}" in ended.stderr.decode()


async def test_what_is_known_is_served_while_the_upstream_is_left_alone(
    start: Start, upstream: Channel
) -> None:
    """br-open-still-hits."""
    gateway = await opened(start, upstream)
    before = upstream.calls
    known = await chat(gateway, upstream.key, "known")
    unknown = await chat(gateway, upstream.key, "unknown")
    anew = await chat(gateway, upstream.key, "known", ("Cache-Control", "no-cache"))

    assert (known.status, known.get("x-cache")) == (200, "HIT")
    assert shed(unknown)
    assert shed(anew)
    assert upstream.calls == before


def nodes(upstream: Channel, size: int, **more: object) -> list[Settings]:
    return [{"name": f"b{n}", "url": upstream.url, **more} for n in range(1, size + 1)]


@pytest.mark.parametrize("status", [429, 500])
async def test_attempts_are_bounded_for_one_request_and_for_all(
    start: Start, upstream: Channel, status: int
) -> None:
    """br-retry-product: at most `max_attempts` calls, and second ones are a share of all."""
    settings = {"upstream": nodes(upstream, 6), "breaker": NEVER_OPENS}
    gateway = await asyncio.to_thread(start, settings)
    upstream.default = body(answers.error("no"), status=status)
    first = await chat(gateway, upstream.key, "always")
    assert (first.status, upstream.calls) == (status, 3)
    got = [await chat(gateway, upstream.key, f"always {number}") for number in range(100)]

    assert {one.status for one in got} == {status}
    # A fifth of the requests, and ten more in any ten seconds.
    assert upstream.calls <= 101 * 1.2 + 10 + 2
    assert gateway.total("hotprefix_retries_total", allowed="no") > 0


@pytest.mark.parametrize("status", [429, 503])
async def test_an_upstream_that_fails_is_asked_for_a_key_once_in_a_while(
    start: Start, upstream: Channel, status: int
) -> None:
    """br-stale-backoff: 5 s for a key that is served stale."""
    cache = {"jitter": 0.0, "stale_while_revalidate": "0s"}
    gateway = await asyncio.to_thread(start, {"cache": cache, "breaker": NEVER_OPENS})
    ttl = ("x-cache-ttl", "1")
    assert (await chat(gateway, upstream.key, "st", ttl)).status == 200
    await asyncio.sleep(1.2)
    upstream.default = body(answers.error("no"), status=status)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    got = [await chat(gateway, upstream.key, "st", ttl) for _ in range(200)]
    most = 1 + (loop.time() - begun) // 5

    assert {(one.status, one.get("x-cache")) for one in got} == {(200, "STALE")}
    assert 1 <= upstream.calls - 1 <= most


class Closing:
    """An upstream that ends a connection when a second request comes over it."""

    def __init__(self, *, reads: bool) -> None:
        """`reads`: not before it has read the whole of it."""
        self.reads = reads
        self.connections = self.answered = self.unanswered = 0
        self.port = 0
        self._open: set[asyncio.StreamWriter] = set()
        self._over = asyncio.Event()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            await self._read(reader)
            self.answered += 1
            said = answers.dumps(answers.chat("fine"))
            head = (
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            )
            writer.write(head % len(said) + said)
            await writer.drain()
            if self.reads:
                await self._read(reader)
            else:
                await reader.readexactly(1)
            self.unanswered += 1
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the gateway left
        finally:
            self._open.discard(writer)
            writer.close()
            if not self._open:
                self._over.set()

    async def over(self) -> None:
        """Ends what is open."""
        self._over.clear()
        for writer in self._open:
            writer.transport.abort()
        if self._open:
            await self._over.wait()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        await reader.readexactly(int(head.split(b"content-length:")[1].split(b"\r\n")[0]))


@asynccontextmanager
async def closing(*, reads: bool) -> AsyncIterator[Closing]:
    upstream = Closing(reads=reads)
    server = await asyncio.start_server(upstream.connected, "127.0.0.1", 0)
    async with server:
        upstream.port = server.sockets[0].getsockname()[1]
        try:
            yield upstream
        finally:
            await upstream.over()


@pytest.mark.parametrize("reads", [False, True], ids=["idle", "read"])
async def test_a_connection_that_is_closed_as_it_is_used_again_costs_no_answer(
    start: Start, reads: bool
) -> None:
    """br-no-double-post: one more call on a new connection, counted, and never a third."""
    async with closing(reads=reads) as upstream:
        node = {"name": "b1", "url": f"http://127.0.0.1:{upstream.port}/v1"}
        gateway = await asyncio.to_thread(start, {"upstream": [node]})
        got = [await chat(gateway, "key", f"kp {number}") for number in range(20)]

        assert [one.status for one in got] == [200] * 20
        assert (upstream.answered, upstream.connections) == (20, 20)
        assert upstream.unanswered == 19
        retried = gateway.total("hotprefix_retries_total", allowed="yes")
        assert retried == 19


async def test_a_call_is_repeated_on_a_new_connection_however_many_are_idle(start: Start) -> None:
    """br-no-double-post: where one idle connection was closed, the others are likely closed too."""
    async with closing(reads=False) as upstream:
        node = {"name": "b1", "url": f"http://127.0.0.1:{upstream.port}/v1"}
        gateway = await asyncio.to_thread(start, {"upstream": [node]})
        first = await flood(gateway, "key", "at once", 8)
        got = [await chat(gateway, "key", f"kp {number}") for number in range(8)]

        assert [one.status for one in (*first, *got)] == [200] * 16


async def test_a_new_connection_that_is_closed_without_an_answer_is_not_repeated(
    start: Start, upstream: Channel
) -> None:
    """br-no-double-post, the other variant: the request was read, and may have been answered."""
    settings = {"upstream": nodes(upstream, 1), "breaker": NEVER_OPENS}
    gateway = await asyncio.to_thread(start, settings)
    upstream.default = Reply(silent=True, ending="fin")
    got = [await chat(gateway, upstream.key, f"kp {number}") for number in range(5)]

    assert [one.status for one in got] == [502] * 5
    assert upstream.calls == 5


@pytest.mark.parametrize("probe", ["", "auto"])
async def test_a_node_that_never_answers_holds_up_no_others(
    start: Start, upstream: Channel, probe: str
) -> None:
    """rt-hung-backend. Whom it met is told so in time, and then it is left alone; where nodes are
    probed, nobody has to be told."""
    hung: set[asyncio.StreamWriter] = set()

    async def never(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hung.add(writer)
        await reader.read()

    server = await asyncio.start_server(never, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    url, wait = f"http://127.0.0.1:{port}/v1", "20s" if probe else "2s"
    silent = {"name": "b1", "url": url, "first_byte_timeout": wait, "probe": probe}
    settings = {"upstream": [silent, *nodes(upstream, 3)[1:]], "breaker": {"min_calls": 5}}
    gateway = await asyncio.to_thread(start, settings)
    loop, begun = asyncio.get_running_loop(), 0.0
    took: dict[int, list[float]] = {200: [], 504: []}

    async def timed(number: int) -> None:
        got = await chat(gateway, upstream.key, f"h {number}")
        took[got.status].append(loop.time() - begun)

    begun = loop.time()
    await asyncio.gather(*[timed(number) for number in range(60)])
    after = await flood(gateway, upstream.key, "after", 20)
    server.close()
    for writer in hung:
        writer.close()

    if probe:
        assert not took[504]
        assert max(took[200]) < 8.0
    else:
        assert len(took[200]) >= 25  # two thirds, by chance
        assert max(took[200]) < 2.0 <= min(took[504])
        assert max(took[504]) < 8.0
    assert [one.status for one in after] == [200] * 20
    assert upstream.calls == len(took[200]) + 20


async def test_where_all_probes_fail_the_nodes_are_asked_all_the_same(
    start: Start, upstream: Channel
) -> None:
    """az-all-unhealthy: still tried, and what is stored is served."""
    with Running("--unwell") as one, Running("--unwell") as two:
        there = [{"name": f"b{at}", "url": each.url} for at, each in enumerate((one, two))]
        gateway = await asyncio.to_thread(start, {"upstream": there})
        before = await chat(gateway, upstream.key, "cached before")
        await upstream.until(lambda: sum(one["event"] == "node" for one in gateway.log()) == 2)
        got = [await chat(gateway, upstream.key, f"p {number}") for number in range(20)]
        cached = await chat(gateway, upstream.key, "cached before")
        calls = one.stats()["calls"] + two.stats()["calls"]

    assert {one.status for one in (before, *got)} == {200}
    assert cached.get("x-cache") == "HIT"
    assert calls == 21


async def test_the_next_node_is_sent_its_own_credential(start: Start, upstream: Channel) -> None:
    """az-target-model-name, as far as it goes: the model's name is the same for all nodes."""
    down = {"name": "a", "url": f"http://127.0.0.1:{free_port()}/v1", "key_env": "A_KEY"}
    settings = {"upstream": [down, *nodes(upstream, 1, key_env="B_KEY")]}
    env = {"A_KEY": "secret-of-a", "B_KEY": upstream.key}
    gateway = await asyncio.to_thread(start, settings, env)
    got = [await chat(gateway, "client", f"n {number}") for number in range(3)]

    assert [one.status for one in got] == [200] * 3
    assert [prompt(seen) for seen in upstream.seen] == ["n 0", "n 1", "n 2"]
    assert {seen.get("authorization") for seen in upstream.seen} == {f"Bearer {upstream.key}"}
    assert not any("secret-of-a" in f"{seen.headers}" for seen in upstream.seen)
