"""Lives of answers on the path: refreshed early or behind, standing in, not waited for, pinned, and
gone at a set time; with one gateway and with two over one store."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from proxy.adapters.memory import Memory
from proxy.core.entry import Entry
from proxy.core.events import Refreshed
from proxy.response import Report
from tests import answers
from tests.asking import JSON, arrival, chat, configured, lookup
from tests.fakes import Answer, FakeClock, FakeLeases, FakePeers, FakeStore, settle
from tests.staged import KEEPING, STREAM, TTL, Got, Stage, broken, failed, said

if TYPE_CHECKING:
    from proxy.core.rules import Rules
    from proxy.ports import Store, UpstreamError

GRACE = TTL + 30.0
LAST = TTL + 300.0
PAUSE = 5.0
UNKEPT = 120.0
NO_CACHE = ("cache-control", "no-cache")


def cut(**how: Any) -> Answer:
    """An answer that the upstream cut by a limit of its own."""
    return Answer(
        (answers.dumps(answers.chat("half of", finish="length")),), headers=(JSON,), **how
    )


async def stored(*script: Answer | UpstreamError, **how: Any) -> Stage:
    """A gateway that was asked once."""
    stage = Stage(*script, **how)
    await stage.ask()
    await settle()
    return stage


def refreshed(stage: Stage) -> list[str]:
    return [event.reason for event in stage.events if isinstance(event, Refreshed)]


# ── before the end


async def test_one_of_many_asks_anew_before_the_end_and_nobody_waits() -> None:
    stage = await stored(said("old"), said("new"))
    stage.clock.advance(0.95 * TTL)
    stage.chance = 0.0
    asked = [await stage.ask() for _ in range(20)]
    await settle()
    stage.chance = 1.0
    after = await stage.ask()

    assert {one.outcome for one in asked} == {"HIT"}
    assert await after.text() == "new"
    assert after.head.get("age") == "0"
    assert stage.calls == 2
    assert refreshed(stage) == ["early"]


async def test_early_is_no_earlier_than_the_last_tenth() -> None:
    stage = await stored(said("old"), said("new"))
    stage.clock.advance(0.85 * TTL)
    stage.chance = 0.0
    await stage.ask()
    await settle()

    assert stage.calls == 1


async def test_the_short_way_leaves_to_the_long_one_what_is_to_be_refreshed() -> None:
    stage = await stored(said("old"), said("new"), stores=[Memory(1 << 20, ttl=TTL)])
    stage.clock.advance(0.95 * TTL)
    stage.chance = 0.0
    asked = lookup(arrival(chat()))
    report = Report("POST", "chat/completions", "req_1", stage.clock, stage.events.append)

    assert stage.pipeline.recall.at_once(asked, report) is None

    stage.chance = 1.0

    assert (await stage.ask()).outcome == "HIT"
    await settle()
    assert refreshed(stage) == ["early"]
    assert stage.calls == 2


async def test_an_early_refresh_that_fails_takes_nothing_away_and_is_not_repeated_at_once() -> None:
    stage = await stored(said("old"), failed(500))
    stage.clock.advance(0.95 * TTL)
    stage.chance = 0.0
    for _ in range(100):
        assert (await stage.ask()).outcome == "HIT"
        await settle()

    assert stage.calls == 2


# ── behind a stale answer


@pytest.mark.parametrize(
    "trouble", [failed(503), failed(429), broken("connect"), broken("timeout")]
)
@pytest.mark.parametrize("age", [GRACE, LAST])
async def test_a_failing_upstream_is_asked_once_in_five_seconds(age: float, trouble: Any) -> None:
    """In grace as after it: 200 requests in ten seconds, all of them answered."""
    stage = await stored(said("old"), trouble)
    stage.clock.advance(age)
    asked: list[Got] = []
    for _ in range(200):
        asked.append(await stage.ask())
        await settle()
        stage.clock.advance(2 * PAUSE / 200)

    assert {(one.status, one.outcome) for one in asked} == {(200, "STALE")}
    assert stage.calls - 1 == 2


async def test_after_the_pause_a_refresh_that_works_ends_it() -> None:
    stage = await stored(said("old"), failed(500), said("new"))
    stage.clock.advance(GRACE)
    await stage.ask()
    await settle()
    stage.clock.advance(PAUSE + 0.1)
    await stage.ask()
    await settle()
    got = await stage.ask()

    assert (got.outcome, await got.text()) == ("HIT", "new")


async def test_who_asks_for_a_new_answer_is_not_put_off_by_the_pause() -> None:
    stage = await stored(said("old"), failed(500), said("new"))
    stage.clock.advance(GRACE)
    await stage.ask()
    await settle()

    assert await (await stage.ask(None, NO_CACHE)).text() == "new"


async def test_a_pause_is_one_keys_alone() -> None:
    stage = await stored(said("old"), failed(500), said("other"))
    stage.clock.advance(GRACE)
    await stage.ask()
    await settle()

    assert await (await stage.ask(chat("another question"))).text() == "other"


# ── what is not stored is not waited for


@pytest.mark.parametrize("body", [chat(), STREAM], ids=["json", "events"])
async def test_after_the_first_that_cannot_be_stored_nobody_waits_for_anybody(
    body: dict[str, Any],
) -> None:
    door = asyncio.Event()
    stage = await stored(cut(), cut(door=door))
    asking = [stage.asking(body) for _ in range(20)]
    await settle()

    assert stage.upstream.answering == 20  # side by side, none behind another

    door.set()
    got = [await one for one in asking]

    assert {one.outcome for one in got} == {"MISS"}
    for one in got:
        await one.close()
    await settle()
    assert (len(stage.flights), stage.upstream.answering) == (0, 0)


async def test_the_first_crowd_shares_what_cannot_be_stored() -> None:
    """Nobody knew; they all get it, at the cost of one call."""
    door = asyncio.Event()
    stage = Stage(cut(door=door))
    asking = [stage.asking() for _ in range(20)]
    await settle()
    door.set()
    outcomes = [(await one).outcome for one in asking]

    assert sorted(set(map(str, outcomes))) == ["COLLAPSED", "MISS"]
    assert stage.calls == 1


async def test_who_asks_an_upstream_in_trouble_waits_together() -> None:
    """What lies in the upstream and not in the question says nothing of the next answer."""
    door = asyncio.Event()
    stage = await stored(failed(500), said(door=door))
    asking = [stage.asking() for _ in range(20)]
    await settle()

    assert stage.upstream.answering == 1

    door.set()
    assert {(await one).status for one in asking} == {200}


async def test_an_answer_that_can_be_stored_ends_that_at_once() -> None:
    stage = await stored(cut(), said("whole"))
    await stage.ask()
    await settle()
    asked = [await stage.ask() for _ in range(20)]

    assert {one.outcome for one in asked} == {"HIT"}
    assert stage.calls == 2


async def test_an_answer_that_can_be_stored_is_shared_when_it_has_to_be_asked_for_again() -> None:
    door = asyncio.Event()
    stage = await stored(cut(), said(), said(door=door))
    await stage.ask()
    await settle()
    stage.epoch += 1
    asking = [stage.asking() for _ in range(20)]
    await settle()

    assert stage.upstream.answering == 1

    door.set()
    assert {(await one).status for one in asking} == {200}


async def test_after_two_minutes_it_is_shared_again() -> None:
    door = asyncio.Event()
    stage = await stored(cut(), said(door=door))
    stage.clock.advance(UNKEPT + 1.0)
    asking = [stage.asking() for _ in range(20)]
    await settle()

    assert stage.upstream.answering == 1

    door.set()
    assert {(await one).status for one in asking} == {200}


# ── mistakes


async def test_a_mistake_is_remembered_for_ten_seconds_and_never_stale() -> None:
    stage = await stored(failed(400), said("right"))
    stage.clock.advance(9.0)
    stage.chance = 0.0
    before = await stage.ask()
    await settle()
    stage.clock.advance(2.0)
    after = await stage.ask()

    assert (before.status, before.outcome) == (400, "HIT")
    assert (after.status, after.outcome) == (200, "MISS")
    assert refreshed(stage) == []


async def test_no_mistake_stands_in_for_an_upstream_that_fails() -> None:
    stage = await stored(failed(400), failed(503))
    stage.clock.advance(11.0)
    got = await stage.ask()

    assert (got.status, got.outcome) == (503, "MISS")


# ── pinned, and at a set end

PIN = configured('[[cache.rule]]\nmodel = "m"\npin = true\nttl = "1h"')
CALENDAR = configured('[[cache.rule]]\nmodel = "m"\ncalendar = "XNYS"')
TAGGED = configured('[cache]\ncalendars = ["XNYS"]')
PINNED_TAG = ("x-cache-tags", "permanent")
EXCHANGE = ("x-cache-tags", "a, exchange:XNYS")


@pytest.mark.parametrize(("rules", "header"), [(PIN, None), (configured(""), PINNED_TAG)])
async def test_what_is_pinned_is_served_years_later_and_refreshed_then(
    rules: Rules, header: tuple[str, str] | None
) -> None:
    headers = () if header is None else (header,)
    stage = Stage(said("old"), said("new"), rules=rules)
    await stage.ask(None, *headers)
    await settle()
    stage.clock.advance(3 * 365 * 86400.0)
    old = await stage.ask(None, *headers)
    await settle()
    new = await stage.ask(None, *headers)

    assert (old.outcome, await old.text()) == ("STALE", "old")
    assert (new.outcome, await new.text()) == ("HIT", "new")
    assert stage.calls == 2


async def test_what_is_pinned_stays_in_memory_whatever_else_is_asked() -> None:
    memory = Memory(64 << 10, ttl=1e9)
    stage = await stored(said("x" * 1000), rules=PIN, stores=[memory])
    others = [chat(f"question {number}", model="other") for number in range(200)]
    for body in others:
        await stage.ask(body)
        await settle()

    assert memory.stats().evictions > 100
    assert (await stage.ask()).outcome == "HIT"
    assert (await stage.ask(others[0])).outcome == "MISS"


@pytest.mark.parametrize(("rules", "header"), [(CALENDAR, ("x-a", "b")), (TAGGED, EXCHANGE)])
async def test_an_answer_about_an_exchange_is_gone_when_that_closes(
    rules: Rules, header: tuple[str, str]
) -> None:
    clock = FakeClock()
    closings = {"XNYS": (clock.now() + 100.0, clock.now() + 86500.0)}
    keeping = msgspec.structs.replace(KEEPING, closings=closings)
    stage = Stage(said("open"), failed(503), said("new"), rules=rules, keeping=keeping, clock=clock)
    await stage.ask(None, header)
    await settle()
    stage.chance = 0.0  # it would end then all the same: no reason to ask early
    clock.advance(99.0)
    before = await stage.ask(None, header)
    await settle()

    assert (before.outcome, stage.calls) == ("HIT", 1)

    clock.advance(1.1)

    assert (await stage.ask(None, header)).status == 503  # an old price stands in for nothing
    assert await (await stage.ask(None, header)).text() == "new"


async def test_a_tag_that_names_no_known_exchange_ends_nothing() -> None:
    keeping = msgspec.structs.replace(KEEPING, closings={"XNYS": (FakeClock().now() + 100.0,)})
    stage = Stage(said(), rules=TAGGED, keeping=keeping)
    await stage.ask(None, ("x-cache-tags", "exchange:XLON"))
    await settle()
    stage.clock.advance(200.0)

    assert (await stage.ask()).outcome == "HIT"


# ── two gateways


class Pair:
    """Two gateways over one store, with leases in common and a memory of their own."""

    def __init__(self, *script: Answer | UpstreamError, copies: float = 2 * TTL) -> None:
        """`copies`: seconds that they stay in memory."""
        self.clock, self.shared = FakeClock(), FakeStore()
        board: dict[bytes, tuple[str, float]] = {}
        self.one, self.other = (
            Stage(
                *script,
                stores=[Memory(1 << 20, ttl=copies), self.shared],
                leases=FakeLeases(board, address, self.clock),
                peers=FakePeers(None),
                clock=self.clock,
            )
            for address in ("one", "other")
        )
        self.other.upstream.calls = self.one.upstream.calls  # one upstream, seen by both

    async def ask(self, stage: Stage, text: str = "hello", *headers: tuple[str, str]) -> Got:
        got = await stage.ask(chat(text), *headers)
        await settle()
        await stage.backlog.drain()
        return got

    @property
    def calls(self) -> int:
        return self.one.calls


@pytest.mark.parametrize("texts", [("a question", "a question"), ("a question", "a  question")])
@pytest.mark.parametrize("age", [0.95 * TTL, GRACE])
async def test_one_of_both_gateways_refreshes_and_the_other_finds_it(
    texts: tuple[str, str], age: float
) -> None:
    """Each has a copy of its own, and an alias beside it, that are not current any more."""
    pair = Pair(said("old"), said("new"))
    for stage, text in ((pair.one, texts[0]), (pair.other, texts[1])):
        await pair.ask(stage, text)
        await pair.ask(stage, text)
    assert pair.calls == 1
    pair.clock.advance(age)
    for stage, text in ((pair.one, texts[0]), (pair.other, texts[1])):
        stage.chance = 0.0
        await pair.ask(stage, text)
        stage.chance = 1.0
    got = [await pair.ask(pair.one, texts[0]), await pair.ask(pair.other, texts[1])]

    assert [await one.text() for one in got] == ["new", "new"]
    assert pair.calls == 2


async def test_what_one_gateway_refreshed_is_found_before_the_other_serves_it_stale() -> None:
    pair = Pair(said("old"), said("new"))
    await pair.ask(pair.one)
    await pair.ask(pair.other)
    pair.clock.advance(GRACE)
    await pair.ask(pair.one)
    got = await pair.ask(pair.other)

    assert (got.outcome, await got.text()) == ("HIT", "new")
    assert pair.calls == 2


async def test_an_overwritten_answer_is_served_elsewhere_no_longer_than_a_copy_stays() -> None:
    pair = Pair(said("old"), said("new"), copies=300.0)
    await pair.ask(pair.one)
    await pair.ask(pair.other)
    await pair.ask(pair.one, "hello", NO_CACHE)
    at_once = await pair.ask(pair.other)
    pair.clock.advance(301.0)  # the memory's ttl
    later = await pair.ask(pair.other)

    assert await (await pair.ask(pair.one)).text() == "new"
    assert await at_once.text() == "old"
    assert (later.outcome, await later.text()) == ("HIT", "new")
    assert pair.calls == 2


async def test_an_overwritten_answer_on_another_disk_ends_with_its_own_time() -> None:
    """A third tier between: the copy there is believed while it is fresh, and no second longer."""
    pair = Pair(said("old"), said("new"), copies=300.0)
    disk = FakeStore()
    stores: list[Store] = [Memory(1 << 20, ttl=300.0), disk, pair.shared]
    third = Stage(said("never"), stores=stores, clock=pair.clock)
    await pair.ask(pair.one)
    await pair.ask(third)
    pair.clock.advance(10.0)
    await pair.ask(pair.one, "hello", NO_CACHE)
    pair.clock.advance(TTL - 11.0)
    before = await pair.ask(third)
    pair.clock.advance(1.1)
    after = await pair.ask(third)

    assert after.outcome == "HIT"
    assert await before.text() == "old"
    assert await after.text() == "new"
    assert third.calls == 0


# ── for each entry a time of its own


async def test_ten_thousand_answers_kept_in_one_moment_end_spread_over_the_band() -> None:
    """Through the real keeper: what the gateway stores, not what a formula says."""
    keeping = msgspec.structs.replace(KEEPING, jitter=0.1)
    store = FakeStore()
    stage = Stage(said("x"), keeping=keeping, stores=[store])
    for number in range(10_000):
        await stage.ask(chat(str(number), temperature=0), ("x-cache-mode", "exact"))
        if number % 50 == 0:
            await settle()
    await settle()
    now = stage.clock.now()
    kept = [await store.get(key, now) for key in store.data]
    lives = [entry.ttl for entry in kept if isinstance(entry, Entry)]
    tenths = [0] * 10
    for life in lives:
        tenths[min(9, int((life - 0.9 * TTL) / (0.2 * TTL) * 10))] += 1

    assert len(lives) == 10_000
    assert min(lives) >= 0.9 * TTL
    assert max(lives) <= 1.1 * TTL
    assert all(850 <= tenth <= 1150 for tenth in tenths)  # five standard deviations
