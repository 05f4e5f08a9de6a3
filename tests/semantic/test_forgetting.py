"""Questions that leave: with all that was known of them, counted, and none that came meanwhile."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from semantic.index.port import IndexUnavailableError
from semantic.protocol import Forget, Review, Reviewed
from semantic.vector import packed
from tests.semantic.company import OTHER, SCOPE, Company, company, key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from semantic.protocol import Why
    from semantic.vector import Vectors

WORDS = ("bird", "fish", "tree", "rock", "lake", "moon", "star")

ENTRY: dict[str, Any] = {"policy": "entry", "min_similarity": 0.0, "max_error_rate": 0.05}


async def learnt(here: Company, count: int = len(WORDS)) -> None:
    for word in WORDS[:count]:
        await here.learn(f"which {word} is the largest of all", word)


async def review(here: Company, most: int = 256) -> Reviewed:
    told = await here.service.answer(Review(most))
    assert isinstance(told, Reviewed)
    return told


async def taught(here: Company, stored: bytes) -> None:
    """So many of its hits were right that it is served."""
    await here.taught(300, "m/en", "semantic", 0.95, stored)
    assert action(here, stored) == "serve"


def action(here: Company, stored: bytes) -> str:
    return here.lessons.verdict("m/en", "semantic", 0.95, stored)[0]


async def test_all_have_their_turn_and_then_again() -> None:
    async with company() as here:
        await learnt(here)
        rounds = [[key for _ in range(4) for key in (await review(here, 2)).keys] for _ in range(2)]

    for one in rounds:
        assert sorted(one) == sorted(key(word) for word in WORDS)


async def test_what_left_or_came_meanwhile_is_in_no_turn_or_in_the_next_round() -> None:
    async with company() as here:
        await learnt(here, 3)
        first = await review(here, 1)
        await here.service.answer(Forget((key("fish"),)))
        await here.learn("which tower is the tallest", "tower")
        rest = await review(here)

        assert first.keys == (key("bird"),)
        assert rest.keys == (key("tree"),)
        assert key("tower") in (await review(here)).keys


async def test_a_turn_is_no_use() -> None:
    async with company() as here:
        here.memory._limit = 3
        await learnt(here, 3)
        await review(here, 1)
        await here.learn("which tower is the tallest", "tower")

        assert key("bird") not in here.memory


async def test_what_was_learnt_since_the_review_stays() -> None:
    """Its answer may have been stored between the look at the tiers and the word that it is
    gone."""
    async with company() as here:
        await learnt(here, 2)
        told = await review(here)
        await here.learn("which bird is the largest of all", "bird")
        await here.service.answer(Forget(told.keys, "evicted", told.mark))

        assert here.memory.keys() == [key("bird")]
        assert (await here.ask("which bird is the largest of all")).key == key("bird")
        assert here.index.figures().rows == 1


async def test_what_was_learnt_since_a_look_up_that_led_nowhere_stays() -> None:
    async with company() as here:
        await learnt(here, 1)
        found = await here.ask("which bird is the largest of all")
        stale = Forget((found.key,), "dead", found.mark)
        await learnt(here, 1)
        await here.service.answer(stale)

        again = await here.ask("which bird is the largest of all")
        assert again.action == "serve"
        await here.service.answer(Forget((again.key,), "dead", again.mark))
        assert len(here.memory) == 0


@pytest.mark.parametrize("why", ["purged", "dead", "evicted"])
async def test_what_is_forgotten_is_counted_by_reason_and_once(why: Why) -> None:
    async with company() as here:
        await learnt(here, 3)
        for _ in range(2):
            await here.service.answer(Forget((key("bird"), key("fish"), key("nobody")), why))

        assert here.forgotten() == {why: 2}


async def test_each_way_to_leave_has_its_reason() -> None:
    async with company() as here:
        await here.learn("which bird is the largest of all", "bird", expires=1500.0)
        here.now = 1600.0
        await here.forgetting.sweep()
        await here.learn("which fish is the largest of all", "fish", epoch=1)
        await here.ask("anything else at all", epoch=2)
        await here.learn("which tree is the largest of all", "tree", epoch=2)
        await here.hit("which tree is the largest of all", "req_1")
        lesson = here.lessons.blame("req_1")
        await here.service.answer(lesson)

        assert here.forgotten() == {
            "expired": 1,
            "void": 1,
            "wrong": 1,
        }


async def test_one_that_takes_its_own_place_is_not_forgotten() -> None:
    async with company() as here:
        for _ in range(3):
            await learnt(here, 2)

        assert here.forgotten() == {}


async def test_beyond_a_bound_no_form_nor_record_is_left_of_what_the_index_drops() -> None:
    """Nor does any of it come back by itself."""
    async with company(**ENTRY) as here:
        here.index._most_scopes = 1
        await here.learn("how do I get a refund", "refund")
        await here.learn("which bird is the largest of all", "bird")
        await taught(here, key("bird"))
        asked = "which bird is the largest of all of them"
        await here.learn("name the tallest mountain", "peak", OTHER)

        assert here.memory.keys() == [key("peak")]
        assert (await here.ask("refund process")).action == "none"
        assert (await here.ask(asked)).reason == "scope_empty"
        assert action(here, key("bird")) == "verify"
        assert here.forgotten() == {"bound": 2}
        assert (here.index.figures().rows, here.index.figures().scopes) == (1, 1)


async def test_what_is_fetched_anew_under_its_key_keeps_its_record() -> None:
    """Else answers that live an hour never have one."""
    async with company(**ENTRY) as here:
        await here.learn("which bird is the largest of all", "bird", expires=1500.0)
        await taught(here, key("bird"))
        here.now = 1500.0
        await here.forgetting.sweep()

        assert len(here.memory) == 0
        assert action(here, key("bird")) == "serve"


async def test_what_made_room_in_the_memory_is_counted_as_that() -> None:
    async with company() as here:
        here.memory._limit = 3
        await learnt(here, 5)

        assert here.forgotten() == {"bound": 2}
        assert here.index.figures().rows == 3


async def test_what_was_forgotten_while_its_vector_was_made_has_none() -> None:
    """It would take a place for ever, and lead nowhere."""
    async with company() as here:
        learning = asyncio.create_task(here.learn("which bird is the largest of all", "bird"))
        for _ in range(3):  # it is known by now, and its vector on the way
            await asyncio.sleep(0)
        assert (key("bird") in here.memory, here.index.figures().rows) == (True, 0)
        await here.service.answer(Forget((key("bird"),)))
        await learning

        assert here.embedder.texts == ["which bird is the largest of all"]
        assert here.index.figures().rows == 0


class Others:
    """An index that other machines share, by what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, list[bytes]]] = []
        self.away = False

    async def add(self, scope: bytes, keys: Sequence[bytes], vectors: Vectors) -> None:
        self.told.append(("add", list(keys)))

    async def remove(self, scope: bytes, keys: Sequence[bytes]) -> None:
        self.told.append(("remove", list(keys)))

    async def leave(self, scope: bytes, keys: Sequence[bytes]) -> None:
        self.told.append(("leave", list(keys)))

    async def keep(self, scopes: Mapping[bytes, Sequence[bytes]]) -> None:
        if self.away:
            raise IndexUnavailableError("redis: ConnectionError")
        self.told += [("keep", list(keys)) for keys in scopes.values()]


