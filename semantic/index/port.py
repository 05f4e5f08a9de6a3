"""What the semantic process needs of a vector index."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from semantic.vector import Vector, Vectors

    Evicted: TypeAlias = Callable[[bytes, tuple[bytes, ...]], None]
    """Is told a scope, and which of its keys the index has dropped to make room."""


class Near(NamedTuple):
    """A stored vector that is near."""

    key: bytes
    similarity: float
    """The cosine of the angle between the two."""


class Figures(NamedTuple):
    """How much an index holds; as far as this process knows, where others write to it too."""

    rows: int
    scopes: int
    bytes: int


class IndexUnavailableError(Exception):
    """An index that does not answer now."""


class Index(Protocol):
    """Vectors by scope and key. Neither texts nor answers: what a key leads to may be gone, so
    whoever finds one looks whether it still is there.

    Raises, in all of its methods: IndexUnavailableError. What is not said to be evicted may still
    be gone: an engine has bounds of its own.
    """

    async def search(self, scope: bytes, vector: Vector, k: int) -> list[Near]:
        """The `k` nearest of a scope, nearest first; fewer where it has fewer.

        Raises: ValueError for a vector of another dimension.
        """

    async def add(self, scope: bytes, keys: Sequence[bytes], vectors: Vectors) -> None:
        """A row for each key; a key that is there already gets the new one.

        Raises: ValueError for vectors of another dimension, and for those without direction:
        nothing is added then.
        """

    async def remove(self, scope: bytes, keys: Sequence[bytes]) -> None:
        """Forget these; a key that is not there is no error."""

    async def leave(self, scope: bytes, keys: Sequence[bytes]) -> None:
        """This machine has no answers under these any more. Others that share the index may; if
        none does, they go in time."""

    async def keep(self, scopes: Mapping[bytes, Sequence[bytes]]) -> None:
        """This machine has answers under these keys, by scope; said of each again and again. What
        of an index that others share nobody says that of goes."""

    async def drop(self, scope: bytes) -> None:
        """Forget all of a scope."""

    def figures(self) -> Figures: ...

    async def aclose(self) -> None:
        """Give up threads and connections."""
