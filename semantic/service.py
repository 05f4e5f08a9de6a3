"""What the semantic process does: remembers stored questions, and finds one that asks the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from semantic.canonical import question
from semantic.embed.port import EmbedderError
from semantic.memory import Held
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
from semantic.vector import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from semantic.lessons import Lessons
    from semantic.lookup import Lookup
    from semantic.memory import Memory
    from semantic.protocol import Message, Record
    from semantic.settings import Settings
    from semantic.space import Space
    from semantic.vector import Vector

_UNKNOWN: Final = Failed("unknown")


class Service:
    """Answers messages."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        space: Space,
        lookup: Lookup,
        lessons: Lessons,
        now: Callable[[], float],
    ) -> None:
        """`now`: unix seconds."""
        self._settings = settings
        self._memory = memory
        self._space = space
        self._lookup = lookup
        self._lessons = lessons
        self._now = now
        self._born = now()

    async def answer(self, message: Message) -> Message:
        """What is said to a message. Raises: EmbedderError, IndexUnavailableError."""
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

    async def _learn(self, records: Sequence[Record]) -> int:
        """Remember what can be compared; how many that are."""
        await self._voided(max((record.epoch for record in records), default=0))
        now, count = self._now(), 0
        rows: dict[bytes, list[tuple[bytes, Vector]]] = {}
        for record in records:
            form = question(read(record.text, self._settings.terms)) or b""
            held = Held(record.scope, record.text, record.expires, record.epoch, form)
            if not self._memory.lives(held, now):
                continue
            count += 1
            await self.forget((record.key,))
            gone = self._memory.add(record.key, held)
            await self._space.remove((one.scope, key) for key, one in gone)
            vector = await self._vector(record)
            if vector is not None:
                rows.setdefault(record.scope, []).append((record.key, vector))
        for scope, found in rows.items():
            keys = [key for key, _ in found]
            await self._space.index.add(scope, keys, np.stack([vector for _, vector in found]))
        return count

    async def _vector(self, record: Record) -> Vector | None:
        """Its own where this embedder made it; None: it has no place among the vectors."""
        embedder = self._space.embedder
        if record.tag == embedder.tag:
            try:
                return unpacked(record.vector, embedder.dimension)
            except ValueError:
                pass  # torn: it is made anew
        if not embedder.takes(record.text) or not embedder.whole(record.text):
            return None
        try:
            return await self._space.vectors.vector(record.text)
        except EmbedderError:
            return None  # its canonical form may still be found

    async def forget(self, keys: Iterable[bytes]) -> int:
        """Forget questions whose answers are gone; how many there were."""
        held = [(key, self._memory.remove(key)) for key in keys]
        gone = [(one.scope, key) for key, one in held if one is not None]
        await self._space.remove(gone)
        return len(gone)

    async def sweep(self) -> None:
        """Forget what there is no answer to any more."""
        await self.forget(self._memory.dead(self._now()))

    async def _voided(self, epoch: int) -> None:
        """Everything was declared void: what was asked for before is no answer any more."""
        if epoch > self._memory.epoch:
            self._memory.epoch = epoch
            await self.sweep()

    def _state(self) -> State:
        figures = self._space.index.figures()
        return State(
            {
                "born": self._born,
                "entries": float(len(self._memory)),
                "vectors": float(figures.rows),
                "scopes": float(figures.scopes),
                "bytes": float(figures.bytes),
            },
            self._lessons.groups(),
        )
