"""What the semantic process says to its parent."""

from __future__ import annotations

import asyncio
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from semantic.embed.batch import Batcher
from semantic.pulse import beat
from tests.fakes import settle
from tests.semantic.company import FakeEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from semantic.vector import Vectors


@contextmanager
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    try:
        yield ends
    finally:
        for end in ends:
            os.close(end)


@pytest.mark.parametrize("well", [True, False])
async def test_it_says_that_it_is_well_while_it_is(*, well: bool) -> None:
    with pipe() as (told, tell):
        os.set_blocking(told, False)
        beating = asyncio.create_task(beat(tell, lambda: well))
        await settle()
        beating.cancel()
        try:
            said = os.read(told, 8)
        except BlockingIOError:
            said = b""

    assert said == (b"1" if well else b"")


async def test_a_parent_that_reads_nothing_holds_nobody_up() -> None:
    with pipe() as (_, tell):
        os.set_blocking(tell, False)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(tell, b"1" * 4096)
        os.set_blocking(tell, True)
        beating = asyncio.create_task(beat(tell, lambda: True))
        await settle()

        assert not beating.done()
        beating.cancel()


class StuckEmbedder(FakeEmbedder):
    """Its thread has met another one that waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        await self.gate.wait()
        return await super().embed(texts)


async def test_how_long_a_batch_takes_is_known_while_it_does() -> None:
    embedder = StuckEmbedder()
    batcher = Batcher(embedder)
    running = asyncio.create_task(batcher.run())
    assert batcher.flown == 0.0

    asking = asyncio.create_task(batcher.vector("a"))
    await settle()
    assert 0.0 < batcher.flown < 60.0
    embedder.gate.set()
    await asking
    assert batcher.flown == 0.0
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
