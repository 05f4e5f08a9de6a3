"""Several workers of one machine: one port, one disk, one flight, and one dies without harm."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests import answers, sse
from tests.client import Connection, answer, post
from tests.e2e import crowd, fleet
from tests.reply import body, events

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.upstream import Channel

EVENTS = answers.chat_events(["one ", "answer ", "for all"], usage=answers.USAGE)
TEXT = "one answer for all"
REPLACED = 2.0
"""Seconds within which a dead owner's flight is flown by another."""


@pytest.fixture
def gateway(start: Start) -> Gateway:
    """Three workers."""
    return start({"server": {"workers": 3}})


async def spread(gateway: Gateway, upstream: Channel, size: int) -> list[crowd.Member]:
    """Clients waiting at every worker, and the workers following one flight."""
    members = await crowd.gather(gateway, upstream, size)
    await upstream.until(lambda: upstream.calls == 1)
    await crowd.waiting(gateway, upstream, size)
    return members


def of(members: list[crowd.Member], ports: set[int]) -> list[crowd.Member]:
    return [member for member in members if member.connection.port in ports]


async def test_workers_share_one_port(gateway: Gateway, upstream: Channel) -> None:
    assert len(gateway.workers()) == 3
    connections = [await Connection.to(gateway.port) for _ in range(30)]
    for connection in connections:
        await connection.send(crowd.request(upstream, stream=False))
        assert (await answer(connection)).status == 200
    ports = {connection.port for connection in connections}
    served = [bool(ports & gateway.clients(pid)) for pid in gateway.workers()]
    for connection in connections:
        await connection.close()

    assert served == [True] * 3


async def test_a_worker_that_dies_is_replaced(gateway: Gateway, upstream: Channel) -> None:
    killed = gateway.workers()[0]
    os.kill(killed, signal.SIGKILL)
    await upstream.until(lambda: len(gateway.workers()) == 3 and killed not in gateway.workers())
    for i in range(20):
        assert (await post(gateway.port, upstream.key, {**crowd.ASKED, "n": i})).status == 200

    await upstream.until(lambda: "worker_died" in gateway.stdout())
    died = [line for line in gateway.log() if line["event"] == "worker_died"]
    assert [line["pid"] for line in died] == [killed]
    assert gateway.total("hotprefix_worker_deaths_total") == 1


async def test_a_running_stream_ends_in_order_after_sigterm(
    start: Start, upstream: Channel
) -> None:
    gateway = start({"server": {"workers": 2}})
    gate = upstream.gate()
    upstream.default = events([*EVENTS[:2], gate, *EVENTS[2:]])
    async with await Connection.to(gateway.port) as connection:
        await connection.send(crowd.request(upstream, stream=True))
        await connection.head()
        begun = await connection.until(b"one ")
        gateway.signal(signal.SIGTERM)
        await upstream.until(lambda: not gateway.ready())
        gate.open()
        whole = begun + await connection.rest()

    assert sse.text(whole) == TEXT
    assert whole.endswith(b"data: [DONE]\n\n")
    assert gateway.wait() == 0


@pytest.mark.parametrize("length", [10, 1 << 20])
async def test_a_request_that_is_still_arriving_is_answered_after_sigterm(
    start: Start, upstream: Channel, length: int
) -> None:
    """Each restart would cost those that were on their way, and wait for them in vain."""
    gateway = start({"server": {"workers": 2}})
    long = {**crowd.ASKED, "user": "x" * length}
    sent = crowd.request(upstream, stream=False, asked=long)
    async with await Connection.to(gateway.port) as connection:
        await connection.send(sent[:-5])
        await asyncio.sleep(0.3)  # it has arrived
        gateway.signal(signal.SIGTERM)
        await upstream.until(lambda: not gateway.ready())
        await connection.send(sent[-5:])
        got = await answer(connection)

    assert (got.status, upstream.calls) == (200, 1)
    assert gateway.wait() == 0


async def test_an_idle_gateway_ends_at_once(start: Start, upstream: Channel) -> None:
    """Kept connections without a request are no reason to wait."""
    gateway = start({"server": {"workers": 2}})
    async with await Connection.to(gateway.port) as connection:
        await connection.send(crowd.request(upstream, stream=False))
        await answer(connection)
        began = time.monotonic()
        gateway.signal(signal.SIGTERM)
        code = gateway.wait()

    assert code == 0
    assert time.monotonic() - began < 5


