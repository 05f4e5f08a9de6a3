"""What the semantic process is told of stored answers, and told again where it missed it."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.attempts import Attempts
    from proxy.core.entry import Entry, Key
    from proxy.ports import Semantic

LIMIT: Final = 5000
"""Answers that wait to be told again, without their texts about 2 KB each; the oldest go first."""
_TRIES: Final = 3
"""Some texts no embedder takes, and they must not be tried for ever."""
_TOGETHER: Final = 16
_PATIENCE: Final = 5.0
"""Seconds that the process may take; no request waits for it."""


class _Untold(NamedTuple):
    entry: Entry
    """Without its body."""
    tries: int


class Telling:
    """While the process is away, busy, or without its embedder, answers are stored all the same.
    It begins anew knowing all that is on the disk; but where it did not end, nobody else would
    tell it."""

    def __init__(self, semantic: Semantic, attempts: Attempts) -> None:
        self._semantic = semantic
        self._attempts = attempts
        self._untold: OrderedDict[Key, _Untold] = OrderedDict()
        self._telling = False

    @property
    def due(self) -> bool:
        """Whether there is something to be told again, and nobody at it."""
        return bool(self._untold) and not self._telling

    async def tell(self, entry: Entry) -> None:
        """Of an answer that was stored just now."""
        self._untold.pop(entry.key, None)
        await self._told((_Untold(_bare(entry), 0),))

    async def again(self) -> None:
        """All that was missed, as long as it is taken. To be called when a vector came: then the
        process, its embedder and its index are well."""
        if not self.due:
            return
        self._telling = True
        try:
            # What is missed once more goes to the end, and waits for the next time.
            for _ in range(0, len(self._untold), _TOGETHER):
                some = [self._next() for _ in range(min(_TOGETHER, len(self._untold)))]
                if not await self._told(some):
                    return
        finally:
            self._telling = False

    def missed(self, entries: Sequence[Entry]) -> None:
        """Of what others told it, and it could not take whole."""
        self._keep([_Untold(_bare(one), 0) for one in entries])

    def gone(self, key: Key) -> None:
        """There is no answer under this key any more."""
        self._untold.pop(key, None)

    def _next(self) -> _Untold:
        entry, tries = self._untold.popitem(last=False)[1]
        return _Untold(entry, tries + 1)

    async def _told(self, some: Sequence[_Untold]) -> bool:
        """Whether they were taken, be it without all of their vectors."""
        work = partial(self._semantic.learn, [one.entry for one in some])
        missed = await self._attempts.ask("put", work, _PATIENCE)
        self._keep([one for one in some if missed is None or one.entry.key in missed])
        return missed is not None

    def _keep(self, some: Sequence[_Untold]) -> None:
        for one in some:
            # One that was stored since then, and is waiting itself, is the newer.
            if one.tries < _TRIES:
                self._untold.setdefault(one.entry.key, one)
        while len(self._untold) > LIMIT:
            self._untold.popitem(last=False)


def _bare(entry: Entry) -> Entry:
    return replace(entry, headers=(), body=b"")
