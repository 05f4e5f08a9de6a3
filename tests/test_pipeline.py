"""The path: what each request gets, where from, and what is kept of it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from proxy.core import wire
from proxy.core.errors import RefusedError
from proxy.core.events import TierFailed
from proxy.core.receive import raw_key
from tests import answers
from tests.asking import K2, RULES, arrival, chat, configured
from tests.fakes import JSON, Answer, BrokenStore, FakeStore, settle
from tests.staged import (
    METERED,
    STREAM,
    TTL,
    Got,
    Stage,
    broken,
    failed,
    said,
    streamed,
    streaming,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.entry import Key, Stored

GRACE = TTL + 30.0
LAST = TTL + 300.0
"""Seconds after which an answer is served only instead of an error."""

NO_CACHE = ("cache-control", "no-cache")


async def test_asked_twice_it_is_answered_once_by_the_upstream() -> None:
    stage = Stage(said("hi"))
    first = await stage.ask()
    await settle()
    second = await stage.ask()

    assert (first.outcome, second.outcome) == ("MISS", "HIT")
    assert await first.body() == await second.body()
    assert stage.calls == 1


async def test_a_hit_says_where_it_was_found_and_how_old_it_is() -> None:
    stage = Stage(said())
    await stage.ask()
    await settle()
    stage.clock.advance(100.0)
    told = dict((await stage.ask()).head.headers)

    assert told["age"] == "100"
    assert told["cache-status"] == "hotprefix; hit; ttl=3500; detail=tier0"
    assert told["x-cache-kind"] == "exact"


async def test_another_spelling_of_the_same_question_is_a_normalized_hit() -> None:
    stage = Stage(said())
    await stage.ask(chat("two  blanks"))
    await settle()
    got = await stage.ask(chat(" two blanks "))

    assert got.outcome == "HIT"
    assert got.head.get("x-cache-kind") == "normalized"


async def test_no_client_sees_another_ones_answer() -> None:
    stage = Stage(said("first"), said("second"))
    await stage.ask()
    await settle()
    got = await stage.ask(None, K2)

    assert got.outcome == "MISS"
    assert await got.text() == "second"


@pytest.mark.parametrize("form", ["json", "events"])
async def test_the_crowd_shares_one_call(form: str) -> None:
    door = asyncio.Event()
    stage = Stage(said(door=door) if form == "json" else streaming(door=door))
    body = chat() if form == "json" else STREAM
    asking = [stage.asking(body) for _ in range(50)]
    await settle()
    door.set()
    got = [await asked for asked in asking]
    bodies = {await one.body() for one in got}

    await settle()
    told = Counter(type(event).__name__ for event in stage.events)

    assert [one.outcome for one in got] == ["MISS"] + ["COLLAPSED"] * 49
    assert len(bodies) == 1
    assert stage.calls == 1
    assert told["FlightJoined"] == told["FlightLeft"] == 50


async def test_who_joins_another_ones_call_does_not_see_what_is_that_ones_alone() -> None:
    door = asyncio.Event()
    answer = said("hi", ("set-cookie", "a=1"), ("x-request-id", "req_up"), door=door)
    stage = Stage(answer)
    asking = [stage.asking(), stage.asking()]
    await settle()
    door.set()
    first, second = [await asked for asked in asking]

    assert first.head.get("set-cookie") == "a=1"
    assert second.head.get("set-cookie") is None
    assert second.head.get("x-request-id") == "req_1"


async def test_the_first_clients_leaving_changes_nothing_for_the_others() -> None:
    door = asyncio.Event()
    stage = Stage(said(door=door))
    first, second = stage.asking(), stage.asking()
    await settle()
    first.cancel()
    await settle()
    door.set()

    assert await (await second).text() == "hi"
    assert stage.calls == 1


@pytest.mark.parametrize("body", [chat(), STREAM])
async def test_the_last_clients_leaving_ends_the_call(body: dict[str, Any]) -> None:
    stage = Stage(said(door=asyncio.Event()))
    asking = stage.asking(body)
    await settle()
    assert stage.upstream.answering == 1
    asking.cancel()
    await settle()

    assert (stage.upstream.answering, stage.node.running) == (0, 0)


async def test_a_client_that_leaves_in_the_middle_of_a_stream_ends_the_call() -> None:
    stage = Stage(streaming((b"data: 1\n\n", asyncio.Event())))
    got = await stage.ask(STREAM)
    await got.chunk()
    await got.close()
    await settle()

    assert stage.upstream.answering == 0
    assert not stage.store.data


async def test_a_byte_is_on_its_way_before_the_next_one_arrives() -> None:
    gate = asyncio.Event()
    first, *rest = answers.chat_events(["a"])
    stage = Stage(streaming((first, gate, *rest)))
    got = await stage.ask(STREAM)

    assert await got.chunk() == first
    gate.set()
    assert await got.body() == b"".join(rest)


async def test_a_stale_answer_is_served_and_refreshed_once_behind() -> None:
    stage = Stage(said("old"), said("new"))
    await stage.ask()
    await settle()
    stage.clock.advance(GRACE)
    stale = [await stage.ask(), await stage.ask()]
    await settle()
    fresh = await stage.ask()

    assert [one.outcome for one in stale] == ["STALE", "STALE"]
    assert await stale[0].text() == "old"
    assert (fresh.outcome, await fresh.text()) == ("HIT", "new")
    assert stage.calls == 2


async def test_a_refresh_that_fails_leaves_the_stale_answer() -> None:
    stage = Stage(said("old"), broken("connect"))
    await stage.ask()
    await settle()
    stage.clock.advance(GRACE)
    await stage.ask()
    await settle()

    assert (await stage.ask()).outcome == "STALE"


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (broken("connect"), "fwd=stale; ttl="),
        (broken("timeout"), "fwd=stale; ttl="),
        (failed(429), "fwd=stale; fwd-status=429; ttl="),
        (failed(500), "fwd=stale; fwd-status=500; ttl="),
        (failed(503), "fwd=stale; fwd-status=503; ttl="),
        (Answer((b'{"half', broken())), "fwd=stale; ttl="),
    ],
    ids=["connect", "timeout", "429", "500", "503", "cut"],
)
async def test_an_old_answer_is_better_than_none(trouble: Any, told: str) -> None:
    """RFC 5861 §4."""
    stage = Stage(said("old"), trouble)
    await stage.ask()
    await settle()
    stage.clock.advance(LAST)
    got = await stage.ask()

    assert (got.outcome, await got.text()) == ("STALE", "old")
    assert told in str(got.head.get("cache-status"))
    assert stage.calls == 2


async def test_an_old_answer_does_not_hide_that_the_request_is_wrong_now() -> None:
    stage = Stage(said("old"), failed(400))
    await stage.ask()
    await settle()
    stage.clock.advance(LAST)

    assert (await stage.ask()).status == 400


async def test_an_answer_past_its_last_use_is_served_to_nobody() -> None:
    stage = Stage(said("old"), broken("connect"))
    await stage.ask()
    await settle()
    stage.clock.advance(TTL + 661.0)

    with pytest.raises(RefusedError) as refused:
        await stage.ask()
    assert refused.value.status == 502


@pytest.mark.parametrize(("kind", "status"), [("connect", 502), ("cut", 502), ("timeout", 504)])
async def test_an_upstream_that_gives_no_answer(kind: str, status: int) -> None:
    stage = Stage(broken(kind), said("well again"))
    with pytest.raises(RefusedError) as refused:
        await stage.ask()

    assert refused.value.status == status
    assert await (await stage.ask()).text() == "well again"


async def beside(stage: Stage, door: asyncio.Event, size: int) -> list[Got | BaseException]:
    """What becomes of so many equal requests that came before the first one's answer."""
    asking = []
    for _ in range(size):
        asking.append(stage.asking())
        await settle()
    door.set()
    return await asyncio.gather(*asking, return_exceptions=True)


