"""The lives of an engine's cache, told apart by the numbers of its batches of events.

A number that is left out means that something is not known, one that comes again that the engine
was started anew. Whatever is lost, doubled or out of order, the blocks held are known exactly or
not at all.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from proxy.core.stock import Stock

if TYPE_CHECKING:
    from proxy.core.blocks import Batch

Word: TypeAlias = Literal[
    "duplicate", "gap", "lost", "restart", "cleared", "garbled", "stranger", "silent"
]
"""duplicate: had before; gap: numbers were left out; lost: and what they said is not to be had;
restart: a new life; stranger: of another engine behind the same address; silent: no replay came."""

VOID: Final = frozenset(("lost", "restart", "cleared"))
"""After these it is not known that the node holds anything."""
_RECALLED: Final = 1024
"""Batches whose times are remembered, to know them again."""


class Lives:
    """Of one engine: what it said on its stream, filled up from its replay."""

    def __init__(self) -> None:
        self.stock = Stock()
        self.due: int | None = None
        """The number that comes next; None: of this life nothing was taken yet."""
        self._live = -1
        """The highest number that the stream itself had, in this life."""
        self._at = float("-inf")
        """The latest time of any batch, by the engine's clock."""
        self._seen: OrderedDict[int, float | None] = OrderedDict()
        """Times of the last batches of this life; None: it could not be read."""
        self._rank: int | None = None
        self._mixed = self._sure = self._history = self._parted = self._told = False

    def heard(self, number: int, batch: Batch | None) -> tuple[Word, ...]:
        """One came by the stream; None: it could not be read. After that, what is `behind` may be
        `replayed`, and is then `settled`."""
        if self._strange(batch):
            return ("stranger",)
        if self.due is None:
            self._live = number
            return self._opened(number, batch)
        if number <= self._live:
            return self._again(number, batch)
        self._live = number
        if number < self.due:
            return ("duplicate",)  # the replay was ahead
        if number > self.due:
            return ("gap",)
        return () if self._parted else self._taken(number, batch)

    def parted(self) -> None:
        """The connection broke. Should a new life have come to the very number that is due, only
        the replay can tell."""
        self._parted = True

    def behind(self, number: int) -> bool:
        """Whether something before this one is missing, which a replay may have."""
        if self.due is None or self.due < number:
            return True
        return self._parted and self.due == number

    def asked(self) -> int:
        """A replay is asked for; from which number on. The last one that is known comes again: by
        it the replay shows that it is of the same life."""
        self._history = self.due is None
        self._sure = self._told = False
        return 0 if self.due is None else self.due - 1

    def replayed(self, number: int, batch: Batch | None) -> tuple[Word, ...]:
        """One came by the replay."""
        self._told = True
        if batch is None:
            return ("garbled",)
        if self._strange(batch):
            return ("stranger",)
        if self.due is None:
            if self._history and number == 0:
                self._begin()
                self._at = batch.at
                self._taken(0, batch)
                self._sure = True
            return ()
        if self._sure:
            told = self._taken(number, batch) if number == self.due else ()
            return () if self._history else told  # what was cleared before we came is no news
        known = self._seen.get(number)
        if number == self.due - 1 and known is not None:
            if known != batch.at:
                self._die()
                return ("restart",)
            self._sure, self._parted = True, False
        return ()

    def ended(self) -> tuple[Word, ...]:
        """The replay after a break is over. It has what came last for as long as a life lasts: if
        it has nothing at all, a new one began and has not said anything yet."""
        if self._told or not self._parted or self.due is None:
            return ()
        self._die()
        return ("restart",)

    def settled(self, number: int, batch: Batch | None) -> tuple[Word, ...]:
        """No more is to be had of what was before this one, that came by the stream."""
        if self.due is None:
            self.stock.lose()
            return self._taken(number, batch)
        if number < self.due:
            return ()
        if number == self.due and not self._parted:
            return self._taken(number, batch)
        self.stock.lose()
        if number == self.due:
            return self._taken(number, batch)
        return ("lost", *self._taken(number, batch))

    def _again(self, number: int, batch: Batch | None) -> tuple[Word, ...]:
        """A number that was there before."""
        if batch is None:
            return ("garbled",)
        if self._seen.get(number) == batch.at:
            return ("duplicate",)
        self._die()
        self._live = number
        return ("restart", *self._opened(number, batch))

    def _opened(self, number: int, batch: Batch | None) -> tuple[Word, ...]:
        """The first that is heard of a life. One that is as old as what was heard before it may be
        late instead, and the life no new one."""
        if number == 0 and batch is not None and batch.at > self._at:
            self._begin()
            return self._taken(0, batch)
        return ()

    def _taken(self, number: int, batch: Batch | None) -> tuple[Word, ...]:
        self.due, self._parted = number + 1, False
        self._seen[number] = None if batch is None else batch.at
        if len(self._seen) > _RECALLED:
            self._seen.popitem(last=False)
        if batch is None:
            self.stock.lose()
            return ("garbled",)
        cleared = self.stock.change(batch.changes)
        if self._mixed or batch.at < self._at:
            self.stock.lose()  # what is older than the one before is not of its life
        self._at = max(self._at, batch.at)
        return ("cleared",) if cleared else ()

    def _begin(self) -> None:
        self.due = 0
        self._seen.clear()
        self.stock.begin()

    def _die(self) -> None:
        self.due = None
        self._seen.clear()
        self.stock.lose()

    def _strange(self, batch: Batch | None) -> bool:
        """Several engines count their batches apart, and what one of them holds is not what the
        node does: then one is listened to, and nothing is known of how much there is."""
        if batch is None:
            return False
        if self._rank is None:
            self._rank = batch.rank
        if batch.rank == self._rank:
            return False
        self._mixed = True
        self.stock.lose()
        return True

    def __repr__(self) -> str:
        return f"<Lives next {self.due}, {self.stock!r}>"
