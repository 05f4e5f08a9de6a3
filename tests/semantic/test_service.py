"""Stored questions remembered, found, and forgotten."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pytest

from semantic.embed.port import EmbedderError
from semantic.index.port import IndexUnavailableError
from semantic.protocol import (
    Ask,
    Blame,
    Blamed,
    Compare,
    Consult,
    Done,
    Failed,
    Forget,
    Found,
    Learn,
    Lesson,
    Nearest,
    Record,
    State,
)
from semantic.settings import Judge, Terms
from semantic.space import LONGEST
from semantic.vector import packed, unit
from tests.semantic.company import OTHER, SCOPE, Company, company, key

if TYPE_CHECKING:
    from semantic.compare import Word

LONG = "how do we move the big old piano across the wide wooden bridge before noon"
NEAR = "how do we move the big old piano across the wide wooden bridge before dusk"


async def test_a_question_is_found_again() -> None:
    async with company() as here:
        await here.learn("which bird sings loudest", "bird")

        found = await here.ask("which bird sings loudest")

    assert (found.action, found.key, found.group) == ("serve", key("bird"), "m/en")


async def test_guards_are_asked_of_the_same_canonical_form_too() -> None:
    """What is left out of a form may turn a question round: what is about to be, and what was."""
    async with company() as here:
        await here.learn("哪班船开了", "ship")

        found = await here.ask("哪班船要开了")

    assert (found.action, found.kind) == ("none", "semantic")


async def test_the_same_canonical_form_needs_no_embedder() -> None:
    async with company() as here:
        here.embedder.fails = True
        await here.learn("怎么退货", "return")

        found = await here.ask("退货流程")

    assert (found.action, found.kind, found.similarity) == ("serve", "canonical", 1.0)
    assert found.key == key("return")


@pytest.mark.parametrize("how", ["expired", "forgotten", "blamed"])
async def test_an_earlier_answer_to_the_same_is_found_once_the_last_one_is_gone(how: str) -> None:
    async with company() as here:
        await here.learn("怎么退货", "first", expires=3000.0)
        await here.learn("如何退货", "last", expires=1500.0)
        assert (await here.hit("退货流程", "req_1")).key == key("last")
        if how == "expired":
            here.now = 1600.0
        elif how == "forgotten":
            await here.service.answer(Forget((key("last"),)))
        else:
            await here.service.answer(Blame("req_1"))
            await here.learn("如何退货", "last", expires=1500.0)

        found = await here.ask("退货流程")

    assert (found.kind, found.key) == ("canonical", key("first"))


async def test_another_scope_is_never_searched() -> None:
    async with company() as here:
        await here.learn("which bird sings loudest")

        found = await here.ask("which bird sings loudest", OTHER)

    assert (found.action, found.reason) == ("none", "scope_empty")


async def test_what_the_embedder_failed_for_can_be_told_again() -> None:
    async with company() as here:
        here.embedder.fails = True
        record = Record(key("bird"), SCOPE, "which bird sings loudest", 2000.0)
        told = [await here.service.answer(Learn((record,)))]
        here.embedder.fails = False
        told.append(await here.service.answer(Learn((record,))))

        assert here.index.figures().rows == 1
        found = await here.ask("which bird sings loudest")

    assert told == [Done(1, (key("bird"),)), Done(1)]
    assert found.key == key("bird")


async def test_what_is_far_away_is_told_as_that() -> None:
    async with company() as here:
        await here.learn("which bird sings loudest")

        found = await here.ask("name the tallest mountain of them all")

    assert (found.action, found.reason) == ("none", "below_threshold")


async def test_a_guard_refuses_what_is_near() -> None:
    async with company(min_similarity=0.8) as here:
        await here.learn("which bird sings louder than 12 other loud birds")

        found = await here.ask("which bird sings louder than 13 other loud birds")

    assert found.action == "none"
    assert found.reason.startswith("guard:")
    assert found.similarity > 0.8


async def test_the_vector_comes_back_to_be_stored_and_is_taken_without_the_embedder() -> None:
    async with company() as here:
        found = await here.ask("which bird sings loudest")
        assert found.tag == here.embedder.tag
        asked = list(here.embedder.texts)
        await here.learn("which bird sings loudest", tag=found.tag, vector=found.vector)

        assert here.embedder.texts == asked
        assert here.index.figures().rows == 1


ELSEWHERE = packed(unit(np.arange(64, dtype=np.float32), 64)[0])
"""A vector as good as any, in another direction than the embedder's."""


