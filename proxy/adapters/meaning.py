"""The semantic process, spoken to over its socket."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from proxy.core.entry import Key
from proxy.core.near import Blamed, Near, Verdict, group
from proxy.ports import SemanticAbsentError, SemanticError
from semantic.client import AbsentError, Client, ClientError
from semantic.protocol import LARGEST, Found, Lesson, Nearest, Record
from semantic.protocol import Blamed as Following

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from proxy.core.entry import Entry
    from proxy.core.near import Why
    from proxy.core.request import Lookup

_RECORD: Final = 256
"""Bytes of a record besides its text and vector, at most."""


class Fleet(Protocol):
    """What other machines are told, and asked."""

    async def learnt(self, lesson: bytes) -> None: ...

    async def served(self, request: str, lesson: bytes) -> None: ...

    async def complaint(self, request: str) -> bytes | None:
        """Raises: StoreError."""

    async def settled(self, request: str, lesson: bytes) -> bool:
        """Raises: StoreError."""

    async def blamed(self, request: str, lesson: bytes) -> None: ...


class Meaning:
    """A worker's line to it, as the ports `Semantic`, `School` and `Complaints`."""

    def __init__(self, path: Path) -> None:
        self._client = Client(path)
        self.fleet: Fleet | None = None
        """Hears of everything that is learnt of errors, for other machines."""

    async def nearest(self, lookup: Lookup, epoch: int) -> Near:
        """See the port."""
        question = lookup.question
        if question is None:
            return Near()
        asked = Nearest(
            scope=question.scope,
            group=group(lookup.request.model),
            text=question.text,
            ttl=lookup.lifetime.ttl,
            epoch=epoch,
            threshold=lookup.request.controls.threshold or 0.0,
        )
        with _gone():
            return _near(await self._client.nearest(asked))

    async def learn(self, entries: Sequence[Entry]) -> Sequence[Key]:
        """See the port."""
        records = [one for one in map(_record, entries) if one is not None]
        with _gone():
            missed = [await self._client.learn(part) for part in _parts(records)]
        return [Key(key) for part in missed for key in part]

    async def forget(self, keys: Sequence[Key], why: Why, mark: int | None = None) -> None:
        """See the port."""
        with _gone():
            await self._client.forget(keys, why, mark)

    async def review(self, most: int) -> tuple[Sequence[Key], int]:
        """The keys of the next questions whose answers are to be looked for, and the mark of this
        review. Raises: SemanticError."""
        with _gone():
            told = await self._client.review(most)
        return [Key(key) for key in told.keys], told.mark

    async def compare(self, near: Near, text: str, stored: str, answered: str) -> list[Verdict]:
        """See the port."""
        with _gone():
            lesson = await self._client.compare(_found(near), text, stored, answered)
        return await self._learnt(lesson)

    async def consult(self, near: Near, text: str, stored: str) -> Near:
        """See the port."""
        with _gone():
            return _near(await self._client.consult(_found(near), text, stored))

    async def served(self, near: Near, text: str, request: str) -> None:
        """See the port."""
        with _gone():
            lesson = await self._client.served(_found(near), text, request)
        if self.fleet is not None:
            await self.fleet.served(request, msgspec.msgpack.encode(lesson))

    async def blame(self, request: str) -> Blamed | None:
        """See the port."""
        with _gone():
            here = await self._client.blame(request)
        if not here.lesson.labels:
            return None if self.fleet is None else await self._elsewhere(request, self.fleet)
        if self.fleet is not None:
            await self.fleet.blamed(request, msgspec.msgpack.encode(here.lesson))
        return _blamed(here)

    async def _elsewhere(self, request: str, fleet: Fleet) -> Blamed | None:
        """The same for a hit of another machine's, which left word of what would follow."""
        if (word := await fleet.complaint(request)) is None:
            return None
        lesson = _read(word)
        if lesson is None or not lesson.labels:
            return None
        # Counted here before the fleet's word of it is taken away: whatever fails in between, the
        # operator can say it again, and one label counts once.
        with _gone():
            following = await self._client.hear(lesson)
        return _blamed(following) if await fleet.settled(request, word) else None

    async def _learnt(self, lesson: Lesson) -> list[Verdict]:
        if self.fleet is not None and lesson.labels:
            await self.fleet.learnt(msgspec.msgpack.encode(lesson))
        return _verdicts(lesson)

    async def hear(self, news: bytes) -> None:
        """Count what another machine told as learnt, unless it is of another version, and would
        read no better the next time. Raises: SemanticError."""
        if (lesson := _read(news)) is not None:
            with _gone():
                await self._client.hear(lesson)

    async def state(self) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        """Figures of the process by name, and those of its groups. Raises: SemanticError."""
        with _gone():
            state = await self._client.state()
        return state.figures, state.groups

    async def aclose(self) -> None:
        """Hang up."""
        await self._client.aclose()


def _read(news: bytes) -> Lesson | None:
    try:
        return msgspec.msgpack.decode(news, type=Lesson)
    except msgspec.MsgspecError:  # of another version
        return None


def _verdicts(lesson: Lesson) -> list[Verdict]:
    return [
        Verdict(label.kind, label.wrong, label.similarity, label.group) for label in lesson.labels
    ]


def _blamed(found: Following) -> Blamed:
    keys = dict.fromkeys(Key(block.key) for block in found.lesson.blocks)
    return Blamed(_verdicts(found.lesson)[0], tuple(keys), found.closed)


@contextmanager
def _gone() -> Iterator[None]:
    try:
        yield
    except AbsentError as error:
        raise SemanticAbsentError(str(error)) from error
    except ClientError as error:
        raise SemanticError(str(error)) from error


def _near(found: Found) -> Near:
    return msgspec.convert(found, Near, from_attributes=True)


def _found(near: Near) -> Found:
    """The way back, without the vector: it is not needed again."""
    return msgspec.structs.replace(msgspec.convert(near, Found, from_attributes=True), vector=b"")


def _parts(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """As many at once as one message can hold, whatever the size of vectors and texts."""
    start = size = 0
    for number, one in enumerate(records):
        size += _RECORD + 4 * len(one.text) + len(one.vector)
        if size > LARGEST:
            yield records[start:number]
            start, size = number, _RECORD + 4 * len(one.text) + len(one.vector)
    yield records[start:]


def _record(entry: Entry) -> Record | None:
    asked = entry.question
    if asked is None:
        return None
    # No longer than it is fresh: what is stale is refreshed by its own question alone.
    until = entry.created + entry.ttl
    stored = (asked.tag, asked.vector, asked.form, entry.ttl)
    return Record(entry.key, asked.scope, asked.text, until, entry.epoch, *stored)