async def test_a_stream_that_never_ends_is_cut_after_the_drain_time(
    start: Start, upstream: Channel
) -> None:
    gateway = start({"server": {"drain_timeout": "500ms"}})
    upstream.default = events([*EVENTS[:2], upstream.gate()])
    member = await crowd.join(gateway, upstream, stream=True)
    await upstream.until(lambda: upstream.calls == 1)
    gateway.signal(signal.SIGTERM)
    await crowd.over([member])

    assert not member.got.complete
    assert b"[DONE]" not in member.got.body
    gateway.wait()


async def test_metrics_are_those_of_all_workers(gateway: Gateway, upstream: Channel) -> None:
    for i in range(40):
        await post(gateway.port, upstream.key, {**crowd.ASKED, "seed": i % 10})
    total = "hotprefix_requests_total"
    await upstream.until(lambda: gateway.total(total) == 40, seconds=5)

    for _ in range(12):  # whichever worker answers
        assert gateway.total(total) == 40
        assert gateway.total("hotprefix_workers") == 3
    assert gateway.total(total, cache_status="miss") == 10
    assert gateway.total(total, cache_status="hit") == 30
    assert gateway.total("hotprefix_upstream_requests_total") == upstream.calls == 10


async def test_what_one_worker_stored_all_workers_serve(
    gateway: Gateway, upstream: Channel
) -> None:
    first = await post(gateway.port, upstream.key, crowd.ASKED)
    await upstream.until(lambda: gateway.total("hotprefix_cache_entries", tier="disk") > 0)
    rest = [await post(gateway.port, upstream.key, crowd.ASKED) for _ in range(40)]

    assert {got.body for got in rest} == {first.body}
    assert {got.get("x-cache") for got in rest} == {"HIT"}
    assert {got.get("x-cache-tier") for got in rest} == {"memory", "disk"}
    assert upstream.calls == 1


async def test_another_worker_asked_at_once_does_not_call_upstream_again(
    gateway: Gateway, upstream: Channel
) -> None:
    """Between an answer's last byte and its place on the disk there is no gap to fall through."""
    for i in range(40):
        for _ in range(2):
            await post(gateway.port, upstream.key, {**crowd.ASKED, "seed": i})
        assert upstream.calls == i + 1


@pytest.mark.parametrize("end", ["stop", "kill"])
async def test_a_restart_keeps_the_disk(start: Start, upstream: Channel, end: str) -> None:
    gateway = start({"server": {"workers": 2}})
    first = await post(gateway.port, upstream.key, crowd.ASKED)
    if end == "stop":
        assert gateway.stop() == 0
    else:
        await upstream.until(lambda: gateway.total("hotprefix_cache_entries", tier="disk") > 0)
        gateway.kill()
    gateway.start()
    again = await post(gateway.port, upstream.key, crowd.ASKED)

    assert (again.get("x-cache"), again.get("x-cache-tier")) == ("HIT", "disk")
    assert again.body == first.body


@pytest.mark.parametrize("damage", ["garbage", "empty", "cut", "foreign"])
async def test_a_corrupt_disk_file_is_set_aside(
    start: Start, upstream: Channel, damage: str
) -> None:
    gateway = start({"server": {"workers": 2}})
    for i in range(20):
        await post(gateway.port, upstream.key, {**crowd.ASKED, "seed": i})
    gateway.stop()
    (file,) = gateway.disk.rglob("data.mdb")
    whole = file.read_bytes()
    spoilt = {"garbage": os.urandom(len(whole)), "empty": b"", "cut": whole[:6000]}
    file.write_bytes(spoilt.get(damage, b"SQLite format 3\0" + bytes(8192)))
    before = set(gateway.disk.rglob("*"))
    gateway.start()
    asked = {**crowd.ASKED, "seed": 0}
    miss = await post(gateway.port, upstream.key, asked)
    await upstream.until(lambda: gateway.total("hotprefix_cache_entries", tier="disk") > 0)
    hit = await post(gateway.port, upstream.key, asked)
    gateway.stop()

    assert (miss.get("x-cache"), hit.get("x-cache")) == ("MISS", "HIT")
    if damage != "empty":
        resets = [line for line in gateway.log() if line["event"] == "store_reset"]
        assert len(resets) == 1
        assert any("aside" in path.name for path in set(gateway.disk.rglob("*")) - before)


@pytest.mark.timeout(60)
async def test_200_requests_over_all_workers_are_one_upstream_call(
    gateway: Gateway, upstream: Channel
) -> None:
    gate = upstream.gate()
    upstream.default = crowd.in_both_forms(TEXT, gate)
    members = await spread(gateway, upstream, 200)
    asked = [of(members, gateway.clients(pid)) for pid in gateway.workers()]
    gate.open()
    await crowd.over(members)

    assert all(asked)
    assert upstream.calls == 1
    assert {member.text for member in members} == {TEXT}
    assert all(member.got.complete for member in members)