@pytest.mark.parametrize(
    ("tag", "vector"),
    [
        ("other:9:64", ELSEWHERE),
        ("fake:1:64", b"\0" * 128),
        ("fake:1:64", ELSEWHERE[:-2]),
        ("", b""),
    ],
)
async def test_a_vector_of_another_embedder_or_none_is_made_anew(tag: str, vector: bytes) -> None:
    async with company() as here:
        await here.learn("which bird sings loudest", tag=tag, vector=vector)

        assert here.embedder.texts == ["which bird sings loudest"]
        found = await here.index.search(
            SCOPE, (await here.embedder.embed(["which bird sings loudest"]))[0], 1
        )
        assert found[0].similarity > 0.99


async def test_the_form_comes_back_to_be_stored_and_is_taken_as_it_is() -> None:
    async with company() as here:
        asked = await here.ask("退货流程")
        await here.learn("anything else, as long as the form is known", "k", form=asked.form)

        assert (await here.ask("怎么退货")).key == key("k")


async def test_a_form_by_other_rules_is_made_anew() -> None:
    """An operator has added synonyms since it was stored."""
    terms = Terms(synonyms=(("退货", "退换货"),))
    async with company() as before, company(terms=terms) as here:
        form = (await before.ask("怎么退货")).form
        await here.learn("怎么退货", "k", form=form)

        assert (await here.ask("怎么退换货")).key == key("k")


async def test_what_the_embedder_cannot_read_is_found_by_its_form_alone() -> None:
    async with company() as here:
        await here.learn("如何在上海注册公司", "zh")

        same = await here.ask("如何在上海注册公司")
        other = await here.ask("如何在上海注册商标")

    assert (same.action, same.kind) == ("serve", "canonical")
    assert (other.action, other.reason) == ("none", "ineligible:script")
    assert here.index.figures().rows == 0


async def test_a_text_that_is_cut_is_not_compared() -> None:
    async with company() as here:
        text = "word " * 60 + "end"
        await here.learn(text)

        assert here.index.figures().rows == 0
        assert (await here.ask(text + " other")).reason == "ineligible:long"


async def test_the_same_key_twice_is_one_question_the_last() -> None:
    async with company() as here:
        for _ in range(5):
            await here.learn("which bird sings loudest", "k")
        await here.learn("name the tallest mountain", "k")

        assert len(here.memory) == here.index.figures().rows == 1
        assert (await here.ask("which bird sings loudest")).action == "none"
        assert (await here.ask("name the tallest mountain")).action == "serve"


async def test_what_is_forgotten_has_no_vector_and_no_form_any_more() -> None:
    async with company() as here:
        await here.learn("which bird sings loudest", "bird")

        done = await here.service.answer(Forget((key("bird"), key("nobody"))))

        assert done == Done(1)
        assert (len(here.memory), here.index.figures().rows) == (0, 0)
        assert (await here.ask("which bird sings loudest")).reason == "scope_empty"


async def test_what_has_expired_is_not_found_and_swept() -> None:
    async with company() as here:
        await here.learn("which bird sings loudest", expires=1500.0)
        here.now = 1500.0

        assert (await here.ask("which bird sings loudest")).action == "none"
        await here.forgetting.sweep()
        assert (len(here.memory), here.index.figures().rows) == (0, 0)


async def test_what_has_expired_already_is_not_taken() -> None:
    async with company() as here:
        assert await here.learn("which bird sings loudest", expires=999.0) == 0


async def test_a_later_epoch_voids_what_was_asked_for_before() -> None:
    async with company() as here:
        await here.learn("which bird sings loudest", "old", epoch=1)
        await here.ask("anything else at all", epoch=2)
        stale = await here.ask("which bird sings loudest", epoch=2)
        late = await here.learn("which bird sings loudest", "late", epoch=1)
        await here.learn("which bird sings loudest", "new", epoch=2)

        assert stale.action == "none"
        assert late == 0
        assert (await here.ask("which bird sings loudest", epoch=2)).key == key("new")
        assert len(here.memory) == 1


async def test_a_request_can_only_raise_the_threshold() -> None:
    async with company(min_similarity=0.8, profile="relaxed") as here:
        await here.learn(LONG)

        loose = await here.ask(NEAR, threshold=0.1)
        tight = await here.ask(NEAR, threshold=0.999)

    assert loose.similarity < 0.999
    assert loose.action == "serve"
    assert (tight.action, tight.reason) == ("none", "below_threshold")


