"""A worker's line to the semantic process; light enough for every worker to load."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from semantic.frames import FrameError, framed, read
from semantic.protocol import (
    Ask,
    Blame,
    Blamed,
    Compare,
    Consult,
    Done,
    Failed,
    Forget,
    Found,
    Framed,
    Learn,
    Lesson,
    Nearest,
    Record,
    Review,
    Reviewed,
    Served,
    State,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from semantic.protocol import Message, Why

T = TypeVar("T", bound="Message")


class ClientError(Exception):
    """The semantic process is not there, is busy, or could not do it."""


class AbsentError(ClientError):
    """Nobody listens: it loads its model, or has ended."""


class Client:
    """Asks over one connection, many things at once; connects when it is first needed, and again
    after it broke. The caller limits the time: what comes too late is dropped here."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: asyncio.StreamWriter | None = None
        self._reading: asyncio.Task[None] | None = None
        self._connecting = asyncio.Lock()
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._number = 0

    async def nearest(self, asked: Nearest) -> Found:
        """The stored question that means the same. Raises: ClientError."""
        return await self._ask(asked, Found)

    async def learn(self, records: Sequence[Record]) -> Sequence[bytes]:
        """Have stored questions remembered; keys of those that are worth another attempt, for the
        embedder failed. Raises: ClientError."""
        return (await self._ask(Learn(tuple(records)), Done)).missed

    async def forget(self, keys: Sequence[bytes], why: Why, mark: int | None = None) -> None:
        """Have those whose answers are gone forgotten, with the `mark` of a review those that were
        known then. Raises: ClientError."""
        await self._ask(Forget(tuple(keys), why, mark), Done)

    async def review(self, most: int) -> Reviewed:
        """The next whose answers are to be looked for. Raises: ClientError."""
        return await self._ask(Review(most), Reviewed)

    async def compare(self, found: Found, text: str, stored: str, answered: str) -> Lesson:
        """Whether a stored answer was right, by the one that came. Raises: ClientError."""
        return await self._ask(Compare(found, text, stored, answered), Lesson)

    async def consult(self, found: Found, text: str, stored: str) -> Found:
        """The same hit, to be served or not as the judge says. Raises: ClientError."""
        return await self._ask(Consult(found, text, stored), Found)

    async def served(self, found: Found, text: str, request: str) -> Lesson:
        """A request was answered with it; what follows if that was wrong. Raises: ClientError."""
        return await self._ask(Served(found, text, request), Lesson)

    async def blame(self, request: str) -> Blamed:
        """What follows from calling the hit of a request wrong. Raises: ClientError."""
        return await self._ask(Blame(request), Blamed)

    async def hear(self, lesson: Lesson) -> Blamed:
        """Have what another machine learnt counted here. Raises: ClientError."""
        return await self._ask(lesson, Blamed)

    async def state(self) -> State:
        """Figures of the process. Raises: ClientError."""
        return await self._ask(Ask(), State)

    async def _ask(self, message: Message, kind: type[T]) -> T:
        try:
            writer = await self._connected()
        except OSError as error:
            raise AbsentError(type(error).__name__) from error
        try:
            self._number += 1
            number = self._number
            writer.write(framed(Framed(number, message)))
            answer = self._waiting[number] = asyncio.get_running_loop().create_future()
            try:
                await writer.drain()
                told = await answer
            finally:
                self._waiting.pop(number, None)
        except (OSError, FrameError) as error:
            raise ClientError(type(error).__name__) from error
        if isinstance(told, kind):
            return told
        raise ClientError(told.reason if isinstance(told, Failed) else "another answer")

    async def _connected(self) -> asyncio.StreamWriter:
        async with self._connecting:
            if self._writer is None or self._writer.is_closing():
                await self.aclose()
                reader, self._writer = await asyncio.open_unix_connection(str(self._path))
                loop = asyncio.get_running_loop()
                self._reading = loop.create_task(self._read(reader, self._writer))
            return self._writer

    async def _read(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Give each answer to who waits for it, until the connection ends."""
        with suppress(OSError, FrameError):
            while (answer := await read(reader)) is not None:
                waiting = self._waiting.get(answer.number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer.message)
        writer.close()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the semantic process is gone"))

    async def aclose(self) -> None:
        """Hang up; the next question connects anew."""
        if self._writer is not None:
            self._writer.close()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        self._writer = self._reading = None
