"""Answers to questions that mean the same: on the path, and behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from proxy.core.entry import Key
from proxy.core.events import MeaningJudged, MeaningLooked, TierFailed, TierLooked, TierTurned
from proxy.core.near import Action
from proxy.meaning import Meaning
from tests import answers
from tests.asking import K2, chat, configured
from tests.fakes import JSON, Answer, AwayStore, FakeSemantic, FakeStore, settle
from tests.staged import STREAM, Stage, said, streaming

if TYPE_CHECKING:
    pass

COMPARING = configured("[semantic]\nmode = 'on'")
CALL = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": "{}"}}


def stage(*script: Any, semantic: FakeSemantic | None = None, **how: Any) -> Stage:
    """A gateway that compares questions."""
    return Stage(*script, rules=COMPARING, semantic=semantic or FakeSemantic(), **how)


async def stored(stage: Stage, body: dict[str, Any], *headers: tuple[str, str]) -> None:
    """Ask, and wait until the answer is stored and learnt of."""
    await (await stage.ask(body, *headers)).body()
    await settle()


def looked(stage: Stage) -> list[str]:
    return [event.result for event in stage.events if isinstance(event, MeaningLooked)]


async def test_a_question_that_means_the_same_is_answered_from_the_cache() -> None:
    here = stage(said("money back"))
    await stored(here, chat("refund how"))

    got = await here.ask(chat("refund please"))

    assert await got.text() == "money back"
    assert here.calls == 1
    assert got.outcome == "HIT"
    assert got.head.get("x-cache-kind") == "semantic"
    assert got.head.get("x-cache-similarity") == "0.9700"
    assert looked(here) == ["scope_empty", "semantic"]


async def test_the_entry_is_stored_with_its_question_and_its_vector() -> None:
    here = stage(said())
    await stored(here, chat("refund how"))

    (entry,) = here.semantic.known.values()

    assert entry.question is not None
    assert (entry.question.text, entry.question.tag, entry.question.vector) == (
        "refund how",
        "fake:1",
        b"vv",
    )


async def test_a_hit_by_meaning_is_given_in_the_form_that_is_asked_for() -> None:
    here = stage(said("money back"))
    await stored(here, chat("refund how"))

    got = await here.ask(chat("refund please", stream=True))

    body = await got.body()
    assert b"money back" in body
    assert body.endswith(b"data: [DONE]\n\n")
    assert here.calls == 1


async def test_an_answer_that_streamed_is_learnt_of_as_well() -> None:
    here = stage(streaming())
    await stored(here, chat("hello there", stream=True))

    assert await (await here.ask(chat("hello again"))).text() == "hi"
    assert here.calls == 1


@pytest.mark.parametrize(
    "other",
    [
        chat("refund please", temperature=1),
        chat("refund please", model="n"),
        chat("refund please", tools=[{"type": "function", "function": {"name": "pay"}}]),
        chat("refund please", n=2),
        chat("refund please", logprobs=True),
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be rude."},
                {"role": "user", "content": "refund please"},
            ],
        },
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": "hello"},
                {"role": "assistant", "content": "hi"},
                {"role": "user", "content": "refund please"},
            ],
        },
    ],
    ids=["parameter", "model", "tools", "several", "logprobs", "system", "turns"],
)
async def test_whatever_else_differs_is_a_miss(other: dict[str, Any]) -> None:
    here = stage(said("money back"), said("other"))
    await stored(here, chat("refund how"))

    got = await here.ask(other)
    await got.body()

    assert got.outcome == "MISS"
    assert here.calls == 2


@pytest.mark.parametrize(
    ("body", "why"), [(chat("refund", n=2), "several"), (chat("r" * 401), "long")]
)
async def test_what_is_not_even_looked_for_says_why(body: dict[str, Any], why: str) -> None:
    here = stage(said("a"), said("b"))

    got = await here.ask(body)
    await got.body()

    assert f"detail=ineligible:{why}" in str(got.head.get("cache-status"))
    assert looked(here) == [f"ineligible:{why}"]
    await (await here.ask(body, ("cache-control", "no-cache"))).body()
    assert len(looked(here)) == 1
    assert here.semantic.asked == []


async def test_another_tenant_never_sees_it() -> None:
    here = stage(said("mine"), said("yours"))
    await stored(here, chat("refund how"))

    assert await (await here.ask(chat("refund please"), K2)).text() == "yours"


@pytest.mark.parametrize("mode", ["exact", "normalized"])
async def test_a_request_may_want_no_hits_by_meaning(mode: str) -> None:
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))

    got = await here.ask(chat("refund please"), ("x-cache-mode", mode))

    assert await got.text() == "b"
    assert looked(here) == ["scope_empty"]


async def test_a_new_answer_that_is_wanted_is_fetched() -> None:
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))

    got = await here.ask(chat("refund please"), ("cache-control", "no-cache"))

    assert await got.text() == "b"


async def test_only_if_cached_takes_a_hit_by_meaning() -> None:
    here = stage(said("a"))
    await stored(here, chat("refund how"))

    got = await here.ask(chat("refund please"), ("cache-control", "only-if-cached"))

    assert await got.text() == "a"


@pytest.mark.parametrize("action", ["verify", "none"])
async def test_what_may_not_be_served_is_asked_for_and_the_reason_told(action: Action) -> None:
    here = stage(said("a"), said("b"), semantic=FakeSemantic(action))
    await stored(here, chat("refund how"))

    got = await here.ask(chat("refund please"))

    assert await got.text() == "b"
    assert "detail=shadow" in str(got.head.get("cache-status"))


@pytest.mark.parametrize("agrees", [True, False])
async def test_in_shadow_the_two_answers_are_compared(*, agrees: bool) -> None:
    semantic = FakeSemantic("verify", agrees=agrees)
    here = stage(said("a"), said("b"), semantic=semantic)
    await stored(here, chat("refund how"))
    await stored(here, chat("refund please"))

    assert semantic.compared == [("refund please", "a", "b")]
    assert MeaningJudged("semantic", not agrees) in here.events


async def test_what_was_not_to_be_compared_is_not() -> None:
    semantic = FakeSemantic("none")
    here = stage(said("a"), said("b"), semantic=semantic)
    await stored(here, chat("refund how"))
    await stored(here, chat("refund please"))

    assert semantic.compared == []


@pytest.mark.parametrize(("agrees", "calls"), [(True, 1), (False, 2)])
async def test_a_judge_decides_before_a_hit(*, agrees: bool, calls: int) -> None:
    semantic = FakeSemantic("judge", agrees=agrees)
    here = stage(said("a"), said("b"), semantic=semantic)
    await stored(here, chat("refund how"))

    await (await here.ask(chat("refund please"))).body()

    assert here.calls == calls
    assert semantic.compared == [("refund please", "a", "")]


async def test_a_judge_is_asked_behind_the_answer_for_the_next_time() -> None:
    semantic = FakeSemantic("promote")
    here = stage(said("a"), said("b"), semantic=semantic)
    await stored(here, chat("refund how"))
    await stored(here, chat("refund please"))

    assert here.calls == 2
    assert semantic.compared == [("refund please", "a", "")]


class Deaf:
    """A filter that has not heard of anything yet."""

    def might_have(self, key: Key) -> bool:
        return False

    def added(self, key: Key) -> None:
        """It does not listen."""


async def test_what_another_machine_stored_just_now_is_served_whatever_the_filter_says() -> None:
    """It would be forgotten as gone otherwise, before the filter has heard of it."""
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))
    here.tiers[0].filter = Deaf()

    assert await (await here.ask(chat("refund please"))).text() == "a"


async def test_an_answer_that_is_gone_is_a_miss_and_forgotten() -> None:
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))
    (key,) = here.semantic.known
    await here.store.delete(key)

    got = await here.ask(chat("refund please"))
    await got.body()
    await settle()

    assert here.calls == 2
    assert key not in here.semantic.known
    assert here.semantic.forgotten == [(key, "dead", 1)]


async def test_an_answer_that_could_not_be_read_is_a_miss_and_found_the_next_time() -> None:
    """Taken for gone, it would be found by nobody on this machine until it began anew."""
    away, store = AwayStore(), FakeStore()
    here = stage(said("a"), said("b"), stores=[away, store])
    await stored(here, chat("refund how"))
    (key,) = here.semantic.known
    kept = store.data.pop(key)  # as by a tier that has room for less
    away.away = True

    got = await here.ask(chat("refund please"))
    assert await got.text() == "b"
    assert "detail=unread" in str(got.head.get("cache-status"))
    away.away = False
    store.data[key] = kept
    assert await (await here.ask(chat("refund again"))).text() == "a"


async def test_what_only_another_worker_has_is_found_there_the_next_time() -> None:
    """Where each has a memory of its own and nothing else, and all tell one process."""
    here = stage(said("a"), said("b"), scattered=True)
    await stored(here, chat("refund how"))
    (key,) = here.semantic.known
    kept = here.store.data.pop(key)  # as on the worker that a second request comes to

    got = await here.ask(chat("refund please"))
    assert await got.text() == "b"
    assert "detail=unread" in str(got.head.get("cache-status"))
    here.store.data[key] = kept
    assert await (await here.ask(chat("refund again"))).text() == "a"


async def test_an_answer_that_another_tier_has_is_served_while_one_fails() -> None:
    away = AwayStore()
    here = stage(said("a"), said("b"), stores=[away, FakeStore()])
    await stored(here, chat("refund how"))
    away.away = True

    assert await (await here.ask(chat("refund please"))).text() == "a"


async def test_what_was_stored_while_the_process_was_away_is_found_once_it_is_back() -> None:
    """Told of with the next look-up that gets a vector, for it has not begun anew."""
    here = stage(said("a"), said("b"))
    here.semantic.fails = True
    await stored(here, chat("refund how"))
    here.semantic.fails = False
    await stored(here, chat("price how"))

    assert await (await here.ask(chat("refund please"))).text() == "a"


async def test_what_is_no_longer_fresh_is_not_served_by_meaning() -> None:
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))
    here.clock.advance(3601)

    assert await (await here.ask(chat("refund please"))).text() == "b"


async def test_a_hit_renews_no_life() -> None:
    """A wrong answer that is asked for often must still end."""
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))
    for _ in range(8):
        here.clock.advance(400)
        await (await here.ask(chat("refund please"))).body()
    here.clock.advance(500)

    assert await (await here.ask(chat("refund please"))).text() == "b"


async def test_what_was_declared_void_is_not_served() -> None:
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))
    here.epoch = 1

    assert await (await here.ask(chat("refund please"))).text() == "b"


async def test_an_entry_of_another_scope_is_no_answer_whatever_the_index_says() -> None:
    """The index is derived: what it names is checked against the entry itself."""
    here = stage(said("a"), said("b"), said("c"))
    await stored(here, chat("refund how"))
    await stored(here, chat("price how", temperature=1))
    entries = {e.question.text: e for e in here.semantic.known.values() if e.question}
    entry = entries["price how"]
    wrong = entries["refund how"].question
    assert wrong is not None
    here.semantic.known = {entry.key: _with(entry, wrong)}

    assert await (await here.ask(chat("refund please"))).text() == "c"


def _with(entry: Any, question: Any) -> Any:
    return msgspec.structs.replace(entry, question=question)


@pytest.mark.parametrize(
    "answer",
    [
        answers.chat("cut", finish="length"),
        answers.chat("", tool_calls=[CALL]),
    ],
    ids=["length", "tools"],
)
async def test_an_answer_that_says_more_or_less_than_a_text_answers_nobody_else(
    answer: Any,
) -> None:
    here = stage(said("x"))
    here.upstream.script[0] = said_as(answer)
    await stored(here, chat("refund how", max_tokens=5))

    assert here.semantic.known == {}


def said_as(body: Any) -> Any:
    return Answer((answers.dumps(body),), headers=JSON)


@pytest.mark.parametrize(("form", "known"), [(b"a form", 1), (b"", 0)])
async def test_what_the_embedder_cannot_read_is_stored_with_its_form(
    form: bytes, known: int
) -> None:
    """Chinese beside an English embedder: equal forms need none."""
    here = stage(said("a"))
    here.semantic.unread = form
    await stored(here, chat("refund how"))

    told = [one.question.form for one in here.semantic.known.values() if one.question is not None]
    assert told == [form] * known


async def test_a_process_that_fails_costs_no_request() -> None:
    here = stage(said("a"), said("b"))
    here.semantic.fails = True
    await stored(here, chat("refund how"))

    got = await here.ask(chat("refund please"))

    assert await got.text() == "b"
    assert "detail=failed" in str(got.head.get("cache-status"))
    assert any(isinstance(event, TierFailed) for event in here.events)


async def test_a_process_that_is_still_starting_is_no_error() -> None:
    here = stage(said("a"), said("b"), said("c"))
    here.semantic.absent = True
    await stored(here, chat("refund how"))
    got = await here.ask(chat("refund please"))
    await got.body()

    assert "detail=starting" in str(got.head.get("cache-status"))
    assert looked(here) == ["starting", "starting"]
    assert not [one for one in here.events if isinstance(one, TierFailed | TierTurned)]
    assert not [
        one for one in here.events if isinstance(one, TierLooked) and one.tier == "semantic"
    ]


async def test_a_process_that_keeps_failing_is_left_alone_and_tried_again() -> None:
    here = stage(said("a"))
    here.semantic.fails = True
    for number in range(12):
        await stored(here, chat(f"question{number}"))
    asked = sum(isinstance(event, TierFailed) for event in here.events)
    here.semantic.fails = False
    here.clock.advance(1.1)
    await stored(here, chat("well again"))

    turned = [event.working for event in here.events if isinstance(event, TierTurned)]
    assert asked == 5
    assert turned == [False, True]


async def test_a_request_whose_answer_is_on_its_way_joins_it() -> None:
    gate = asyncio.Event()
    here = stage(streaming([gate, *answers.chat_events(("h", "i"))]))
    first, second = here.asking(STREAM), here.asking(STREAM)
    await settle()
    gate.set()
    for one in (first, second):
        await (await one).body()

    assert here.calls == 1
    assert len(looked(here)) <= 2


async def test_what_somebody_calls_wrong_has_to_go() -> None:
    here = stage(said("a"))
    await stored(here, chat("refund how"))
    await (await here.ask(chat("refund please"))).body()
    await settle()
    assert isinstance(here.meaning, Meaning)

    blamed = await here.meaning.blame("req_1")

    assert blamed is not None
    assert list(blamed.keys) == list(here.semantic.known)
    assert MeaningJudged("semantic", True) in here.events
    assert await here.meaning.blame("req_2") is None


@pytest.mark.parametrize("why", ["judge", "gone", "unread", "unwanted"])
async def test_what_was_not_answered_by_meaning_cannot_be_called_wrong(why: str) -> None:
    """A candidate was found; but its answer was not served, and says nothing of its error."""
    away = AwayStore()
    semantic = FakeSemantic("judge" if why == "judge" else "serve", agrees=why != "judge")
    here = stage(said("a"), said("b"), semantic=semantic, stores=[away])
    await stored(here, chat("refund how"))
    (key,) = semantic.known
    away.away = why == "unread"
    if why == "gone":
        await away.delete(key)
    here.clock.advance(30.0)
    wish = [("cache-control", "max-age=5")] if why == "unwanted" else []

    got = await here.ask(chat("refund please"), *wish)
    assert await got.text() == "b"
    await settle()
    assert isinstance(here.meaning, Meaning)
    assert await here.meaning.blame("req_1") is None


async def test_a_hit_by_meaning_is_not_refreshed_behind() -> None:
    """What would be fetched is the answer to this question, not to the one that is stored."""
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))
    here.chance = 1e-300  # XFetch: now, whatever is left
    await (await here.ask(chat("refund please"))).body()
    await settle()

    assert here.calls == 1


@pytest.mark.parametrize("wish", ["max-age=5", "min-fresh=3590"])
async def test_what_one_request_does_not_want_is_still_there_for_others(wish: str) -> None:
    here = stage(said("a"), said("b"))
    await stored(here, chat("refund how"))
    (key,) = here.semantic.known
    here.clock.advance(30)

    got = await here.ask(chat("refund please"), ("cache-control", wish))

    assert await got.text() == "b"
    await settle()
    assert key in here.semantic.known


async def test_answers_that_are_gone_do_not_stand_in_the_way_of_one_that_is_there() -> None:
    here = stage(said("a"), said("b"), said("c"), said("d"))
    for text in ("refund how", "price how", "order how"):
        await stored(here, chat(text))
    first, second, third = here.semantic.known
    question = here.semantic.known[first].question
    for one in (second, third):
        here.semantic.known[one] = _with(here.semantic.known[one], question)
    for one in (first, second):
        await here.store.delete(one)

    assert await (await here.ask(chat("refund please"))).text() == "c"


async def test_what_a_judge_refused_is_stored_with_its_own_vector() -> None:
    semantic = FakeSemantic("judge", agrees=False)
    here = stage(said("a"), said("b"), semantic=semantic)
    await stored(here, chat("refund how"))
    await stored(here, chat("refund please"))

    told = [one.question for one in semantic.known.values() if one.question is not None]
    assert [(one.text, one.vector) for one in told][1] == ("refund please", b"vv")
