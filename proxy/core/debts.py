"""What was to be deleted from a store and may still be there."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.entry import Key, Stored

_NEVER: Final = float("-inf")


class Debts:
    """Keys whose older values are void. Times are unix seconds."""

    def __init__(self, limit: int, *, strict: bool = False) -> None:
        """Of more than `limit` keys the one that has been owed longest is given up. `strict`: with
        it all that is as old is hidden, whatever its key."""
        self._limit = limit
        self._strict = strict
        self._owed: OrderedDict[Key, float] = OrderedDict()
        self._lost = _NEVER
        """Before when everything is hidden."""

    def __bool__(self) -> bool:
        return bool(self._owed)

    def __len__(self) -> int:
        return len(self._owed)

    def owe(self, key: Key, before: float) -> float:
        """What was asked for before then is void; the time up to which that holds now."""
        before = max(before, self._owed.pop(key, before))
        self._owed[key] = before
        if len(self._owed) > self._limit:
            _, lost = self._owed.popitem(last=False)
            self._lost = max(self._lost, lost) if self._strict else self._lost
        return before

    def pay(self, key: Key, before: float) -> None:
        """Nothing older is there any more; a later demand stands."""
        if self._owed.get(key, before) <= before:
            self._owed.pop(key, None)

    def hide(self, stored: Stored, now: float) -> bool:
        """Whether it should not be there at `now`. What is from the future then is from before a
        clock went back, and nobody knows whether it is older."""
        before = self._owed.get(stored.key)
        if before is None:
            return stored.asked < self._lost
        return stored.asked < before or stored.asked > now

    def among(self, keys: Sequence[Key]) -> Debts:
        """Those of these keys, as they are now."""
        debts = Debts(self._limit)
        debts._lost = self._lost
        if self._owed:
            debts._owed.update((key, self._owed[key]) for key in keys if key in self._owed)
        return debts

    def all(self) -> list[tuple[Key, float]]:
        """The keys that are owed, with the time up to which."""
        return list(self._owed.items())

    def __repr__(self) -> str:
        return f"<Debts {len(self)}/{self._limit}>"