async def test_eviction_from_the_index_takes_the_question_along() -> None:
    async with company() as here:
        here.index._most_scopes = 2
        for number in range(5):
            await here.learn(f"which bird sings {number}", scope=bytes([number]) * 32)

        assert here.index.figures().scopes <= 2
        assert len(here.memory) == here.index.figures().rows


async def test_a_question_that_made_room_has_no_vector_any_more() -> None:
    async with company() as here:
        here.memory._limit = 3
        for word in ("bird", "fish", "tree", "rock", "lake"):
            await here.learn(f"which {word} is the largest of all")

        assert len(here.memory) == here.index.figures().rows == 3


async def test_an_embedder_that_fails_is_told_and_nothing_else_is_lost() -> None:
    async with company() as here:
        here.embedder.fails = True
        await here.learn("which bird sings loudest")

        with pytest.raises(EmbedderError):
            await here.ask("name the tallest mountain")
        assert len(here.memory) == 1


async def test_the_same_words_in_another_order_are_as_good_as_the_same_form() -> None:
    async with company(min_similarity=0.0) as here:
        await here.learn("is there free parking at the airport", "parking")

        found = await here.ask("is parking free at the airport")

    assert (found.action, found.kind, found.key) == ("serve", "canonical", key("parking"))
    assert 0.75 <= found.similarity < 1.0


async def test_in_shadow_nothing_is_served() -> None:
    async with company(mode="shadow") as here:
        await here.learn("which bird sings loudest")

        found = await here.ask("which bird sings loudest")

    assert (found.action, found.reason) == ("verify", "shadow")


async def test_without_evidence_a_neighbour_is_verified_and_a_form_served() -> None:
    async with company(min_similarity=0.0, profile="relaxed") as here:
        await here.learn(LONG, "long")
        await here.learn("怎么退货", "return")

        near = await here.ask(NEAR)
        same = await here.ask("退货流程")

    assert (near.action, near.reason, near.key) == ("verify", "budget", key("long"))
    assert same.action == "serve"


async def test_a_share_of_hits_is_verified() -> None:
    async with company(sample_rate=0.1) as here:
        await here.learn("which bird sings loudest")
        here.draw = 0.05
        drawn = await here.ask("which bird sings loudest")
        here.draw = 0.5
        other = await here.ask("which bird sings loudest")

    assert (drawn.action, drawn.reason) == ("verify", "sampled")
    assert other.action == "serve"


@pytest.mark.parametrize(
    ("answered", "wrong"), [("it sings for 30 days.", False), ("It sings for 14 days", True)]
)
async def test_answers_that_can_be_compared_become_labels(*, answered: str, wrong: bool) -> None:
    async with company(mode="shadow") as here:
        await here.learn("which bird sings loudest", "bird")
        found = await here.ask("which bird sings loudest")

        lesson = await here.service.answer(
            Compare(found, "which bird sings loudest", "It sings for 30 days", answered)
        )

        assert isinstance(lesson, Lesson)
        (label,) = lesson.labels
        assert (label.wrong, label.key, label.group) == (wrong, key("bird"), "m/en")
        assert here.lessons.groups()["m/en"]["canonical_labels"] == 1


async def test_no_question_waits_for_answers_that_are_compared() -> None:
    """They may be a hundred times as long, and in shadow there is a pair for each would-be hit."""
    async with company(mode="shadow") as here:
        await here.learn("which bird sings loudest", "bird")
        found = await here.ask("which bird sings loudest")
        here.embedder.busy = asyncio.Event()
        told = Compare(found, "which bird sings loudest", "answer a wren", "answer some wren")
        comparing = asyncio.create_task(here.service.answer(told))
        await here.embedder.begun.wait()
        near = await asyncio.wait_for(here.ask("which mountain is the tallest"), 5.0)
        assert not comparing.done()
        here.embedder.busy.set()

        assert near.tag == here.embedder.tag
        assert isinstance(await comparing, Lesson)


async def test_answers_that_are_too_long_are_not_embedded() -> None:
    async with company(mode="shadow") as here:
        assert await here.space.similarity("a" * (LONGEST + 1), "a") is None


SYNC, ASYNC = Judge("sync", "http://j/v1", "small"), Judge("async", "http://j/v1", "small")
STORED = "Send it back within a month and we pay the whole price."
REWORDED = "You get your money as soon as the parcel has come to us."