def sharing(here: Company) -> Others:
    """Its index, from now on."""
    others = Others()
    object.__setattr__(here.space, "index", others)
    return others


EVERYWHERE: Iterable[Why] = ("purged", "wrong", "expired", "void")
HERE: Iterable[Why] = ("dead", "evicted", "bound")


@pytest.mark.parametrize("why", [*EVERYWHERE, *HERE])
async def test_what_only_this_machine_has_lost_is_not_taken_from_the_others(why: Why) -> None:
    async with company() as here:
        others = sharing(here)
        await here.learn("which bird is the largest of all", "bird")
        await here.forgetting.forget((key("bird"),), why)

    expected = "remove" if why in EVERYWHERE else "leave"
    assert others.told == [("add", [key("bird")]), (expected, [key("bird")])]


async def test_who_has_its_turn_is_said_to_be_wanted() -> None:
    async with company() as here:
        others = sharing(here)
        await learnt(here, 2)
        others.told.clear()
        await review(here)
        others.away = True
        told = await review(here)

    assert others.told == [("keep", [key("bird"), key("fish")])]
    assert told.keys == (key("bird"), key("fish"))


async def test_many_of_one_scope_are_kept_in_one_go() -> None:
    async with company() as here:
        vector = packed(np.eye(64, dtype=np.float32)[0])
        others = sharing(here)
        for word in WORDS:
            for scope in (SCOPE, OTHER):
                name = f"{word}{scope[:1].decode()}"
                text = f"which {word} is the largest of all"
                await here.learn(text, name, scope, tag="fake:1:64", vector=vector)
        others.told.clear()
        await review(here)

    assert [len(keys) for _, keys in others.told] == [7, 7]
