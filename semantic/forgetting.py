"""How stored questions leave: forgotten with their vectors and forms, counted by reason, and looked
after in turns so that none stays whose answer is gone."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from semantic.index.port import IndexUnavailableError
from semantic.protocol import FORGOTTEN, Reviewed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from semantic.lessons import Lessons
    from semantic.memory import Memory
    from semantic.protocol import Why
    from semantic.space import Space

_TURN: Final = 32
"""Questions in a row."""
_HERE: Final = frozenset(("dead", "evicted", "bound"))
"""Why this machine forgets what another one that shares the index may still have the answer to."""
_FOR_GOOD: Final = frozenset(("evicted", "bound"))
"""Why the entry has left the tier: what its own hits showed goes as well. Where it has not, the
next answer under its key is the same question's, and begins with what is known of that."""


class Forgetting:
    """Forgets, for whatever reason."""

    def __init__(
        self, memory: Memory, space: Space, lessons: Lessons, now: Callable[[], float]
    ) -> None:
        """`now`: unix seconds."""
        self._memory = memory
        self._space = space
        self._lessons = lessons
        self._now = now
        self._counts: Counter[Why] = Counter()
        self._round: list[bytes] = []
        """Keys that are still to be reviewed in this round, the next one last."""

    async def forget(self, keys: Iterable[bytes], why: Why, mark: int | None = None) -> int:
        """Forget questions whose answers are gone, with a `mark` those that were known by then; how
        many there were. Raises: IndexUnavailableError; forgotten here they are all the same."""
        gone = self._memory.known(keys, mark)
        for _, key in gone:
            self._memory.remove(key)
        self._account([key for _, key in gone], why)
        await self._space.remove(gone, everywhere=why not in _HERE)
        return len(gone)

    def crowded_out(self, keys: Sequence[bytes]) -> None:
        """The index has dropped their vectors to make room: nothing else may say that they can be
        found. Their answers are as good as ever for who asks the same, and stay."""
        known = [key for _, key in self._memory.known(keys)]
        for key in known:
            self._memory.remove(key)
        self._account(known, "bound")

    async def made_room(self, gone: Sequence[tuple[bytes, bytes]]) -> None:
        """Others were remembered in the place of these, each with its scope. Raises:
        IndexUnavailableError."""
        self._account([key for _, key in gone], "bound")
        await self._space.remove(gone, everywhere=False)

    async def replaced(self, key: bytes) -> None:
        """Another question takes the place of what has this key. Raises: IndexUnavailableError."""
        gone = self._memory.known((key,))
        self._memory.remove(key)
        await self._space.remove(gone)

    async def placed(self, scope: bytes, keys: Sequence[bytes]) -> None:
        """Their vectors are in the index, which took a while: what was forgotten meanwhile goes.
        Raises: IndexUnavailableError."""
        here = frozenset(self._memory.known(keys))
        await self._space.remove([(scope, key) for key in keys if (scope, key) not in here])

    async def review(self, most: int) -> Reviewed:
        """Those whose answers are to be looked for next. An index that others share is told that
        they are wanted."""
        if not self._round:
            self._round = self._memory.keys()[::-1]
        some = [self._round.pop() for _ in range(min(most, len(self._round)))]
        mark, rows = self._memory.mark, self._memory.known(some)
        with suppress(IndexUnavailableError):  # it is told in the next round
            await self._space.keep(rows)
        return Reviewed(tuple(key for _, key in rows), mark)

    async def sweep(self, why: Why = "expired") -> None:
        """Forget what there is no answer to any more. Vectors that an index elsewhere keeps, since
        it does not answer, lead nowhere, and go there in time."""
        keys = self._memory.keys()
        for start in range(0, len(keys), _TURN):
            with suppress(IndexUnavailableError):
                some = self._memory.dead(keys[start : start + _TURN], self._now())
                await self.forget(some, why)
            await asyncio.sleep(0)

    def figures(self) -> dict[str, float]:
        """How many were forgotten, by reason."""
        return {f"{FORGOTTEN}{why}": float(count) for why, count in self._counts.items()}

    def _account(self, keys: Sequence[bytes], why: Why) -> None:
        if not keys:
            return
        self._counts[why] += len(keys)
        if why in _FOR_GOOD:
            self._lessons.forget(keys)
