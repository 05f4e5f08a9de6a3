"""An embedder that is away, and one that cannot be had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from semantic.embed.port import EmbedderError
from semantic.embed.waiting import LONGEST, patient
from tests.semantic.company import FakeEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semantic.embed.port import Embedder

AWAY, BUSY = EmbedderError("no connection"), EmbedderError("answered 503")


class Server:
    """What becomes of each attempt."""

    def __init__(self, met: Sequence[Exception]) -> None:
        self._met = list(met)
        self.said: list[str] = []
        self.slept: list[float] = []

    async def make(self) -> Embedder:
        if self._met:
            raise self._met.pop(0)
        return FakeEmbedder()

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def had(self) -> Embedder:
        return await patient(self.make, self.said.append, self.sleep)


async def test_it_is_waited_for_and_each_change_told_once() -> None:
    server = Server([AWAY, AWAY, BUSY, BUSY, AWAY])
    assert (await server.had()).tag == FakeEmbedder.tag

    waits = "the semantic process waits for its embedder: "
    assert server.said == [
        f"{waits}no connection - at `semantic.embedder`",
        f"{waits}answered 503 - at `semantic.embedder`",
        f"{waits}no connection - at `semantic.embedder`",
        "the semantic process has its embedder",
    ]


async def test_the_pauses_grow_to_a_minute() -> None:
    server = Server([AWAY] * 12)
    await server.had()

    assert server.slept == [0.25, 0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60, LONGEST]


async def test_one_that_answers_at_once_is_not_worth_a_word() -> None:
    server = Server([])
    await server.had()

    assert server.said == []


async def test_a_setting_that_is_wrong_is_not_waited_for() -> None:
    with pytest.raises(ValueError, match="URL"):
        await Server([ValueError("no URL")]).had()