@pytest.mark.parametrize(("least", "labels"), [(0.9, 0), (0.0, 1)])
async def test_what_is_unsure_speaks_against_nothing_and_for_nothing(
    least: float, labels: int
) -> None:
    """Two wordings may say the same: what is open stays open, and what is closed stays closed."""
    async with company(mode="shadow", min_similarity=least, profile="relaxed") as here:
        await here.learn(LONG, "long")
        found = await here.ask(NEAR)
        assert found.kind == "semantic"

        lesson = await here.service.answer(Compare(found, NEAR, STORED, REWORDED))

    assert isinstance(lesson, Lesson)
    assert [label.wrong for label in lesson.labels] == [True] * labels


async def test_a_hit_that_is_called_wrong_is_forgotten_and_blocked() -> None:
    async with company() as here:
        await here.learn("which bird sings loudest", "bird")
        hit = await here.hit("which bird sings loudest", "req_1")
        assert hit.action == "serve"

        blamed = await here.service.answer(Blame("req_1"))
        again = await here.service.answer(Blame("req_1"))
        await here.learn("which bird sings loudest", "bird")
        blocked = await here.ask("which bird sings loudest")

    assert isinstance(blamed, Blamed)
    assert {block.key for block in blamed.lesson.blocks} == {key("bird")}
    assert blamed.lesson.labels[0].wrong
    assert blamed.closed  # nothing else was compared
    assert b"bird sings" not in msgspec.msgpack.encode(blamed)  # which other machines are told
    assert again == Blamed(Lesson())
    assert blocked.action == "none"


async def test_a_pair_is_blocked_in_other_spellings_too() -> None:
    async with company(max_error_rate=0.1) as here:
        await here.taught(100, "m/zh")
        await here.learn("怎么退货", "return")
        await here.hit("退货流程", "req_1")
        await here.service.answer(Blame("req_1"))
        await here.learn("怎么退货", "return")
        await here.learn("怎么换货", "exchange")

        assert (await here.ask("退货流程是什么")).action == "none"
        assert (await here.ask("换货流程")).action == "serve"


async def test_what_many_labels_speak_for_is_not_closed_by_one_that_is_wrong() -> None:
    async with company(max_error_rate=0.1) as here:
        await here.taught(100, "m/en")
        await here.learn("which bird sings loudest", "bird")
        await here.hit("which bird sings loudest", "req_1")

        blamed = await here.service.answer(Blame("req_1"))

    assert isinstance(blamed, Blamed)
    assert not blamed.closed


async def test_what_was_found_and_not_served_cannot_be_called_wrong() -> None:
    """The answer may have been gone, or the judge against it."""
    async with company() as here:
        await here.learn("which bird sings loudest", "bird")
        assert (await here.ask("which bird sings loudest")).action == "serve"

        assert await here.service.answer(Blame("req_1")) == Blamed(Lesson())
        assert here.lessons.groups() == {}


async def test_a_lesson_of_another_machine_counts_here_once() -> None:
    async with company() as here, company() as there:
        for one in (here, there):
            await one.learn("which bird sings loudest", "bird")
        await here.hit("which bird sings loudest", "req_1")
        blamed = await here.service.answer(Blame("req_1"))
        assert isinstance(blamed, Blamed)
        for _ in range(3):
            await there.service.answer(blamed.lesson)
        await there.learn("which bird sings loudest", "bird")

        assert (await there.ask("which bird sings loudest")).action == "none"
        assert there.lessons.groups()["m/en"]["canonical_labels"] == 1


@pytest.mark.parametrize(
    "other",
    [{"tag": "fake:2:64"}, {"profile": "strict"}, {"cross_language": True}],
    ids=["embedder", "profile", "languages"],
)
async def test_labels_of_neighbours_by_other_measures_do_not_count(other: dict[str, Any]) -> None:
    """They may open what is far too near to be told apart here. Of forms they count; and a pair
    that is wrong is wrong everywhere."""
    async with company(profile="relaxed") as here, company(**{"profile": "relaxed", **other}) as it:
        alike = company(profile="relaxed")
        await here.learn(LONG, "long")
        await here.learn("怎么退货", "return")
        assert (await here.hit(NEAR, "req_1")).kind == "semantic"
        assert (await here.hit("退货流程", "req_2")).kind == "canonical"
        blamed = [await here.service.answer(Blame(f"req_{n}")) for n in (1, 2)]
        async with alike as same:
            for one in blamed:
                assert isinstance(one, Blamed)
                await it.service.answer(one.lesson)
                await same.service.answer(one.lesson)

            assert same.lessons.groups() == here.lessons.groups()
        assert {n for found in it.lessons.groups().values() for n in found} == {
            n for n in here.lessons.groups()["m/zh"] if n.startswith("canonical")
        }
        assert it.lessons.blocked(SCOPE, NEAR, b"", key("long"))


