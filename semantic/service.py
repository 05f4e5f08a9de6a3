"""What the semantic process does: remembers stored questions, and finds one that asks the same."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import numpy as np

from semantic.eligible import ineligible
from semantic.embed.port import EmbedderError
from semantic.form import tells
from semantic.index.port import IndexUnavailableError
from semantic.memory import Held, named
from semantic.protocol import (
    Ask,
    Blame,
    Blamed,
    Compare,
    Consult,
    Done,
    Failed,
    Forget,
    Learn,
    Lesson,
    Nearest,
    Review,
    Served,
    State,
)
from semantic.reading import read
from semantic.vector import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from semantic.forgetting import Forgetting
    from semantic.lessons import Lessons
    from semantic.lookup import Lookup
    from semantic.memory import Memory
    from semantic.protocol import Found, Message, Record
    from semantic.settings import Settings
    from semantic.space import Space
    from semantic.vector import Vector

_PART: Final = 500
"""Vectors that are unpacked together: that takes 2 ms."""
_TURN: Final = 32
"""Records in a row."""
_UNKNOWN: Final = Failed("unknown")
_AGAIN: Final = 10.0
"""Seconds at least between two times at which it is told of everything."""


class Service:
    """Answers messages."""

    def __init__(
        self,
        settings: Settings,
        memory: Memory,
        space: Space,
        lookup: Lookup,
        lessons: Lessons,
        forgetting: Forgetting,
        now: Callable[[], float],
    ) -> None:
        """`now`: unix seconds."""
        self._settings = settings
        self._memory = memory
        self._space = space
        self._lookup = lookup
        self._lessons = lessons
        self._forgetting = forgetting
        self._now = now
        self._forms = lookup.forms
        self._born = now()
        """A new one makes the workers tell all that is stored."""
        self._holes = False
        """Whether the index may lack what is remembered here."""

    async def answer(self, message: Message) -> Message:
        """What is said to a message. Raises: EmbedderError, IndexUnavailableError."""
        try:
            return await self._said(message)
        except IndexUnavailableError:
            self._holes = True
            raise

    async def _said(self, message: Message) -> Message:
        match message:
            case Nearest():
                await self._voided(message.epoch)
                found = await self._lookup.nearest(message)
                self._well(found)
                return found
            case Learn(records):
                return await self._learn(records)
            case Forget() | Review():
                return await self._left(message)
            case Compare() | Consult() | Served() | Blame() | Lesson():
                return await self._learnt(message)
            case Ask():
                return self._state()
            case _:
                return _UNKNOWN

    def _well(self, found: Found) -> None:
        """An index that was away may have come back empty: be told of everything, once more."""
        if self._holes and found.vector and self._now() - self._born >= _AGAIN:
            self._holes, self._born = False, self._now()

    async def _learnt(self, message: Compare | Consult | Served | Blame | Lesson) -> Message:
        match message:
            case Compare(found):
                return await self._lessons.compare(message, self._ends(found.key))
            case Consult(found):
                return await self._lessons.consult(message, self._ends(found.key))
            case Served(found, text, request):
                return self._lessons.served(request, found, text)
            case Blame(request):
                lesson = self._lessons.blame(request)
                await self._forget_blocked(lesson)
                return Blamed(lesson, self._lessons.closed(lesson))
            case Lesson():
                self._lessons.hear(message)
                await self._forget_blocked(message)
                # What people say is rare, and the bounds of all groups take their time.
                return Blamed(message, bool(message.blocks) and self._lessons.closed(message))

    async def _left(self, message: Forget | Review) -> Message:
        match message:
            case Forget(keys, why, mark):
                return Done(await self._forgetting.forget(keys, why, mark))
            case Review(most):
                return await self._forgetting.review(most)

    async def _forget_blocked(self, lesson: Lesson) -> None:
        await self._forgetting.forget([block.key for block in lesson.blocks], "wrong")

    def _ends(self, key: bytes) -> float:
        """When the answer under this key does (unix seconds)."""
        held = self._memory.get(key)
        return 0.0 if held is None else held.expires

    async def _learn(self, records: Sequence[Record]) -> Done:
        """Remember what can be compared."""
        await self._voided(max((record.epoch for record in records), default=0))
        now = self._now()
        kept, gone, missed = [], [], []
        for number, record in enumerate(records):
            held = self._held(record)
            if held is not None and self._memory.lives(held, now):
                await self._forgetting.replaced(record.key)
                gone += self._memory.add(record.key, held)
                kept.append(record)
            await _turn(number)
        await self._forgetting.made_room([(held.scope, key) for key, held in gone])
        for start in range(0, len(kept), _PART):
            missed += await self._placed(kept[start : start + _PART])
        return Done(len(kept), tuple(missed))

    def _held(self, record: Record) -> Held | None:
        """None: it may not be compared."""
        form = record.form
        if not self._forms.current(form):  # who has one was looked up then, and might be compared
            reading = read(record.text, self._settings.terms)
            if ineligible(reading, record.ttl, self._settings):
                return None
            form = self._forms.of(reading)
        name = named(record.scope, form) if tells(form) else b""
        return Held(record.scope, record.text, record.expires, record.epoch, name)

    async def _placed(self, records: Sequence[Record]) -> list[bytes]:
        """Have their vectors found; keys of those that the embedder failed for. Raises:
        IndexUnavailableError."""
        embedder, rows, missed = self._space.embedder, {}, []
        ready = [record for record in records if record.tag == embedder.tag and record.vector]
        try:
            vectors = unpacked([record.vector for record in ready], embedder.dimension)
            rows = dict(zip([record.key for record in ready], vectors, strict=True))
        except ValueError:
            pass  # one is torn: all are made anew
        scopes: dict[bytes, list[tuple[bytes, Vector]]] = {}
        for record in [record for record in records if record.key in self._memory]:
            vector = rows.get(record.key)
            try:
                vector = await self._space.vector(record.text) if vector is None else vector
            except EmbedderError:
                missed.append(record.key)  # its form may still be found
                continue
            if vector is not None:
                scopes.setdefault(record.scope, []).append((record.key, vector))
        for number, (scope, found) in enumerate(scopes.items()):
            keys, some = [key for key, _ in found], [vector for _, vector in found]
            await self._space.index.add(scope, keys, np.stack(some))
            await self._forgetting.placed(scope, keys)
            await _turn(number)
        return missed

    async def _voided(self, epoch: int) -> None:
        """Everything was declared void: what was asked for before is no answer any more."""
        if epoch > self._memory.epoch:
            self._memory.epoch = epoch
            await self._forgetting.sweep("void")

    def _state(self) -> State:
        figures = self._space.index.figures()
        return State(
            {
                "born": self._born,
                "entries": float(len(self._memory)),
                "vectors": float(figures.rows),
                "scopes": float(figures.scopes),
                "bytes": float(figures.bytes),
                **self._forgetting.figures(),
            },
            self._lessons.groups(),
        )


async def _turn(number: int) -> None:
    """Let questions come in between."""
    if number % _TURN == _TURN - 1:
        await asyncio.sleep(0)