@pytest.mark.parametrize("kind", ["cut", "frozen", "protocol"])
async def test_who_waited_beside_an_answer_that_broke_off_is_given_the_next(kind: str) -> None:
    """Without the cache each would have asked for itself; here all others share one more call."""
    door = asyncio.Event()
    stage = Stage(Answer((b'{"half', broken(kind)), door=door), said("whole"))
    first, *rest = await beside(stage, door, 4)

    assert isinstance(first, RefusedError)
    assert [await got.text() for got in rest if isinstance(got, Got)] == ["whole"] * 3
    assert stage.calls == 2


async def test_answers_that_break_off_are_not_waited_for_again_and_again() -> None:
    door = asyncio.Event()
    stage = Stage(*[Answer((b'{"half', broken()), door=door)] * 2, said("too late"))
    got = await beside(stage, door, 4)

    assert [isinstance(one, RefusedError) and one.status for one in got] == [502] * 4
    assert stage.calls == 2


async def test_nobody_asks_again_because_another_was_refused_a_connection() -> None:
    """The nodes have been tried: each more call would be tried in vain."""
    stage = Stage(broken("connect"), said("too late"))
    got = await asyncio.gather(*[stage.asking() for _ in range(4)], return_exceptions=True)

    assert [isinstance(one, RefusedError) and one.status for one in got] == [502] * 4
    assert stage.calls == 1


