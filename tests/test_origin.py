"""Embeddings batches on the path: only what is not known is asked for."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
import pytest

from proxy.core.errors import RefusedError
from tests import answers
from tests.asking import arrival, lookup
from tests.fakes import JSON, Answer, FakeStore, settle
from tests.staged import Got, Stage, broken, failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.core.entry import Key, Stored

PATH = "/v1/embeddings"


def batch(*texts: str) -> dict[str, Any]:
    return {"model": "m", "input": list(texts)}


def vectors(*texts: str, backwards: bool = False, **how: Any) -> Answer:
    """The upstream's answer for these texts."""
    body = answers.dumps(answers.embeddings(batch(*texts), backwards=backwards))
    return Answer((body,), headers=(*JSON, ("content-length", str(len(body)))), **how)


async def ask(stage: Stage, *texts: str, control: tuple[str, str] | None = None) -> Got:
    got = await stage.ask(batch(*texts), *([control] if control else ()), path=PATH)
    await settle()
    return got


def sent(stage: Stage) -> list[list[str]]:
    """The items of each call."""
    return [orjson.loads(call.body)["input"] for call in stage.upstream.calls]  # type: ignore[arg-type]  # bytes here


async def embedded(got: Got) -> list[Any]:
    """The vectors of an answer, which must be numbered in order."""
    data = (await got.json())["data"]
    assert [one["index"] for one in data] == list(range(len(data)))
    return [one["embedding"] for one in data]


def expected(*texts: str) -> list[Any]:
    return [answers.vector(text) for text in texts]


async def test_a_batch_asked_twice_is_answered_once() -> None:
    stage = Stage(vectors("a", "b"))
    first, second = await ask(stage, "a", "b"), await ask(stage, "a", "b")

    assert (first.outcome, second.outcome) == ("MISS", "HIT")
    assert await embedded(first) == await embedded(second) == expected("a", "b")


async def test_items_that_are_known_from_other_batches_are_not_asked_for() -> None:
    stage = Stage(vectors("a", "b"), vectors("c", "d", backwards=True))
    await ask(stage, "a", "b")
    got = await ask(stage, "c", "b", "d", "c", "a")

    assert sent(stage) == [["a", "b"], ["c", "d"]]
    assert await embedded(got) == expected("c", "b", "d", "c", "a")


