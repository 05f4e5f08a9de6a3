"""Texts that wait for the embedder: whatever is there when it becomes free goes together."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from semantic.embed.port import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semantic.embed.port import Embedder
    from semantic.vector import Vector

    Waiting: TypeAlias = dict[asyncio.Future[Vector], None]


class BusyError(EmbedderError):
    """More texts wait than will be embedded in time."""


class Batcher:
    """Callers share no awaitable, so the cancellation of one is its own."""

    def __init__(
        self, embedder: Embedder, *, limit: int = 64, batch: int = 32, memo: int = 4096
    ) -> None:
        """`limit`: different texts that may wait; `batch`: texts embedded at once, which is one
        where the embedder does not keep a text's vector in a batch; `memo`: vectors remembered."""
        self._embedder = embedder
        self._limit, self._memory = limit, memo
        self._size = batch if embedder.batches else 1
        self._waiting: dict[str, Waiting] = {}
        self._flying: dict[str, Waiting] = {}
        self._since = 0.0
        """When they took off, by the event loop."""
        self._known: OrderedDict[str, Vector] = OrderedDict()
        self._news = asyncio.Event()
        self._ended = False

    def __repr__(self) -> str:
        return f"<Batcher waiting={len(self._waiting)} known={len(self._known)}>"

    @property
    def waiting(self) -> int:
        """Different texts that wait, without those that are being embedded."""
        return len(self._waiting)

    @property
    def flown(self) -> float:
        """Seconds since the texts that are being embedded were begun with."""
        return asyncio.get_running_loop().time() - self._since if self._flying else 0.0

    async def vector(self, text: str) -> Vector:
        """The text's vector, which is not to be written to. Raises: BusyError, at once;
        EmbedderError: what the batch met that it was in."""
        if text in self._known:
            self._known.move_to_end(text)
            return self._known[text]
        if self._ended:
            raise EmbedderError("the embedder is closed")
        # The same text waits once, or is on its way already.
        place = self._flying.get(text)
        if place is None:
            place = self._waiting.get(text)
        if place is None:
            if len(self._waiting) >= self._limit:
                raise BusyError(f"{self._limit} texts wait for the embedder")
            place = self._waiting.setdefault(text, {})
        future: asyncio.Future[Vector] = asyncio.get_running_loop().create_future()
        place[future] = None
        self._news.set()
        try:
            return await future
        finally:
            del place[future]
            if not place and self._waiting.get(text) is place:
                del self._waiting[text]  # Nobody wants it any more.

    async def run(self) -> None:
        """Embed what waits, until cancelled; then whoever still waits gets an EmbedderError."""
        try:
            while True:
                await self._news.wait()
                self._news.clear()
                while self._waiting:
                    await self._batch()
        finally:
            self._ended = True
            left = [*self._flying.values(), *self._waiting.values()]
            _fail(left, EmbedderError("the embedder is closed"))

    async def _batch(self) -> None:
        texts = list(islice(self._waiting, self._size))
        self._since = asyncio.get_running_loop().time()
        self._flying = {text: self._waiting.pop(text) for text in texts}
        try:
            rows = await self._embedder.embed(texts)
        except EmbedderError as error:
            _fail(self._flying.values(), error)
        else:
            for text, row in zip(texts, rows, strict=True):
                self._tell(text, row.copy())  # A view would keep the whole batch.
        self._flying = {}

    def _tell(self, text: str, vector: Vector) -> None:
        vector.flags.writeable = False
        for future in self._flying[text]:
            if not future.done():
                future.set_result(vector)
        self._known[text] = vector
        while len(self._known) > self._memory:
            self._known.popitem(last=False)


def _fail(places: Iterable[Waiting], error: EmbedderError) -> None:
    for place in places:
        for future in place:
            if not future.done():
                # An exception of its own: raised in several tasks, one would gather their traces.
                future.set_exception(type(error)(*error.args))