@pytest.mark.parametrize("status", [401, 403, 408, 409, 429, 500, 503])
async def test_an_upstreams_error_is_passed_on_and_not_kept(status: int) -> None:
    stage = Stage(failed(status, ("retry-after", "3")), said())
    got = await stage.ask()
    await settle()

    assert (got.status, got.head.get("retry-after")) == (status, "3")
    assert not stage.store.data
    assert (await stage.ask()).outcome == "MISS"


async def test_an_error_reaches_all_who_wait_with_when_to_come_again() -> None:
    door = asyncio.Event()
    answer = Answer(
        (answers.error("no"),),
        429,
        (("content-type", "application/json"), ("retry-after", "3")),
        door,
    )
    stage = Stage(answer)
    asking = [stage.asking() for _ in range(3)]
    await settle()
    door.set()
    got = [await asked for asked in asking]

    assert [(one.status, one.head.get("retry-after")) for one in got] == [(429, "3")] * 3
    assert stage.calls == 1


async def test_a_clients_mistake_is_remembered_for_a_moment() -> None:
    stage = Stage(failed(400), said())
    await stage.ask()
    await settle()
    again = await stage.ask()
    stage.clock.advance(11.0)

    assert (again.outcome, again.status) == ("HIT", 400)
    assert (await stage.ask()).status == 200


async def test_a_mistake_in_a_member_that_is_not_in_the_key_is_only_its_own_askers() -> None:
    """Two spellings of one question; only one of them is valid."""
    stage = Stage(failed(400), said("valid"))
    wrong = await stage.ask(chat(prompt_cache_options={"ttl": "never"}))
    await settle()
    right = await stage.ask(chat())

    assert wrong.status == 400
    assert (right.status, await right.text()) == (200, "valid")


@pytest.mark.parametrize(
    "elsewhere",
    [
        '[cache]\nnamespace = "b"\n',
        '[[model]]\nname = "m"\ntarget = "n"\n',
        '[[model]]\nname = "m"\nmodel_version = "2"\n',
    ],
    ids=["namespace", "alias", "version"],
)
async def test_a_refusal_is_none_where_the_same_bytes_ask_for_something_else(
    elsewhere: str,
) -> None:
    """Two gateways share a store, or one was started anew: what a request stands for is a matter
    of the configuration, and the bytes of it are not."""
    store = FakeStore()
    here = Stage(failed(404), stores=[store])
    there = Stage(said("valid"), rules=configured(elsewhere), stores=[store])
    refused = await here.ask()
    await settle()

    assert (refused.status, (await here.ask()).outcome) == (404, "HIT")
    assert await (await there.ask()).text() == "valid"


async def test_who_waited_for_another_spelling_that_was_refused_asks_for_itself() -> None:
    door = asyncio.Event()
    refused = Answer((answers.error("no"),), 400, JSON, door)
    stage = Stage(refused, said("valid"))
    first, second = stage.asking(chat(user=1)), stage.asking(chat())
    await settle()
    door.set()

    assert (await first).status == 400
    assert (await (await second).text()) == "valid"
    assert (await second).outcome == "BYPASS"


async def test_who_waited_for_its_own_spelling_is_refused_with_it() -> None:
    door = asyncio.Event()
    stage = Stage(Answer((answers.error("no"),), 400, JSON, door))
    asking = [stage.asking(), stage.asking()]
    await settle()
    door.set()

    assert [(await asked).status for asked in asking] == [400, 400]
    assert stage.calls == 1


async def test_a_stream_without_usage_is_no_answer_for_who_wants_it() -> None:
    """Where the node is not asked for usage unless its client wants it."""
    stage = Stage(streaming(answers.chat_events(["hi"])), streaming())
    stage.node.ask_usage = False
    await (await stage.ask(STREAM)).body()
    await settle()
    metered = await stage.ask(METERED)
    await metered.body()
    await settle()

    assert metered.outcome == "MISS"
    assert [(await stage.ask(body)).outcome for body in (STREAM, METERED)] == ["HIT", "HIT"]