class Blind(FakeStore):
    """Finds nothing in its first looks."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.looks = looks

    async def get(self, key: Key, now: float) -> Stored | None:
        self.looks -= 1
        return await super().get(key, now) if self.looks < 0 else None


async def test_a_batch_whose_items_were_stored_meanwhile_is_not_asked_for_as_an_empty_one() -> None:
    """Other workers may store them between the looks."""
    origin = Stage(vectors("a", "b"))
    await ask(origin, "a", "b")
    store = Blind(looks=4)  # the first item and the raw key, before the flight and in it
    store.data |= origin.store.data
    stage = Stage(vectors("a", "b"), stores=[store])
    got = await ask(stage, "a", "b")

    assert sent(stage) == [["a", "b"]]
    assert await embedded(got) == expected("a", "b")


async def test_a_batch_of_known_items_is_a_hit_in_any_order() -> None:
    stage = Stage(vectors("a", "b"))
    await ask(stage, "a", "b")
    got = await ask(stage, "b", "a", "b")

    assert (got.outcome, await embedded(got)) == ("HIT", expected("b", "a", "b"))


async def test_what_was_asked_for_in_part_is_known_afterwards() -> None:
    stage = Stage(vectors("a"), vectors("b"))
    await ask(stage, "a")
    await ask(stage, "a", "b")

    assert (await ask(stage, "b")).outcome == "HIT"


async def test_an_answer_put_together_tells_neither_length_nor_coding_of_its_part() -> None:
    stage = Stage(vectors("a"), vectors("b"))
    await ask(stage, "a")
    got = await ask(stage, "a", "b")

    assert got.head.get("content-length") is None


async def test_no_cache_asks_for_every_item() -> None:
    stage = Stage(vectors("a"), vectors("a", "b"))
    await ask(stage, "a")
    await ask(stage, "a", "b", control=("cache-control", "no-cache"))

    assert sent(stage) == [["a"], ["a", "b"]]


async def test_items_of_before_an_invalidation_are_asked_for_again() -> None:
    stage = Stage(vectors("a"), vectors("a", "b"))
    await ask(stage, "a")
    stage.epoch += 1
    await ask(stage, "a", "b")

    assert sent(stage) == [["a"], ["a", "b"]]


async def test_an_error_to_a_part_is_the_answer_and_is_not_kept() -> None:
    stage = Stage(vectors("a"), failed(429), vectors("b"))
    await ask(stage, "a")
    got = await ask(stage, "a", "b")

    assert (got.status, await got.body()) == (429, answers.error("no"))
    assert await embedded(await ask(stage, "a", "b")) == expected("a", "b")


async def test_a_clients_mistake_in_a_batch_is_not_remembered_for_its_items() -> None:
    stage = Stage(failed(400), vectors("a"))
    await ask(stage, "a", "b")

    assert (await ask(stage, "a")).status == 200


@pytest.mark.parametrize(
    "odd",
    [
        vectors("b", "c"),
        Answer((b"{}",)),
        Answer((b"<p>",), headers=(("content-type", "text/html"),)),
    ],
    ids=["too many", "not an answer", "another kind"],
)
async def test_a_part_that_does_not_fit_is_asked_for_again_as_a_whole(odd: Answer) -> None:
    stage = Stage(vectors("a"), odd, vectors("a", "b"))
    await ask(stage, "a")
    got = await ask(stage, "a", "b")

    assert await embedded(got) == expected("a", "b")
    assert sent(stage) == [["a"], ["b"], ["a", "b"]]


async def test_a_part_that_breaks_off_is_the_upstreams_failure() -> None:
    stage = Stage(vectors("a"), Answer((b'{"da', broken())))
    await ask(stage, "a")

    with pytest.raises(RefusedError):
        await ask(stage, "a", "b")
    await settle()
    assert stage.node.running == 0


async def test_the_same_batch_at_once_is_asked_for_once_in_part() -> None:
    door = asyncio.Event()
    stage = Stage(vectors("a"), vectors("b", door=door))
    await ask(stage, "a")
    asking = [asyncio.create_task(ask(stage, "a", "b")) for _ in range(3)]
    await settle()
    door.set()
    got = [await one for one in asking]

    assert [await embedded(one) for one in got] == [expected("a", "b")] * 3
    assert sent(stage) == [["a"], ["b"]]


@pytest.mark.parametrize("known", [(), ("a",)], ids=["whole", "in part"])
async def test_what_was_purged_of_a_batch_on_its_way_is_not_kept(known: tuple[str, ...]) -> None:
    """It was asked for before the purge; and who asks now does not board it."""
    door = asyncio.Event()
    asked = ("b",) if known else ("a", "b")
    stage = Stage(*[vectors(one) for one in known], vectors(*asked, door=door), vectors("b"))
    for one in known:
        await ask(stage, one)
    first = asyncio.create_task(ask(stage, "a", "b"))
    await settle()
    purged = lookup(arrival(batch("b"), path=PATH)).items[0]
    stage.flights.purge(purged)
    flying = len(stage.flights)
    door.set()
    await first

    assert (flying, purged in stage.store.data) == (0, False)


class Writing(FakeStore):
    """A store that has just taken an item when it is purged."""

    purge: Callable[[Key], None] | None = None

    async def put(self, stored: Stored, now: float) -> bool:
        kept = await super().put(stored, now)
        if self.purge is not None:
            self.purge(stored.key)
        return kept


@pytest.mark.parametrize("known", [(), ("a",)], ids=["whole", "in part"])
async def test_what_was_purged_of_a_batch_while_it_was_stored_is_not_kept(
    known: tuple[str, ...],
) -> None:
    store, asked = Writing(), ("b",) if known else ("a", "b")
    stage = Stage(*[vectors(one) for one in known], vectors(*asked), stores=[store])
    for one in known:
        await ask(stage, one)
    before = set(store.data)
    store.purge = stage.flights.purge
    await ask(stage, "a", "b")

    assert set(store.data) == before


async def test_a_batch_without_every_vector_is_passed_on_and_not_kept() -> None:
    stage = Stage(vectors("a"))
    got = await ask(stage, "a", "b")

    assert await embedded(got) == expected("a")
    assert not stage.store.data
