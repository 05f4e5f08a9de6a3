"""What the machines of a fleet tell each other of meaning: answers stored, errors learnt."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from proxy.core.entry import Entry, Key
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from proxy.adapters.redis.scripts import Scripts
    from proxy.core.entry import Stored
    from proxy.ports import Clock

    Get = Callable[[Key, float], Awaitable[Stored | None]]

KEPT: Final = 100_000
"""Answers that Redis remembers for machines that start."""
LESSONS: Final = 30_000
"""The same of lessons: fewer than a semantic process knows to have counted, for who begins anew
hears them all again."""
_PORTION: Final = 256
_LASTS: Final = 30 * 86_400_000
"""Milliseconds after which Redis forgets what nobody adds to."""
_KEY: Final = 32
_STORED: Final = b"k"
_LEARNT: Final = b"l"


_ADD: Final = f"""
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], {_LASTS})
"""


_NEW: Final = f"""
return redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', {_PORTION})
"""


class Meanings:
    """Two streams that all machines write: keys of stored answers, whose questions lie in the
    entries themselves, and lessons. What is lost costs hits, or evidence, and no right answer."""

    def __init__(self, link: Scripts, get: Get, run: bytes, clock: Clock) -> None:
        """`get`: reads the tier that the fleet shares. `run`: names this machine's processes."""
        self._link = link
        self._get = get
        self._me = run
        self._clock = clock
        self._names = {kind: link.name("meaning", kind.decode()) for kind in (_STORED, _LEARNT)}
        self._last = {_STORED: b"0-0", _LEARNT: b"0-0"}
        self._anew = False
        """Whether what this machine told itself is news to who listens."""

    def __repr__(self) -> str:
        return f"<Meanings heard to {self._last}>"

    async def stored(self, key: Key) -> None:
        """An answer is there that the others may find."""
        await self._tell(_STORED, key)

    async def learnt(self, lesson: bytes) -> None:
        """The others are to count this as well."""
        await self._tell(_LEARNT, lesson)

    async def _tell(self, kind: bytes, what: bytes) -> None:
        name, most = self._names[kind], KEPT if kind == _STORED else LESSONS
        with suppress(StoreError):  # then this machine alone knows of it
            await self._link.script(_ADD, (name,), (self._me, what, most), write=True)

    def again(self) -> None:
        """Hear from the beginning, this machine's own words too: who listened has forgotten all."""
        self._last = {_STORED: b"0-0", _LEARNT: b"0-0"}
        self._anew = True

    async def heard(self) -> tuple[list[Entry], list[bytes], bool]:
        """Entries and lessons that others told of since the last time, and whether there may be
        more. Raises: StoreError."""
        before = dict(self._last)
        try:
            keys, some = await self._new(_STORED)
            lessons, further = await self._new(_LEARNT)
            entries = await self._read(keys)
        except StoreError:
            self._last = before  # nobody has heard it
            raise
        more = some or further
        self._anew &= more
        return entries, lessons, more

    async def _read(self, keys: Sequence[bytes]) -> list[Entry]:
        now, entries = self._clock.now(), []
        for key in dict.fromkeys(keys):
            if len(key) == _KEY:
                stored = await self._get(Key(key), now)
                if isinstance(stored, Entry) and stored.question is not None:
                    entries.append(stored)
        return entries

    async def _new(self, kind: bytes) -> tuple[list[bytes], bool]:
        told: Any = await self._link.script(_NEW, (self._names[kind],), (self._last[kind],))
        found = []
        for at, fields in told or ():
            self._last[kind] = at
            found += [what for who, what in [tuple(fields[:2])] if self._anew or who != self._me]
        return found, len(told or ()) == _PORTION
