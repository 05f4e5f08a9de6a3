"""What was made lately of what comes again and again, kept where that takes little room."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, TypeVar, TypeVarTuple, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sized

Ts = TypeVarTuple("Ts")
T = TypeVar("T")

LONGEST: Final = 4096
"""Bytes or characters. An ordinary head has a thousand; a hundred thousand are allowed, and some
hundreds of such would be held in several places."""


def recent(
    entries: int, size: Callable[[*Ts], int]
) -> Callable[[Callable[[*Ts], T]], Callable[[*Ts], T]]:
    """As `lru_cache(entries)`, but nothing is kept that is made of more than `LONGEST`. `size`: of
    the arguments."""

    def kept(make: Callable[[*Ts], T]) -> Callable[[*Ts], T]:
        known = cast("Callable[[*Ts], T]", lru_cache(maxsize=entries)(make))

        def found(*args: *Ts) -> T:
            return make(*args) if size(*args) > LONGEST else known(*args)

        return found

    return kept


def length(pairs: Iterable[tuple[Sized, Sized]]) -> int:
    """Of headers, their names and values together."""
    return sum([len(name) + len(value) for name, value in pairs])