@pytest.mark.timeout(60)
async def test_followers_read_the_owners_stream_live(gateway: Gateway, upstream: Channel) -> None:
    gate = upstream.gate()
    upstream.default = events([*EVENTS[:2], gate, *EVENTS[2:]])
    connections = [await Connection.to(gateway.port) for _ in range(30)]
    for connection in connections:
        await connection.send(crowd.request(upstream, stream=True))
    begun = []
    for connection in connections:
        await connection.head()
        begun.append(await connection.until(b"one "))
    assert gate.reached
    gate.open()
    whole = [one + await c.rest() for one, c in zip(begun, connections, strict=True)]
    for connection in connections:
        await connection.close()

    assert len(set(whole)) == 1
    assert upstream.calls == 1


@pytest.mark.timeout(60)
async def test_a_long_answer_keeps_its_lease(gateway: Gateway, upstream: Channel) -> None:
    """Longer than a lease's term: the owner renews it."""
    upstream.default = lambda seen: crowd.in_both_forms(TEXT)(seen).but(hold=4.0)
    members = await crowd.gather(gateway, upstream, 30)
    await crowd.over(members)

    assert {member.text for member in members} == {TEXT}
    assert upstream.calls == 1


@pytest.mark.timeout(60)
async def test_a_killed_owner_is_replaced_in_time(gateway: Gateway, upstream: Channel) -> None:
    gate = upstream.gate()
    upstream.reply(body(answers.chat("never"), hold=gate))
    upstream.default = crowd.in_both_forms(TEXT)
    members = await spread(gateway, upstream, 60)
    owner = gateway.owner(upstream.seen[0].peer)
    lost = of(members, gateway.clients(owner))
    others = [member for member in members if member not in lost]
    assert others
    began = time.monotonic()
    os.kill(owner, signal.SIGKILL)
    await crowd.over(others)

    assert time.monotonic() - began < REPLACED
    assert {member.text for member in others} == {TEXT}
    assert upstream.calls == 2
    await crowd.over(lost)


@pytest.mark.timeout(60)
async def test_a_killed_owner_in_mid_stream_is_an_error_for_those_who_read(
    gateway: Gateway, upstream: Channel
) -> None:
    """Bytes of one answer are never continued with those of another."""
    upstream.reply(crowd.in_both_forms("one", upstream.gate()))
    upstream.default = crowd.in_both_forms("another")
    members = await spread(gateway, upstream, 60)
    owner = gateway.owner(upstream.seen[0].peer)
    lost = of(members, gateway.clients(owner))
    others = [member for member in members if member not in lost]
    began = time.monotonic()
    os.kill(owner, signal.SIGKILL)
    await crowd.over(others)

    assert time.monotonic() - began < REPLACED
    for member in others:
        if member.stream and member.got.status == 200:
            assert not (b"one" in member.got.body and b"another" in member.got.body)
            assert (b"[DONE]" in member.got.body) == (b"another" in member.got.body)
    again = await post(gateway.port, upstream.key, crowd.ASKED)
    assert again.json()["choices"][0]["message"]["content"] == "another"
    await crowd.over(lost)


@pytest.mark.timeout(60)
async def test_a_frozen_owner_is_replaced(gateway: Gateway, upstream: Channel) -> None:
    gate = upstream.gate()
    upstream.reply(body(answers.chat("old"), hold=gate))
    upstream.default = crowd.in_both_forms(TEXT)
    members = await spread(gateway, upstream, 60)
    owner = gateway.owner(upstream.seen[0].peer)
    held = of(members, gateway.clients(owner))
    others = [member for member in members if member not in held]
    assert others
    os.kill(owner, signal.SIGSTOP)
    try:
        began = time.monotonic()
        await crowd.over(others)
        seconds = time.monotonic() - began
    finally:
        os.kill(owner, signal.SIGCONT)
    gate.open()
    await crowd.over(held)
    await fleet.stored(gateway, upstream)  # until then its own worker has the old answer at hand

    assert seconds < 2 * REPLACED
    assert {member.text for member in others} == {TEXT}
    assert {member.got.status for member in held} == {200}
    again = await post(gateway.port, upstream.key, crowd.ASKED)
    assert again.json()["choices"][0]["message"]["content"] == TEXT
    assert upstream.calls == 2


def test_an_idle_worker_is_small(gateway: Gateway) -> None:
    assert max(gateway.resident()) < 80_000_000