async def test_a_stored_answer_without_the_other_form_is_asked_for_alone() -> None:
    odd = answers.chat("hi") | {"vast": 12345678901234567890123}
    stage = Stage(Answer((json.dumps(odd).encode(),), headers=JSON), streaming())
    await stage.ask()
    await settle()
    got = await stage.ask(STREAM)

    assert (got.outcome, got.head.get("content-type")) == ("BYPASS", "text/event-stream")
    assert await got.body() == b"".join(streamed())
    assert (await stage.ask()).outcome == "HIT"


async def test_no_cache_asks_anew_and_overwrites() -> None:
    stage = Stage(said("old"), said("new"))
    await stage.ask()
    await settle()
    got = await stage.ask(None, NO_CACHE)
    await settle()

    assert (got.outcome, await got.text()) == ("REFRESH", "new")
    assert await (await stage.ask()).text() == "new"


async def test_no_cache_does_not_board_a_call_that_is_on_its_way() -> None:
    door = asyncio.Event()
    stage = Stage(said("asked before", door=door), said("new"))
    first = stage.asking()
    await settle()
    got = await stage.ask(None, NO_CACHE)
    door.set()

    assert await got.text() == "new"
    assert await (await first).text() == "asked before"


async def test_who_comes_after_a_no_cache_boards_its_call() -> None:
    doors = asyncio.Event(), asyncio.Event()
    stage = Stage(said("older", door=doors[0]), said("newer", door=doors[1]))
    older = stage.asking()
    await settle()
    newer = stage.asking(None, NO_CACHE)
    await settle()
    later = stage.asking()
    await settle()
    for door in doors:
        door.set()

    assert await (await later).text() == await (await newer).text() == "newer"
    assert await (await older).text() == "older"


async def test_a_slow_answer_does_not_overwrite_one_that_was_asked_for_later() -> None:
    door = asyncio.Event()
    stage = Stage(said("slow", door=door), said("later"))
    slow = stage.asking()
    await settle()
    stage.clock.advance(1.0)
    await stage.ask(None, NO_CACHE)
    await settle()
    door.set()
    await slow
    await settle()

    assert await (await stage.ask()).text() == "later"


@pytest.mark.parametrize("control", [("cache-control", "no-store"), ("x-cache", "off")])
async def test_who_wants_no_part_in_the_cache_leaves_no_trace(control: tuple[str, str]) -> None:
    stage = Stage(said())
    got = await stage.ask(None, control)
    await settle()

    assert got.outcome == "BYPASS"
    assert not stage.store.data


@pytest.mark.parametrize(
    "control", [("cache-control", "no-store"), ("x-cache", "off"), ("x-cache", "read-only")]
)
async def test_who_leaves_no_trace_joins_nobody_and_is_joined_by_nobody(
    control: tuple[str, str],
) -> None:
    door = asyncio.Event()
    stage = Stage(said(door=door))
    asking = [stage.asking(), stage.asking(None, control), stage.asking(None, control)]
    await settle()
    calls = stage.calls
    door.set()
    outcomes = [(await asked).outcome for asked in asking]

    assert outcomes == ["MISS", "BYPASS", "BYPASS"]
    assert calls == 3


@pytest.mark.parametrize("control", [("cache-control", "no-store"), ("x-cache", "off")])
async def test_who_wants_no_part_in_the_cache_is_given_nothing_stored(
    control: tuple[str, str],
) -> None:
    stage = Stage(said("stored"), said("own"))
    await stage.ask()
    await settle()

    assert await (await stage.ask(None, control)).text() == "own"


async def test_who_only_reads_is_given_what_is_stored() -> None:
    stage = Stage(said("stored"))
    await stage.ask()
    await settle()

    assert (await stage.ask(None, ("x-cache", "read-only"))).outcome == "HIT"


async def test_who_only_reads_stores_nothing() -> None:
    stage = Stage(said())
    await stage.ask(None, ("x-cache", "read-only"))
    await settle()

    assert not stage.store.data


async def test_who_only_reads_starts_no_refresh() -> None:
    stage = Stage(said("old"), said("new"))
    await stage.ask()
    await settle()
    stage.clock.advance(GRACE)
    got = await stage.ask(None, ("x-cache", "read-only"))
    await settle()

    assert got.outcome == "STALE"
    assert stage.calls == 1


