"""What an answer cost, and whether that makes it worth a place far away."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from proxy.config import Model
    from proxy.core.entry import Entry


class Worth(msgspec.Struct, frozen=True):
    """Which answers a tier takes: those that cost enough."""

    least: float
    prices: dict[str, float]
    """Of a thousand tokens, by model; others cost 1."""

    def __call__(self, entry: Entry) -> bool:
        return cost(entry, self.prices.get(entry.model, 1.0)) >= self.least


def cost(entry: Entry, price: float) -> float:
    """Thousands of tokens, times their price, times the seconds that were waited for them."""
    tokens = entry.usage.input + entry.usage.output
    return tokens / 1000 * price * entry.latency


def worth(least: float, models: Iterable[Model]) -> Worth:
    """By the models' configured prices; an entry has the name that was sent upstream."""
    prices: dict[str, float] = {}
    for model in models:
        name = model.target or model.name
        # Of several aliases of one model the dearest counts: nothing dear is lost by that.
        prices[name] = max(model.price, prices.get(name, 0.0))
    return Worth(least, prices)
