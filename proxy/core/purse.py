"""A budget: so much in any stretch of time of a set length, and never more."""

from __future__ import annotations

from typing import Final, Protocol

from proxy.core.rolling import Rolling

MINUTE: Final = 60.0
DAY: Final = 86400.0
_FRACTION: Final = 1_000_000
"""Amounts are counted in millionths, so that sums of them are exact."""


class Purse:
    """What may be spent within each `span` seconds. `mono` never goes back."""

    def __init__(self, limit: float, span: float) -> None:
        self._limit = round(limit * _FRACTION)
        self.pause = span / 10
        """Seconds after which looking again makes sense."""
        self._span = span
        self._spent = Rolling(span, 1)

    def left(self, mono: float) -> float:
        """What may be spent now."""
        return max(0, self._limit - self._spent.totals(mono)[0]) / _FRACTION

    def take(self, amount: float, mono: float) -> bool:
        """Spend it if there is so much; False: there is not, and nothing was spent."""
        wanted = _exact(amount)
        if self._spent.totals(mono)[0] + wanted > self._limit:
            return False
        self._spent.add(mono, wanted)
        return True

    def owe(self, amount: float, mono: float) -> None:
        """It was spent, be it there or not: what a call cost beyond what was taken for it."""
        if amount > 0:
            self._spent.add(mono, _exact(amount))

    def __repr__(self) -> str:
        return f"<Purse {self._limit / _FRACTION:g} in {self._span:g} s>"


class Budget(Protocol):
    """What a `Purse` is, wherever it is kept."""

    @property
    def pause(self) -> float: ...

    def left(self, mono: float) -> float: ...

    def take(self, amount: float, mono: float) -> bool: ...

    def owe(self, amount: float, mono: float) -> None: ...


class Common(Protocol):
    """What several gateways may spend together."""

    async def take(self, tokens: float, money: float) -> float:
        """Spend both, or neither: then seconds after which looking again makes sense."""

    async def owe(self, tokens: float, money: float) -> None:
        """A call cost so much more than was taken for it."""


class Alone:
    """Of a gateway without others: its own allowance is all there is."""

    async def take(self, tokens: float, money: float) -> float:
        return 0.0

    async def owe(self, tokens: float, money: float) -> None:
        pass


class Allowance:
    """What may be spent on warming, in tokens and in money: here, and by all gateways together."""

    def __init__(self, tokens: Budget, money: Budget, common: Common | None = None) -> None:
        """`common`: None: there are no other gateways."""
        self.tokens, self.money, self._common = tokens, money, common or Alone()

    async def ask(self, tokens: float, money: float, mono: float) -> float:
        """Spend it of what all have, before it is taken here: 0, or seconds after which looking
        again makes sense. What is not there here is not taken from all."""
        if self.tokens.left(mono) < tokens:
            return self.tokens.pause
        if self.money.left(mono) < money:
            return self.money.pause
        return await self._common.take(tokens, money)

    def take(self, tokens: float, money: float, mono: float) -> float:
        """Spend both, or neither: then seconds after which looking again makes sense."""
        if self.tokens.left(mono) < tokens:
            return self.tokens.pause
        if not self.money.take(money, mono):
            return self.money.pause
        self.tokens.take(tokens, mono)
        return 0.0

    async def owe(self, tokens: float, money: float, mono: float) -> None:
        """A call cost so much more than was taken for it."""
        self.tokens.owe(tokens, mono)
        self.money.owe(money, mono)
        await self._common.owe(tokens, money)

    def __repr__(self) -> str:
        return f"<Allowance {self.tokens!r} {self.money!r}>"


def _exact(amount: float) -> int:
    """Rounded up: what is spent is never counted for less."""
    return -int(-amount * _FRACTION // 1)