@pytest.mark.parametrize(
    "body", [chat(), {**chat(), "store": True}], ids=["nothing stored", "never stored"]
)
async def test_who_wants_only_what_is_stored_is_told_that_nothing_is(body: dict[str, Any]) -> None:
    stage = Stage(said())

    with pytest.raises(RefusedError) as refused:
        await stage.ask(body, ("cache-control", "only-if-cached"))
    assert (refused.value.status, refused.value.code) == (504, "cache_miss")
    assert stage.calls == 0


async def test_who_wants_only_what_is_stored_is_given_it() -> None:
    stage = Stage(said("stored"))
    await stage.ask()
    await settle()
    got = await stage.ask(None, ("cache-control", "only-if-cached"))

    assert (got.outcome, await got.text()) == ("HIT", "stored")


async def test_what_was_stored_before_an_invalidation_is_void() -> None:
    stage = Stage(said("old"), said("new"))
    await stage.ask()
    await settle()
    stage.epoch += 1
    got = await stage.ask()

    assert (got.outcome, await got.text()) == ("MISS", "new")


async def test_an_answer_asked_for_before_an_invalidation_is_void_after_it() -> None:
    """Marked when it was asked for, not when it came."""
    door = asyncio.Event()
    stage = Stage(said("asked before", door=door), said("asked after"))
    before = stage.asking()
    await settle()
    stage.epoch += 1
    door.set()
    await before
    await settle()

    assert await (await stage.ask()).text() == "asked after"


async def test_who_asks_after_an_invalidation_does_not_board_what_was_asked_before() -> None:
    doors = asyncio.Event(), asyncio.Event()
    stage = Stage(said("before", door=doors[0]), said("after", door=doors[1]))
    before = stage.asking()
    await settle()
    stage.epoch += 1
    after = stage.asking()
    await settle()
    for door in doors:
        door.set()

    assert await (await before).text() == "before"
    assert await (await after).text() == "after"


async def test_a_purge_of_one_key_reaches_the_call_that_is_on_its_way() -> None:
    """Who reads it already gets it; nobody after."""
    door = asyncio.Event()
    stage = Stage(said("before", door=door), said("after"))
    asking = stage.asking()
    await settle()
    (call,) = stage.flights._flying
    stage.flights.purge(call[0])
    door.set()
    got = await asking
    await settle()

    assert await got.text() == "before"
    assert await (await stage.ask()).text() == "after"


class Writing(FakeStore):
    """A store that has just taken an answer when the key is purged."""

    def __init__(self) -> None:
        super().__init__()
        self.purge: Callable[[Key], None] | None = None

    async def put(self, stored: Stored, now: float) -> bool:
        kept = await super().put(stored, now)
        if self.purge is not None:
            await self.delete(stored.key)
            self.purge(stored.key)
            self.data[stored.key] = wire.encode(stored)  # the write was on its way
        return kept


async def test_what_was_purged_while_it_was_being_stored_is_not_kept() -> None:
    store = Writing()
    stage = Stage(said("before"), said("after"), stores=[store])
    store.purge = stage.flights.purge
    await stage.ask()
    await settle()

    store.purge = None

    assert await (await stage.ask()).text() == "after"


async def test_broken_tiers_fail_no_request() -> None:
    stage = Stage(said(), stores=(BrokenStore("tier0"), BrokenStore("tier1")))
    got = [await stage.ask()]
    await settle()
    got.append(await stage.ask())

    assert [one.outcome for one in got] == ["MISS", "MISS"]
    assert TierFailed("tier1", "get", "StoreError") in stage.events
    assert TierFailed("tier1", "put", "StoreError") in stage.events


async def test_an_answer_that_is_not_complete_is_passed_on_and_not_kept() -> None:
    stage = Stage(Answer((answers.dumps(answers.chat("cut sh", finish="length")),)))
    got = await stage.ask()
    await settle()

    assert await got.text() == "cut sh"
    assert stage.skipped() == ["length"]
    assert not stage.store.data


async def test_an_answer_larger_than_an_entry_may_be_is_passed_on_and_not_kept() -> None:
    long = "x" * 5000
    stage = Stage(said(long), limit=1000)
    got = await stage.ask()
    await settle()

    assert await got.text() == long
    assert not stage.store.data


