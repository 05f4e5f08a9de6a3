"""How many blocks an engine holds, by what it stored and removed: exactly, or not at all.

They are told apart by their hashes, since vLLM tells of a block again when it is used again. One
that is there twice, computed for two requests at a time, counts once: it holds nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from proxy.core.blocks import Cleared, Removed, Stored

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxy.core.blocks import Where

_BLOCKS: Final = 1 << 20
"""At one place, about 70 bytes each; an engine with more is not counted."""
_PLACES: Final = 64
"""Media times groups; an engine has a few."""


class _Place:
    """The blocks of one medium and group."""

    __slots__ = ("blocks", "full", "most", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        """Tokens of a block."""
        self.blocks: set[int] = set()
        self.most = 0
        self.full = False
        """Whether it has begun to remove."""


class Stock:
    """Of one engine. Unknown until a life begins, since nothing tells what was there before."""

    def __init__(self) -> None:
        self._places: dict[Where, _Place] = {}
        self._exact = False
        self._media: set[str] = set()

    def begin(self) -> None:
        """A life begins, with nothing."""
        self._places.clear()
        self._exact = True

    def lose(self) -> None:
        """Some changes are not known."""
        self._places.clear()
        self._exact = False

    def change(self, changes: Iterable[object]) -> bool:
        """In this order; whether all was cleared on the way."""
        cleared = False
        for one in changes:
            match one:
                case Stored(where, blocks, size):
                    self._store(where, blocks, size)
                case Removed(where, blocks):
                    self._remove(where, blocks)
                case Cleared():
                    cleared = True
                    self._clear()
                case _:
                    self.lose()
        return cleared

    @property
    def held(self) -> dict[Where, int] | None:
        """Blocks at each place; None: unknown."""
        if not self._exact:
            return None
        return {where: len(one.blocks) for where, one in self._places.items() if one.blocks}

    @property
    def tokens(self) -> int:
        """That it holds, at the place that holds the most; 0: none, or unknown. A prompt that lies
        at several places does not count twice."""
        return max((len(one.blocks) * one.size for one in self._places.values()), default=0)

    @property
    def room(self) -> int:
        """Tokens that it can hold: the most that it did, once all places have begun to remove. A
        place that has not has room for more. 0: unknown."""
        places = self._places.values()
        if not all(one.full for one in places):
            return 0
        return max((one.most * one.size for one in places), default=0)

    def _store(self, where: Where, blocks: tuple[int, ...], size: int) -> None:
        if len(self._media) < _PLACES:
            self._media.add(where[0])
        if not self._exact:
            return
        place = self._places.setdefault(where, _Place(size))
        if len(self._places) > _PLACES or place.size != size:
            self.lose()  # of two sizes it would not be known which one is removed
            return
        place.blocks.update(blocks)
        if len(place.blocks) > _BLOCKS:
            self.lose()

    def _remove(self, where: Where, blocks: tuple[int, ...]) -> None:
        place = self._places.get(where)
        if place is not None and not place.blocks.isdisjoint(blocks):
            place.most, place.full = max(place.most, len(place.blocks)), True
            place.blocks.difference_update(blocks)

    def _clear(self) -> None:
        """What is cleared is the engine's own memory: what it had moved to others may be left."""
        if len(self._media) > 1:
            self.lose()
            return
        self._exact = True
        for place in self._places.values():
            place.blocks.clear()

    def __repr__(self) -> str:
        return f"<Stock {self.tokens} of {self.room} tokens>" if self._exact else "<Stock unknown>"