async def test_what_was_learnt_outlives_the_process() -> None:
    async with company() as here, company() as after:
        await here.learn("which bird sings loudest", "bird")
        await here.hit("which bird sings loudest", "req_1")
        await here.service.answer(Blame("req_1"))
        after.lessons.restore(b"".join(here.lessons.dump()))
        await after.learn("which bird sings loudest", "bird")

        assert (await after.ask("which bird sings loudest")).action == "none"
        assert after.lessons.groups() == here.lessons.groups()


@pytest.mark.parametrize("kept", [b"", b"\xff", b"\x93\x63\xc0\x90", b"x" * 100])
async def test_what_is_no_dump_teaches_nothing(kept: bytes) -> None:
    async with company() as here:
        here.lessons.restore(kept)

        assert here.lessons.groups() == {}


@pytest.mark.parametrize("trouble", ["ask", "learn"])
async def test_after_an_index_was_away_it_wants_to_be_told_of_everything(trouble: str) -> None:
    """It may have come back empty: another birth makes the workers tell."""
    async with company() as here:
        await here.learn("which bird sings loudest", "bird")
        here.index.away = True
        with pytest.raises(IndexUnavailableError):
            await (here.ask(LONG) if trouble == "ask" else here.learn(LONG))
        here.index.away = False
        births = []
        for _ in range(3):
            here.now += 6.0
            await here.ask("name the tallest mountain")
            births.append(await born(here))

    assert births == [1000.0, 1012.0, 1012.0]


async def born(here: Company) -> float:
    state = await here.service.answer(Ask())
    assert isinstance(state, State)
    return state.figures["born"]


async def test_figures_tell_what_is_there() -> None:
    async with company() as here:
        await here.learn("which bird sings loudest")

        state = await here.service.answer(Ask())

    assert isinstance(state, State)
    assert state.figures["born"] == 1000.0
    assert (state.figures["entries"], state.figures["vectors"], state.figures["scopes"]) == (
        1,
        1,
        1,
    )
    assert state.figures["bytes"] > 0


async def test_an_answer_is_no_question() -> None:
    async with company() as here:
        assert await here.service.answer(Done(1)) == Failed("unknown")


async def test_many_records_at_once() -> None:
    async with company() as here:
        (vector,) = await here.embedder.embed(["which bird sings loudest"])
        stored = ("fake:1:64", packed(vector))
        records = [
            Record(key(str(n)), SCOPE, f"which bird number {n} sings", 2000.0, 0, *stored)
            for n in range(300)
        ]

        done = await here.service.answer(Learn(tuple(records)))

    assert done == Done(300)
    assert here.index.figures().rows == 300


async def test_a_question_that_may_not_be_compared_says_why() -> None:
    async with company() as here:
        found = await here.service.answer(Nearest(SCOPE, "m", "mail bob@example.com now", 3600.0))

    assert isinstance(found, Found)
    assert found.reason.startswith("ineligible:")


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("what is my balance", "what is the balance"),
        ("这个怎么退货", "怎么退货"),
        ("who is the president currently", "who is the president"),
    ],
    ids=["personal", "deictic", "time"],
)
async def test_what_may_not_be_compared_answers_nobody_else(stored: str, asked: str) -> None:
    """It is stored with its question where nobody could look when it was asked: by a request for a
    new answer, by a refresh, or while this process was away."""
    async with company() as here:
        assert await here.learn(stored) == 0

        found = await here.ask(asked)

    assert found.action == "none"


async def test_a_question_about_now_may_be_found_while_answers_live_shortly() -> None:
    async with company() as here:
        assert await here.learn("who is the president currently", ttl=60.0) == 1


async def test_an_index_that_is_away_when_it_is_swept_ends_nothing() -> None:
    """It would be the process's end, and all that it knows would have to be told anew."""
    async with company() as here:
        await here.learn("which bird sings loudest")
        here.index.remove = away  # type: ignore[method-assign]
        here.now = 3000.0
        await here.forgetting.sweep()

        assert (await here.ask("which bird sings loudest")).reason == "scope_empty"


