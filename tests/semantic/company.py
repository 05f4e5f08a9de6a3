"""The semantic process's parts without a process, around an embedder played by hand."""

from __future__ import annotations

import asyncio
import zlib
from contextlib import asynccontextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from semantic.budget import Budget
from semantic.embed.batch import Batcher
from semantic.embed.port import EmbedderError
from semantic.entry_policy import EntryPolicy
from semantic.forgetting import Forgetting
from semantic.index.local import Local
from semantic.index.port import IndexUnavailableError, Near
from semantic.lessons import Lessons
from semantic.lookup import Lookup
from semantic.memory import Memory
from semantic.policy import basis
from semantic.protocol import (
    FORGOTTEN,
    Done,
    Found,
    Label,
    Learn,
    Lesson,
    Nearest,
    Record,
    Served,
)
from semantic.service import Service
from semantic.settings import Settings
from semantic.space import Space
from semantic.vector import unit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from semantic.compare import Word
    from semantic.protocol import Kind
    from semantic.vector import Vector, Vectors

SCOPE, OTHER = b"s" * 32, b"o" * 32


def key(name: str) -> bytes:
    return name.encode().ljust(32, b"-")


class FakeEmbedder:
    """Words as directions: texts that share most words are near. It reads Latin letters only, and
    no text beyond 200 characters whole."""

    tag = "fake:1:64"
    dimension = 64
    languages: frozenset[str] | None = None
    batches = True

    def __init__(self) -> None:
        self.fails = False
        self.texts: list[str] = []
        self.busy: asyncio.Event | None = None
        """Until it is set, answers take their time."""
        self.begun = asyncio.Event()
        """Whether one does."""

    def takes(self, text: str) -> bool:
        return text.isascii()

    def whole(self, text: str) -> bool:
        return len(text) <= 200

    async def embed(self, texts: Sequence[str]) -> Vectors:
        await asyncio.sleep(0)
        if self.fails:
            raise EmbedderError("no")
        if self.busy is not None and texts[0].startswith("answer"):
            self.begun.set()
            await self.busy.wait()
        self.texts += texts
        rows = np.full((len(texts), 64), 1e-3, np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[zlib.crc32(word.encode()) % 64] += 1
        return unit(rows, 64)

    def aside(self) -> FakeEmbedder:
        return self

    async def aclose(self) -> None:
        """It has nothing to give up."""


class FakeJudge:
    """It says the same of everything."""

    def __init__(self, verdict: Word) -> None:
        self._verdict: Word = verdict

    async def ask(self, question: str, answer: str) -> Word:
        return self._verdict


class Index(Local):
    """One that can be away."""

    away = False

    async def search(self, scope: bytes, vector: Vector, k: int) -> list[Near]:
        self._check()
        return await super().search(scope, vector, k)

    async def add(self, scope: bytes, keys: Sequence[bytes], vectors: Vectors) -> None:
        self._check()
        await super().add(scope, keys, vectors)

    def _check(self) -> None:
        if self.away:
            raise IndexUnavailableError("away")


class Company:
    """All parts, and the time that they go by."""

    def __init__(self, judge: Any = None, /, tag: str = FakeEmbedder.tag, **settings: Any) -> None:
        given = {"mode": "on", "min_similarity": 0.9, "sample_rate": 0.0, **settings}
        self.settings = Settings(**given)
        self.now = 1000.0
        self.draw = 0.5
        self.embedder = FakeEmbedder()
        self.embedder.tag = tag
        self.memory = Memory(1000)
        self.index = Index(64, evicted=self._evicted)
        batchers = (Batcher(self.embedder, limit=8), Batcher(self.embedder, limit=8))
        self.space = Space(self.embedder, *batchers, self.index)
        names = count()
        self.basis = basis(self.settings, tag)
        self.lessons = Lessons(
            self.settings,
            (EntryPolicy if self.settings.policy == "entry" else Budget)(self.settings, self.basis),
            judge,
            self.space.similarity,
            lambda: self.draw,
            lambda: next(names).to_bytes(16, "big"),
            basis=self.basis,
        )
        clock = self._clock
        self.lookup = Lookup(self.settings, self.memory, self.space, self.lessons, clock)
        self.forgetting = Forgetting(self.memory, self.space, self.lessons, clock)
        parts = (self.settings, self.memory, self.space, self.lookup, self.lessons)
        self.service = Service(*parts, self.forgetting, clock)

    def _clock(self) -> float:
        return self.now

    def _evicted(self, scope: bytes, keys: tuple[bytes, ...]) -> None:
        self.forgetting.crowded_out(keys)

    async def taught(
        self,
        times: int,
        group: str,
        kind: Kind = "canonical",
        similarity: float = 1.0,
        key: bytes = b"",
    ) -> None:
        """So many hits of a group were right."""
        for number in range(times):
            name = number.to_bytes(16, "big")
            label = Label(name, group, kind, similarity, key, wrong=False, basis=self.basis)
            await self.service.answer(Lesson((label,)))

    def forgotten(self) -> dict[str, float]:
        """How many questions, by reason."""
        figures = self.forgetting.figures()
        return {name.removeprefix(FORGOTTEN): count for name, count in figures.items()}

    async def learn(self, text: str, name: str = "", scope: bytes = SCOPE, **more: Any) -> int:
        """How many questions were taken."""
        record = Record(key(name or text[:32]), scope, text, more.pop("expires", 2000.0), **more)
        done = await self.service.answer(Learn((record,)))
        assert isinstance(done, Done)
        return done.count

    async def hit(self, text: str, request: str) -> Found:
        """Ask, and tell that the request was answered with what was found."""
        found = await self.ask(text)
        await self.service.answer(Served(found, text, request))
        return found

    async def ask(self, text: str, scope: bytes = SCOPE, **more: Any) -> Found:
        found = await self.service.answer(Nearest(scope, "m", text, 3600.0, **more))
        assert isinstance(found, Found)
        return found


@asynccontextmanager
async def company(*, verdict: Word = "yes", **settings: Any) -> AsyncIterator[Company]:
    """The parts, with the embedder at work. `verdict`: what the judge says, if one is set."""
    made = Company(FakeJudge(verdict) if "judge" in settings else None, **settings)
    loops = (made.space.vectors.run(), made.space.answers.run())
    running = [asyncio.create_task(loop) for loop in loops]
    try:
        yield made
    finally:
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await made.index.aclose()
