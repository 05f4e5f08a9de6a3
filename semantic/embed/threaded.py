"""A model that computes in this process, behind a thread of its own."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from semantic.embed.port import EmbedderError
from semantic.embed.script import readable
from semantic.vector import unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from semantic.embed.port import Embedder
    from semantic.vector import Vectors


_NICE: Final = 10


class Model(Protocol):
    """What is loaded, and blocks."""

    tag: str
    dimension: int
    languages: frozenset[str] | None
    batches: bool
    parallel: bool
    """Whether two threads may encode at once."""

    def whole(self, text: str) -> bool:
        """As `Embedder.whole`; called while another thread encodes."""

    def encode(self, texts: Sequence[str]) -> NDArray[Any]:
        """A row for each text. Raises whatever it meets."""


class Threaded:
    """An embedder. One thread: two would share the same cores, and no model here gains by it."""

    def __init__(self, model: Model, *, nice: int = 0) -> None:
        """`nice`: how much its thread gives way, as the system counts it: 0 to 19."""
        self.tag, self.dimension = model.tag, model.dimension
        self.languages, self.batches = model.languages, model.batches
        self._model = model
        self._thread = ThreadPoolExecutor(
            1, thread_name_prefix="embedder", initializer=_give_way, initargs=(nice,)
        )

    def __repr__(self) -> str:
        return f"<Threaded {self.tag}>"

    def takes(self, text: str) -> bool:
        return readable(text, self.languages)

    def whole(self, text: str) -> bool:
        return self._model.whole(text)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Raises: EmbedderError. Cancelled, the thread still finishes what it has begun."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._encoded, tuple(texts))

    def aside(self) -> Embedder:
        return Threaded(self._model, nice=_NICE) if self._model.parallel else self

    async def aclose(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        try:
            rows = unit(self._model.encode(texts), self.dimension)
        except Exception as error:  # Other people's code, in which nothing is ours to name.
            raise EmbedderError(f"{self.tag} failed: {type(error).__name__}") from error
        if len(rows) != len(texts):
            raise EmbedderError(f"{self.tag}: expected {len(texts)} vectors, found {len(rows)}")
        return rows


def _give_way(nice: int) -> None:
    """Only this thread: to Linux each is a process here."""
    with suppress(OSError):  # then it competes
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), nice)
