"""How many tokens a node keeps, as far as its reports tell."""

from __future__ import annotations

from math import gcd
from typing import Final

from proxy.core.chain import MOST as ENDLESS

_LEAST: Final = 16_384
_MOST: Final = 1_000_000_000
"""Tokens; corrections leave it between these, or where it was set beyond them."""
_STEP: Final = 0.03
"""By which it is corrected each time the node kept less, or more, than was thought."""
_STRIDE: Final = 0.1
"""The same as long as all corrections went one way: the first guess is off by much, and what is far
too large costs the slowest answers."""
_SLACK: Final = 256.0
"""Tokens by which a report may differ from what was thought; or a block, if that is more: engines
keep whole ones."""
_MEASURED: Final = 1 << 20
"""Tokens of prompts by which our count of tokens is held against a node's; older ones fade."""
_UNLIKE: Final = 16.0
"""By this factor the two may differ, at most."""


class Capacity:
    """Of one node."""

    __slots__ = (
        "_adapts",
        "_counted",
        "_estimated",
        "_grain",
        "_room",
        "_taken",
        "_turned",
        "_went",
        "tokens",
    )

    def __init__(self, tokens: float, *, adapts: bool = True) -> None:
        """`tokens`: the first guess. `adapts`: whether anything corrects it."""
        self.tokens, self._adapts = tokens, adapts
        self._room = 0
        """Tokens that it has room for, by its own count; 0: it does not say."""
        self._grain = 0
        """Of what it said that it had kept, the common divisor: soon the size of its blocks."""
        self._estimated = self._counted = 1.0
        """The same prompts in our tokens, and in its own."""
        self._went, self._turned = 0, False
        """1: the last correction was upwards, -1: downwards; and whether any went the other way
        than the one before it."""
        self._taken = 1.0
        """By what it was made smaller, since it was last known that this was right."""

    def smaller(self) -> None:
        """The node kept less than was thought."""
        before = self.tokens
        self._correct(-1)
        self._taken *= self.tokens / before if 0 < before < float("inf") else 1.0

    def larger(self) -> None:
        """It kept more."""
        self._correct(1)

    def confirmed(self) -> None:
        """What made it smaller was want of room, or there was no doubt of it."""
        self._taken = 1.0

    def restored(self) -> None:
        """It was not for want of room that it kept less since."""
        self._set(self.tokens / self._taken)
        self._taken = 1.0

    def told(self, tokens: int) -> None:
        """The node has room for so many tokens, by its own count: from now on reports correct it
        below that only."""
        if self._adapts and tokens > 0 and tokens != self._room:
            part = self._part
            self._room = tokens
            self.tokens = self._most * part

    def measure(self, estimated: int, counted: int, cached: float) -> None:
        """A prompt in our tokens and in the node's, and what share of it the node had kept."""
        part, counted = self._part, min(counted, ENDLESS)
        self._grain = gcd(self._grain, round(cached * counted))
        self._estimated += estimated
        self._counted += counted
        if self._counted > _MEASURED:
            self._estimated, self._counted = self._estimated / 2, self._counted / 2
        if self._room:
            self.tokens = self._most * part

    def slack(self, estimated: int, counted: int) -> float:
        """Tokens by which a report on such a prompt may differ; `counted`: 0: the node does not
        say."""
        if not counted:
            return _SLACK
        return max(_SLACK, self._grain / min(counted, ENDLESS) * estimated)

    @property
    def _most(self) -> float:
        """Its room in our tokens; 0: unknown."""
        ratio = self._estimated / self._counted
        return self._room * min(_UNLIKE, max(1 / _UNLIKE, ratio))

    @property
    def _part(self) -> float:
        """Of its room, what is ours: reports take off what others keep there, and its answers."""
        return min(1.0, self.tokens / self._most) if self._room else 1.0

    def _correct(self, way: int) -> None:
        if not self._adapts:
            return
        self._turned = self._turned or way == -self._went
        self._went = way
        self._set(self.tokens * (1 + way * (_STEP if self._turned else _STRIDE)))

    def _set(self, tokens: float) -> None:
        least = min(_LEAST, self.tokens)
        most = self._most or max(_MOST, self.tokens)
        self.tokens = min(most, max(least, tokens))

    def __repr__(self) -> str:
        return f"<Capacity {self.tokens:.0f}>"