async def away(scope: bytes, keys: object) -> None:
    raise IndexUnavailableError("redis: ConnectionError")


async def test_one_without_a_vector_costs_no_other_its_own() -> None:
    async with company() as here:
        vector = packed((await here.embedder.embed(["which bird sings loudest"]))[0])
        here.embedder.texts.clear()
        tag = here.embedder.tag
        whole = Record(key("a"), SCOPE, "which bird sings loudest", 2000.0, tag=tag, vector=vector)
        torn = Record(key("b"), SCOPE, "which river is the longest", 2000.0, tag=tag)
        await here.service.answer(Learn((whole, torn)))

    assert here.embedder.texts == ["which river is the longest"]


@pytest.mark.parametrize(("threshold", "served"), [(0.0, True), (0.99, False)])
async def test_what_a_judge_allowed_is_near_enough_for_who_wants_no_more(
    threshold: float, *, served: bool
) -> None:
    async with company(judge=ASYNC, min_similarity=0.98, profile="relaxed") as here:
        await here.learn(LONG, "long")
        found = await here.ask(NEAR)
        assert found.action == "promote"
        await here.service.answer(Consult(found, NEAR, STORED))

        found = await here.ask(NEAR, threshold=threshold)

    assert (found.action == "serve") == served


async def consulted(here: Company, found: Found, text: str) -> Found:
    answer = await here.service.answer(Consult(found, text, "an answer"))
    assert isinstance(answer, Found)
    return answer


VERDICTS: list[tuple[Word, str]] = [("yes", ""), ("no", "judge"), ("unknown", "judge_unknown")]


@pytest.mark.parametrize(("verdict", "reason"), VERDICTS)
async def test_a_judge_decides_on_what_is_near(verdict: Word, reason: str) -> None:
    """That it said nothing, perhaps since it is away, is told apart from a no."""
    async with company(judge=SYNC, profile="relaxed", verdict=verdict) as here:
        await here.learn(LONG)
        found = await here.ask(NEAR)

        assert found.action == "judge"
        told = await consulted(here, found, NEAR)
        assert (told.action, told.reason) == ("none" if reason else "serve", reason)


async def test_a_judge_decides_on_the_same_words_too_and_on_no_equal_form() -> None:
    async with company(judge=SYNC, min_similarity=0.0) as here:
        await here.learn("is there free parking at the airport")
        await here.learn("怎么退货")

        assert (await here.ask("is parking free at the airport")).action == "judge"
        assert (await here.ask("退货流程")).action == "serve"


@pytest.mark.parametrize(
    ("judge", "verdict", "answered", "action"),
    [
        (ASYNC, "yes", STORED, "serve"),
        (ASYNC, "yes", REWORDED, "serve"),
        (ASYNC, "no", STORED, "verify"),
        (ASYNC, "unknown", STORED, "verify"),
        (ASYNC, "yes", "", "verify"),
        (SYNC, "yes", STORED, "verify"),
    ],
    ids=["same", "reworded", "no", "unknown", "wrong", "sync"],
)
async def test_before_there_is_evidence_a_judge_may_open_a_pair_for_the_next_time(
    judge: Judge, verdict: Word, answered: str, action: str
) -> None:
    """Without a word of the operator's none is near enough at first: all are compared. What the
    comparison finds wrong no judge opens."""
    async with company(judge=judge, verdict=verdict, min_similarity=0.0, profile="relaxed") as here:
        await here.learn(LONG, "long")
        found = await here.ask(NEAR)
        assert (found.action, found.reason) == ("verify", "budget")
        lesson = await here.service.answer(Compare(found, NEAR, STORED, answered))

        assert isinstance(lesson, Lesson)
        assert len(lesson.labels) == 1
        assert (await here.ask(NEAR)).action == action
        assert (await here.ask(f"{NEAR} today", threshold=0.0)).action != "serve"


async def test_a_judges_word_is_about_the_answer_that_it_saw() -> None:
    """Another answer has come under the same key since."""
    async with company(judge=ASYNC, min_similarity=0.99, profile="relaxed") as here:
        await here.learn(LONG, "long")
        await consulted(here, await here.ask(NEAR), NEAR)
        assert (await here.ask(NEAR)).action == "serve"
        await here.learn(LONG, "long", expires=3000.0)

        assert (await here.ask(NEAR)).action == "promote"
