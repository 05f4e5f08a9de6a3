"""What was to be deleted from a store and may still be there."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.entry import Key, Stored


class Debts:
    """Keys whose older values are void. Times are unix seconds."""

    def __init__(self, limit: int) -> None:
        """Of more than `limit` keys the one that has been owed longest is given up."""
        self._limit = limit
        self._owed: OrderedDict[Key, float] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._owed)

    def __len__(self) -> int:
        return len(self._owed)

    def owe(self, key: Key, before: float) -> float:
        """What was asked for before then is void; the time up to which that holds now."""
        before = max(before, self._owed.pop(key, before))
        self._owed[key] = before
        if len(self._owed) > self._limit:
            self._owed.popitem(last=False)
        return before

    def pay(self, key: Key, before: float) -> None:
        """Nothing older is there any more; a later demand stands."""
        if self._owed.get(key, before) <= before:
            self._owed.pop(key, None)

    def hide(self, stored: Stored) -> bool:
        """Whether it should not be there."""
        return stored.asked < self._owed.get(stored.key, stored.asked)

    def among(self, keys: Sequence[Key]) -> Debts:
        """Those of these keys, as they are now."""
        debts = Debts(self._limit)
        if self._owed:
            debts._owed.update((key, self._owed[key]) for key in keys if key in self._owed)
        return debts

    def all(self) -> list[tuple[Key, float]]:
        """The keys that are owed, with the time up to which."""
        return list(self._owed.items())

    def __repr__(self) -> str:
        return f"<Debts {len(self)}/{self._limit}>"
