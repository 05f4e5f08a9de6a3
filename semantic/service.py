"""What the semantic process does: remembers stored questions, and finds one that asks the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from semantic.canonical import question
from semantic.embed.port import EmbedderError
from semantic.index.port import IndexUnavailableError
from semantic.memory import Held, Memory
from semantic.protocol import (
    Ask,
    Blame,
    Compare,
    Consult,
    Done,
    Failed,
    Forget,
    Learn,
    Lesson,
    Nearest,
    State,
)
from semantic.reading import read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from semantic.embed.batch import Batcher
    from semantic.index.port import Index
    from semantic.lessons import Lessons
    from semantic.lookup import Lookup
    from semantic.protocol import Message, Record
    from semantic.settings import Settings

_UNKNOWN: Final = Failed("unknown")


class Service:
    """Answers messages."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        index: Index,
        batcher: Batcher,
        lookup: Lookup,
        lessons: Lessons,
        now: Callable[[], float],
    ) -> None:
        """`now`: unix seconds."""
        self._settings = settings
        self._memory = memory
        self._index = index
        self._batcher = batcher
        self._lookup = lookup
        self._lessons = lessons
        self._now = now

    async def answer(self, message: Message) -> Message:
        """What is said to a message. Raises: whatever the embedder or the index raises."""
        match message:
            case Nearest():
                await self._voided(message.epoch)
                return await self._lookup.nearest(message)
            case Learn(records):
                return Done(await self._learn(records))
            case Forget(keys):
                return Done(await self.forget(keys))
            case Compare() | Consult() | Blame() | Lesson():
                return await self._learnt(message)
            case Ask():
                return self._state()
            case _:
                return _UNKNOWN

    async def _learnt(self, message: Compare | Consult | Blame | Lesson) -> Message:
        match message:
            case Compare():
                return await self._lessons.compare(message)
            case Consult():
                return await self._lessons.consult(message)
            case Blame(request):
                lesson = self._lessons.blame(request)
                await self.forget([block.key for block in lesson.blocks])
                return lesson
            case Lesson():
                self._lessons.hear(message)
                await self.forget([block.key for block in message.blocks])
                return Done(len(message.labels))

    async def _learn(self, records: Iterable[Record]) -> int:
        """Remember what can be compared; how many that are."""
        now, settings = self._now(), self._settings
        kept: list[tuple[Record, Held]] = []
        for record in records:
            form = question(read(record.text, settings.terms)) or b""
            held = Held(record.scope, record.text, record.expires, record.epoch, form)
            if record.epoch > self._memory.epoch:
                await self._voided(record.epoch)
            if self._memory.lives(held, now):
                kept.append((record, held))
        await self.forget([record.key for record, _ in kept])
        rows = []
        for record, held in kept:
            vector = await self._vector(record)
            if vector is not None:
                rows.append((record.scope, record.key, vector))
            for key, gone in self._memory.add(record.key, held):
                await self._index.remove(gone.scope, key)
        await self._index.add_many(rows)
        return len(kept)

    async def _vector(self, record: Record) -> np.typing.NDArray[np.float32] | None:
        """Its own where this embedder made it; None: it has no place among the vectors."""
        embedder = self._batcher.embedder
        if record.tag == embedder.tag and len(record.vector) == 2 * embedder.dimension:
            vector = np.frombuffer(record.vector, dtype="<f2").astype(np.float32)
            length = float(np.linalg.norm(vector))
            return vector / np.float32(length) if 0.9 < length < 1.1 else None
        if not embedder.takes(record.text) or not embedder.whole(record.text):
            return None
        try:
            return await self._batcher.vector(record.text)
        except EmbedderError:
            return None  # its canonical form may still be found

    async def forget(self, keys: Iterable[bytes]) -> int:
        """Forget questions whose answers are gone; how many there were."""
        count = 0
        for key in keys:
            held = self._memory.remove(key)
            if held is not None:
                await self._index.remove(held.scope, key)
                count += 1
        return count

    async def evicted(self, keys: Iterable[bytes]) -> None:
        """The index had no room for them any more."""
        for key in keys:
            self._memory.remove(key)

    async def sweep(self) -> None:
        """Forget what there is no answer to any more."""
        await self.forget(self._memory.dead(self._now()))

    async def _voided(self, epoch: int) -> None:
        """Everything was declared void: what was asked for before is no answer any more."""
        if epoch > self._memory.epoch:
            self._memory.epoch = epoch
            await self.sweep()

    def _state(self) -> State:
        figures = {
            "entries": float(len(self._memory)),
            "vectors": float(self._index.count),
            "scopes": float(self._index.scopes),
            "bytes": float(self._index.bytes),
        }
        return State(figures, self._lessons.groups())
