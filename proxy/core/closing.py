"""When exchanges close: the moments at which answers about them end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

Closings: TypeAlias = Mapping[str, Sequence[float]]
"""The session closes of exchanges, each in order, as unix seconds."""

TAG: Final = "exchange:"
"""What a tag starts with that names an exchange."""

_DAY: Final = 86400.0


def after(closes: Sequence[float], now: float) -> float | None:
    """The first close later than `now`; None: none was ever known.

    Past the last one that is known every day is taken for a session that ends as that one did:
    an answer that ends on a holiday is asked for once too often, one that lives on is wrong.
    """
    place = bisect_right(closes, now)
    if place < len(closes):
        return closes[place]
    if not closes:
        return None
    days = (now - closes[-1]) // _DAY + 1
    return closes[-1] + days * _DAY


def room(exchanges: Iterable[str], closings: Closings, now: float) -> float:
    """Seconds from `now` to the first close of any of these exchanges; infinite: none is known."""
    closes = (after(closings.get(exchange, ()), now) for exchange in exchanges)
    return min((close - now for close in closes if close is not None), default=float("inf"))