async def test_the_end_of_a_large_answer_is_not_kept_for_the_whole() -> None:
    """What is still held when it lands would pass for an answer of its own."""
    stage = Stage(streaming(streamed(*["x" * 300] * 9)), limit=1000)
    got = await stage.ask(STREAM)
    body = await got.body()
    await settle()

    assert body.count(b"x" * 300) == 9
    assert stage.skipped() == ["too_large"]
    assert not stage.store.data


async def test_the_upstream_is_sent_the_clients_own_bytes_without_what_steers_the_cache() -> None:
    body = b'{ "model":"m",  "messages": [{"role":"user","content":"\\u0041"}] }'
    stage = Stage(said())
    await stage.ask(body, ("x-cache-ttl", "60"), ("X-Other", "1"))
    call = stage.upstream.calls[0]

    assert call.body == body
    assert call.headers == (
        ("content-type", "application/json"),
        ("authorization", "Bearer K1"),
        ("X-Other", "1"),
    )


async def test_a_known_tenants_calls_carry_the_credential_that_is_meant_for_them() -> None:
    rules = configured(
        '[[tenant]]\nname="t"\nkey_env="KEY"\nupstream_key_env="UP"', KEY="K1", UP="sk-up"
    )
    stage = Stage(said(), rules=rules)
    await stage.ask()
    await stage.ask(None, ("x-cache", "off"))

    sent = [dict(call.headers)["authorization"] for call in stage.upstream.calls]
    assert sent == ["Bearer sk-up"] * 2


@pytest.mark.parametrize(
    ("key", "model", "status"), [("K9", "m", 401), ("K1", "other", 403), ("K1", "m", 200)]
)
async def test_who_may_not_ask_is_refused_before_anything_is_looked_up(
    key: str, model: str, status: int
) -> None:
    rules = configured('[[tenant]]\nname="t"\nkey_env="KEY"\nmodels=["m"]', KEY="K1")
    stage = Stage(said(), rules=rules)
    asked = ({**chat(), "model": model}, ("authorization", f"Bearer {key}"))
    if status == 200:
        assert (await stage.ask(*asked)).status == 200
        return

    with pytest.raises(RefusedError) as refused:
        await stage.ask(*asked)
    assert refused.value.status == status
    assert stage.events == []


async def test_a_wish_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(RefusedError) as refused:
        await Stage(said()).ask(None, ("x-cache-ttl", "soon"))

    assert (refused.value.status, refused.value.param) == (400, "x-cache-ttl")


async def test_the_time_that_others_took_is_not_the_gateways_overhead() -> None:
    door = asyncio.Event()
    stage = Stage(said(door=door))
    asking = stage.asking()
    await settle()
    stage.clock.advance(5.0)
    door.set()
    got = await asking
    got.response.report.end(0, complete=True)

    assert stage.served()[0].seconds == 5.0
    assert stage.served()[0].overhead_seconds == 0.0


async def test_a_request_is_told_of_once_with_how_it_was_served() -> None:
    stage = Stage(said())
    await stage.ask()
    await settle()
    got = await stage.ask()
    got.response.report.end(7, complete=True)
    told = stage.served()[0]

    assert (told.outcome, told.kind, told.tier, told.node) == ("HIT", "exact", "tier0", "gpu")
    assert (told.tokens_in, told.tokens_out, told.bytes_out) == (11, 7, 7)
    assert (told.status, told.model, len(told.fingerprint)) == (200, "m", 8)


async def test_a_request_is_understood_once_and_then_known_by_its_bytes() -> None:
    stage = Stage(said())
    await stage.ask()
    known = stage.pipeline.memo.get(raw_key(arrival(chat()), RULES))
    stage.pipeline.memo.put(raw_key(arrival(chat("other")), RULES), known or pytest.fail())
    await settle()

    assert (await stage.ask(chat("other"))).outcome == "HIT"


async def test_only_what_can_be_found_again_at_once_is_recalled() -> None:
    """A batch of embeddings would be remembered with all its keys, and never be answered."""
    stage, batch = Stage(said()), {"model": "e", "input": ["a", "b"]}
    await stage.ask()
    await settle()
    exact = await stage.ask()
    spaced = await stage.ask(chat("  hi "))
    embedded = Stage(Answer((answers.dumps(answers.embeddings(batch)),), headers=JSON))
    await embedded.ask(batch, path="/v1/embeddings")
    await settle()
    found = await embedded.ask(batch, path="/v1/embeddings")

    assert exact.response.report.recalled is not None
    assert (found.outcome, found.response.report.recalled) == ("HIT", None)
    assert spaced.response.report.recalled is None
