"""How far a node has come with the prompts that wait there, by how fast it computed others."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec

from proxy.core.chain import MOST

if TYPE_CHECKING:
    from collections.abc import Iterable

_LEAST: Final = 2048.0
"""Tokens; how long fewer take says more of the way to the node than of the node."""
_NEWEST: Final = 0.2
"""Of the rate, the part that the last prompt makes up."""


class State(NamedTuple):
    """Of what one gateway has waiting at a node. Ages are seconds."""

    oldest: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Age of the call that waits longest."""
    first: Annotated[float, msgspec.Meta(ge=0, le=MOST)] = 0.0
    """Tokens that its prompt lacks; 0: none waits."""
    last: Annotated[float, msgspec.Meta(ge=0)] = inf
    """Age of the last first byte."""


class Progress:
    """Of one node. Times are seconds of one clock.

    A node computes about one prompt after the other, in the order in which they came: each from
    its coming, or from when the one before it was computed. So that is told, of all gateways.
    """

    def __init__(self) -> None:
        self._count = 0
        self._waiting: dict[int, tuple[float, float]] = {}
        """When each call without a first byte was sent, in that order, and what it lacks."""
        self._whole: dict[int, float] = {}
        """When each was sent that lacks nothing: it has no turn that others would wait for."""
        self._last = self._elsewhere_last = -inf
        """When the last first byte came here, and at other gateways."""
        self._elsewhere = inf, 0.0
        """When the oldest call that waits was sent elsewhere, and what it lacks."""
        self._rate = 0.0
        """Tokens in a second; 0: not known yet."""

    def sent(self, tokens: float, now: float) -> int:
        """A call was sent whose prompt lacks so many tokens; gives its number."""
        self._count += 1
        if tokens:
            self._waiting[self._count] = now, tokens
        else:
            self._whole[self._count] = now
        return self._count

    def over(self, call: int, now: float) -> float:
        """Its first byte came, or it failed: how long the node has computed it."""
        before = max(self._last, self._elsewhere_last)
        sent = self._whole.pop(call, None)
        if sent is None:
            sent, _ = self._waiting.pop(call)
            self._last = now
        return max(0.0, now - max(sent, before))

    def took(self, tokens: float, seconds: float) -> None:
        """So many tokens were indeed computed in so long."""
        if tokens >= _LEAST and seconds > 0:
            rate = tokens / seconds
            self._rate += (rate - self._rate) * (_NEWEST if self._rate else 1.0)

    def state(self, now: float) -> State:
        """What other gateways have to know."""
        sent, tokens = next(iter(self._waiting.values()), (now, 0.0))
        return State(now - sent, tokens, now - self._last)

    def hear(self, others: Iterable[State], now: float) -> None:
        """What all other gateways told."""
        self._elsewhere = inf, 0.0
        for one in others:
            if one.first:
                self._elsewhere = min(self._elsewhere, (now - one.oldest, one.first))
            self._elsewhere_last = max(self._elsewhere_last, now - one.last)

    def computed(self, now: float) -> float:
        """Tokens that must be computed by now, of the first prompt that waits."""
        oldest, tokens = self._elsewhere
        for here in self._waiting.values():
            if here < self._elsewhere:
                oldest, tokens = here
            break
        began = max(oldest, self._last, self._elsewhere_last)
        return min(tokens, self._rate * max(0.0, now - began))

    def __repr__(self) -> str:
        return f"<Progress {len(self._waiting)} wait, {self._rate:.0f} tokens a second>"
