"""Callers that wait for the embedder, together and yet each alone."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

from semantic.embed.batch import Batcher, BusyError
from semantic.embed.port import EmbedderError
from semantic.vector import unit
from tests.semantic.models import DIMENSION, pseudo, rows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from semantic.vector import Vectors


class Stepped:
    """An embedder that takes as long as its door is closed."""

    tag, dimension, languages = "stepped:1:8", DIMENSION, None

    def __init__(self, *, batches: bool = True) -> None:
        self.batches = batches
        self.calls: list[list[str]] = []
        self.door = asyncio.Event()
        self.errors: dict[str, Exception] = {}
        """By a text of the batch."""

    def takes(self, text: str) -> bool:
        return True

    def whole(self, text: str) -> bool:
        return True

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        await self.door.wait()
        for text in texts:
            if text in self.errors:
                raise self.errors[text]
        return unit(rows(texts), DIMENSION)

    def aside(self) -> Stepped:
        return self

    async def aclose(self) -> None:
        pass


@asynccontextmanager
async def running(batcher: Batcher) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(batcher.run())
    yield task
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def settle() -> None:
    """Everybody has come as far as they get."""
    for _ in range(10):
        await asyncio.sleep(0)


def asking(batcher: Batcher, *texts: str) -> list[asyncio.Task[np.typing.NDArray[np.float32]]]:
    return [asyncio.create_task(batcher.vector(text)) for text in texts]


async def test_what_waits_goes_together_and_each_gets_its_own() -> None:
    stepped = Stepped()
    batcher = Batcher(stepped)
    async with running(batcher):
        first = asking(batcher, "one")
        await settle()
        others = asking(batcher, "two", "three", "four")
        await settle()
        stepped.door.set()
        found = await asyncio.gather(*first, *others)

    assert stepped.calls == [["one"], ["two", "three", "four"]]
    wanted = unit(np.stack([pseudo(text) for text in ("one", "two", "three", "four")]), DIMENSION)
    assert np.array_equal(np.stack(found), wanted)


async def test_a_batch_has_its_bound() -> None:
    stepped = Stepped()
    batcher = Batcher(stepped, batch=2)
    stepped.door.set()
    tasks = asking(batcher, *"abcde")
    await settle()
    async with running(batcher):
        await asyncio.gather(*tasks)

    assert stepped.calls == [["a", "b"], ["c", "d"], ["e"]]


async def test_an_embedder_whose_batches_change_vectors_gets_one_text_at_a_time() -> None:
    stepped = Stepped(batches=False)
    batcher = Batcher(stepped)
    stepped.door.set()
    tasks = asking(batcher, *"abc")
    await settle()
    async with running(batcher):
        await asyncio.gather(*tasks)

    assert stepped.calls == [["a"], ["b"], ["c"]]


async def test_when_as_many_wait_as_may_the_next_is_refused_at_once() -> None:
    """Also while others are on their way; those who wait are served."""
    stepped = Stepped()
    batcher = Batcher(stepped, limit=2)
    async with running(batcher):
        tasks = asking(batcher, "flying")
        await settle()
        tasks += asking(batcher, "a", "b")
        await settle()
        with pytest.raises(BusyError):
            await batcher.vector("c")
        stepped.door.set()
        await asyncio.gather(*tasks)

        assert batcher.waiting == 0
        await batcher.vector("c")


async def test_the_same_text_waits_once_or_joins_its_flight() -> None:
    stepped = Stepped()
    batcher = Batcher(stepped, limit=1)
    async with running(batcher):
        tasks = asking(batcher, "same", "same")
        await settle()
        tasks += asking(batcher, "same")
        await settle()
        stepped.door.set()
        found = await asyncio.gather(*tasks)

    assert stepped.calls == [["same"]]
    assert len(found) == 3


async def test_one_who_leaves_takes_nobody_along() -> None:
    """Neither of those with the same text, nor of those in the same batch."""
    stepped = Stepped()
    batcher = Batcher(stepped)
    async with running(batcher):
        leaves, same, other = asking(batcher, "same", "same", "other")
        await settle()
        leaves.cancel()
        await settle()
        stepped.door.set()
        await asyncio.gather(same, other)

    assert leaves.cancelled()


async def test_one_who_leaves_just_when_the_vector_comes_stops_nothing() -> None:
    stepped = Stepped()
    batcher = Batcher(stepped)
    async with running(batcher):
        leaves, other = asking(batcher, "leaves", "other")
        await settle()
        stepped.door.set()
        leaves.cancel()
        await other
        await batcher.vector("next")

    assert leaves.cancelled()


async def test_a_text_that_nobody_waits_for_any_more_is_not_embedded() -> None:
    stepped = Stepped()
    batcher = Batcher(stepped, limit=1)
    (leaves,) = asking(batcher, "gone")
    await settle()
    leaves.cancel()
    await settle()
    stepped.door.set()
    async with running(batcher):
        await batcher.vector("next")

    assert stepped.calls == [["next"]]


async def test_an_error_is_that_of_its_batch_and_of_no_other() -> None:
    stepped = Stepped()
    stepped.errors["bad"] = EmbedderError("broken")
    batcher = Batcher(stepped, batch=2)
    stepped.door.set()
    tasks = asking(batcher, "bad", "beside", "later")
    await settle()
    async with running(batcher):
        ended = await asyncio.gather(*tasks, return_exceptions=True)

        assert [isinstance(one, EmbedderError) for one in ended] == [True, True, False]
        stepped.errors.clear()
        await batcher.vector("bad")


async def test_a_text_that_was_just_embedded_is_remembered() -> None:
    stepped = Stepped()
    batcher = Batcher(stepped, memo=2)
    stepped.door.set()
    async with running(batcher):
        for text in ("a", "b", "a", "c", "a", "b"):
            await batcher.vector(text)

    assert stepped.calls == [["a"], ["b"], ["c"], ["b"]]


async def test_a_vector_that_others_have_too_cannot_be_changed() -> None:
    stepped = Stepped()
    batcher = Batcher(stepped)
    stepped.door.set()
    async with running(batcher):
        vector = await batcher.vector("a")
    with pytest.raises(ValueError, match="read-only"):
        vector[0] = 0.0


async def test_when_it_ends_nobody_waits_for_ever() -> None:
    batcher = Batcher(Stepped(), batch=1)
    async with running(batcher) as task:
        tasks = asking(batcher, "flying", "waiting")
        await settle()
        task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        with pytest.raises(EmbedderError):
            await batcher.vector("late")

    assert all(isinstance(one, EmbedderError) for one in ended)
