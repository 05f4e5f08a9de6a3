"""What the semantic process needs of an embedder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from semantic.vector import Vectors


class EmbedderError(Exception):
    """A text that has no vector now: the question is answered without the semantic tier."""


class Embedder(Protocol):
    """Turns texts into vectors that are near where meanings are."""

    @property
    def tag(self) -> str:
        """Name, revision and dimension: vectors of another tag are in another space."""

    @property
    def dimension(self) -> int: ...

    @property
    def languages(self) -> frozenset[str] | None:
        """Codes of ISO 639-1; None: whatever people write."""

    @property
    def batches(self) -> bool:
        """Whether a text has the same vector alone as among others."""

    def takes(self, text: str) -> bool:
        """Whether the text is in a script that this embedder can read."""

    def whole(self, text: str) -> bool:
        """Whether every part of the text reaches its vector: nothing is cut off, and nothing is
        only "something unknown". Two texts that differ in the rest would be the same."""

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, in their order. Raises: EmbedderError."""

    def aside(self) -> Embedder:
        """The same for what no request waits for. Where it can, it computes beside this one, and
        only what is left of the processor."""

    async def aclose(self) -> None:
        """Give up threads and connections."""
