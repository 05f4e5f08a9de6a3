"""Many equal requests at once are one upstream call, whoever leaves and whatever breaks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests import answers, sse
from tests.client import Connection, post, spelled
from tests.e2e import crowd
from tests.reply import Reply, body, events

if TYPE_CHECKING:
    from tests.e2e.conftest import Start
    from tests.gateway import Gateway
    from tests.reply import Headers
    from tests.upstream import Channel

EVENTS = answers.chat_events(["one ", "answer ", "for all"], usage=answers.USAGE)
TEXT = "one answer for all"
WHOLE = answers.dumps(answers.chat(TEXT))
PUNCTUAL = {"jitter": 0.0, "early_refresh": 0.0}
"""Nothing is refreshed before its time, which is the same for all."""


@pytest.fixture
def gateway(start: Start) -> Gateway:
    """One of its own, whose count of waiting readers no other test moves."""
    return start()


@pytest.mark.timeout(60)
@pytest.mark.parametrize("first", ["stream", "whole"])
async def test_500_cold_requests_are_one_upstream_call(
    gateway: Gateway, upstream: Channel, first: str
) -> None:
    gate = upstream.gate()
    stream = first == "stream"
    upstream.default = crowd.in_both_forms(TEXT, gate)
    members = [await crowd.join(gateway, upstream, stream)]
    await upstream.until(lambda: gate.reached)
    members += await crowd.gather(gateway, upstream, 499)
    await crowd.waiting(gateway, upstream, 500)
    gate.open()
    await crowd.over(members)

    assert upstream.calls == 1
    assert {member.got.status for member in members} == {200}
    assert {member.text for member in members} == {TEXT}
    assert all(member.got.complete for member in members)
    outcomes = [member.got.get("x-cache") for member in members]
    assert (outcomes.count("MISS"), outcomes.count("COLLAPSED")) == (1, 499)
    for member in members:
        if member.stream:
            assert member.got.body.endswith(b"data: [DONE]\n\n")
            assert all(chunk["choices"] for chunk in sse.chunks(member.got.body))


@pytest.mark.parametrize("stream", [True, False])
async def test_the_first_caller_may_leave(
    gateway: Gateway, upstream: Channel, stream: bool
) -> None:
    gate = upstream.gate()
    upstream.default = crowd.in_both_forms(TEXT, gate)
    first = await Connection.to(gateway.port)
    await first.send(crowd.request(upstream, stream))
    await upstream.until(lambda: gate.reached)
    members = await crowd.gather(gateway, upstream, 10)
    await crowd.waiting(gateway, upstream, 11)
    await first.close()
    await crowd.left(gateway, upstream, 10)
    gate.open()
    await crowd.over(members)

    assert {member.text for member in members} == {TEXT}
    assert (upstream.calls, upstream.left) == (1, 0)


async def test_when_the_last_reader_leaves_the_upstream_call_ends(
    gateway: Gateway, upstream: Channel
) -> None:
    gate = upstream.gate()
    upstream.default = crowd.in_both_forms(TEXT, gate)
    members = await crowd.gather(gateway, upstream, 4)
    await crowd.waiting(gateway, upstream, 4)
    for member in members[1:]:
        member.task.cancel()
    await crowd.left(gateway, upstream, 1)
    assert upstream.left == 0
    members[0].task.cancel()

    await upstream.until(lambda: upstream.left == 1)


async def test_an_abandoned_call_may_be_finished_and_stored(
    start: Start, upstream: Channel
) -> None:
    gateway = start({"cache": {"finish_abandoned": True}})
    gate = upstream.gate()
    upstream.default = events([*EVENTS[:2], gate, *EVENTS[2:]])
    only = await crowd.join(gateway, upstream, stream=True)
    await upstream.until(lambda: gate.reached)
    only.task.cancel()
    await upstream.until(lambda: gateway.total("hotprefix_requests_total") == 1)
    gate.open()
    await upstream.until(lambda: gateway.total("hotprefix_singleflight_flights") == 0)
    again = await post(gateway.port, upstream.key, crowd.ASKED)

    assert again.get("x-cache") == "HIT"
    assert (upstream.calls, upstream.left) == (1, 0)


async def test_an_upstreams_error_reaches_every_reader_once(
    gateway: Gateway, upstream: Channel
) -> None:
    gate = upstream.gate()
    sent = answers.error("slow down", "rate_limit_error")
    mine = ("Set-Cookie", "a=1"), ("x-request-id", "req_first")
    upstream.reply(body(sent, ("Retry-After", "3"), *mine, status=429, hold=gate))
    members = await crowd.gather(gateway, upstream, 50)
    await crowd.waiting(gateway, upstream, 50)
    gate.open()
    await crowd.over(members)

    assert upstream.calls == 1
    assert {(member.got.status, member.got.body) for member in members} == {(429, sent)}
    assert {member.got.get("retry-after") for member in members} == {"3"}
    assert len({member.got.get("x-request-id") for member in members}) == 50
    assert [member.got.get("set-cookie") for member in members].count("a=1") <= 1
    assert (await post(gateway.port, upstream.key, crowd.ASKED)).status == 200
    assert upstream.calls == 2


async def test_a_cut_reaches_whoever_has_begun_to_read_and_is_not_kept(
    gateway: Gateway, upstream: Channel
) -> None:
    """Those who wait for JSON have been sent nothing: they share one more call."""
    gate = upstream.gate()
    upstream.reply(events([*EVENTS[:2], gate], ending="rst"), body(WHOLE))
    members = [await crowd.join(gateway, upstream, stream=True)]
    await upstream.until(lambda: gate.reached)
    members += await crowd.gather(gateway, upstream, 20)
    await crowd.waiting(gateway, upstream, 21)
    gate.open()
    await crowd.over(members)

    for member in members:
        if member.stream:
            assert not member.got.complete
            assert b"[DONE]" not in member.got.body
            assert "error" in json.loads(sse.parse(member.got.body)[-1].data)
        else:
            assert (member.got.status, member.got.body) == (200, WHOLE)
    assert upstream.calls == 2
    assert (await post(gateway.port, upstream.key, crowd.ASKED)).body == WHOLE


async def test_who_joins_late_gets_the_whole_at_once(gateway: Gateway, upstream: Channel) -> None:
    gates = upstream.gate(), upstream.gate()
    upstream.default = events([*EVENTS[:2], gates[0], EVENTS[2], gates[1], *EVENTS[3:]])
    first = await crowd.join(gateway, upstream, stream=True)
    await upstream.until(lambda: gates[0].reached)
    gates[0].open()
    await upstream.until(lambda: gates[1].reached)
    async with await Connection.to(gateway.port) as late:
        await late.send(crowd.request(upstream, stream=True))
        assert (await late.head()).get("x-cache") == "COLLAPSED"
        begun = await late.until(b"answer ")
        gates[1].open()
        whole = begun + await late.rest()
    await crowd.over([first])

    assert whole == first.got.body
    assert upstream.calls == 1


async def test_readers_of_one_flight_differ_in_what_they_asked_for(
    gateway: Gateway, upstream: Channel
) -> None:
    """One wants usage in its stream, one does not, one wants no stream at all."""
    gate = upstream.gate()
    upstream.default = events([EVENTS[0], gate, *EVENTS[1:]])
    plain = await crowd.join(gateway, upstream, stream=True)
    await upstream.until(lambda: gate.reached)
    whole = await crowd.join(gateway, upstream, stream=False)
    async with await Connection.to(gateway.port) as wanting:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        asked = json.dumps({**crowd.ASKED, **options}).encode()
        given = [("Authorization", f"Bearer {upstream.key}"), ("Content-Type", "application/json")]
        head = spelled("POST", "/v1/chat/completions", given, asked)
        await wanting.send(head)
        await crowd.waiting(gateway, upstream, 3)
        gate.open()
        await wanting.head()
        with_usage = await wanting.rest()
    await crowd.over([plain, whole])

    assert with_usage == b"".join(EVENTS)
    assert all(chunk["choices"] for chunk in sse.chunks(plain.got.body))
    assert whole.got.json()["usage"] == answers.USAGE
    assert whole.text == plain.text == TEXT
    assert upstream.calls == 1


BYPASSES: dict[str, Headers] = {
    "off": (("x-cache", "off"),),
    "no-store": (("Cache-Control", "no-store"),),
}


@pytest.mark.parametrize("name", BYPASSES)
async def test_bypasses_never_join(gateway: Gateway, upstream: Channel, name: str) -> None:
    gate = upstream.gate()
    upstream.default = lambda seen: body(answers.chat(f"#{seen.number}"), hold=gate)
    plain = await crowd.join(gateway, upstream, stream=False)
    await upstream.until(lambda: gate.reached)
    members = await crowd.gather(gateway, upstream, 6, BYPASSES[name])
    await upstream.until(lambda: upstream.calls == 7)
    gate.open()
    await crowd.over([plain, *members])

    assert plain.text == "#1"
    assert {member.got.json()["choices"][0]["message"]["content"] for member in members} == {
        f"#{i}" for i in range(2, 8)
    }
    assert {member.got.get("x-cache") for member in members} == {"BYPASS"}


async def test_a_regenerating_request_does_not_join_an_older_flight(
    gateway: Gateway, upstream: Channel
) -> None:
    gate = upstream.gate()
    upstream.reply(body(answers.chat("old"), hold=gate))
    old = await crowd.join(gateway, upstream, stream=False)
    await upstream.until(lambda: gate.reached)
    new = await post(gateway.port, upstream.key, crowd.ASKED, ("Cache-Control", "no-cache"))
    gate.open()
    await crowd.over([old])
    after = await post(gateway.port, upstream.key, crowd.ASKED)

    assert new.get("x-cache") == "REFRESH"
    assert new.json()["choices"][0]["message"]["content"] == "#2"
    assert old.text == "old"
    assert after.body == new.body
    assert upstream.calls == 2


@pytest.mark.parametrize("slow", [False, True])
async def test_a_stale_answer_is_refreshed_once(
    start: Start, upstream: Channel, slow: bool
) -> None:
    gateway = start({"cache": {"ttl": "500ms", "stale_while_revalidate": "1m", **PUNCTUAL}})
    await post(gateway.port, upstream.key, crowd.ASKED)
    gate = upstream.gate()
    upstream.reply(body(answers.chat("#2"), hold=gate))
    if not slow:
        gate.open()
    while (await post(gateway.port, upstream.key, crowd.ASKED)).get("x-cache") != "STALE":
        pass
    together = await crowd.gather(gateway, upstream, 10)
    await crowd.over(together)
    gate.open()
    await upstream.until(lambda: upstream.calls > 1)

    assert {member.text for member in together} <= {"#1", "#2"}
    assert upstream.calls == 2


async def test_when_the_upstream_fails_what_is_stored_is_served(
    start: Start, upstream: Channel
) -> None:
    cache = {"ttl": "300ms", "stale_while_revalidate": 0, "stale_if_error": "1m", **PUNCTUAL}
    gateway = start({"cache": cache})
    await post(gateway.port, upstream.key, crowd.ASKED)
    failing = body(answers.error("down"), status=503)
    upstream.default = failing
    got = await post(gateway.port, upstream.key, crowd.ASKED)
    while got.get("x-cache") != "STALE":
        assert got.status == 200
        got = await post(gateway.port, upstream.key, crowd.ASKED)
    assert got.json()["choices"][0]["message"]["content"] == "#1"
    assert "fwd-status=503" in (got.get("cache-status") or "")

    upstream.default = Reply(silent=True, ending="rst")
    assert (await post(gateway.port, upstream.key, crowd.ASKED)).get("x-cache") == "STALE"
