"""What the machines of a fleet tell each other of meaning: answers stored, hits served, errors
learnt."""

from __future__ import annotations

from contextlib import suppress
from hashlib import blake2b
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
SERVED: Final = 50_000
"""Hits that are written down before the older half of them is forgotten; some 20 MB for each half.
At most so many as that can be called wrong at any machine, and twice as many at the best."""
_PORTION: Final = 256
_LASTS: Final = 30 * 86_400_000
"""Milliseconds after which Redis forgets what nobody adds to."""
_CALLED: Final = 86_400_000
"""The same of hits."""
_KEY: Final = 32
_STORED: Final = b"k"
_LEARNT: Final = b"l"


_ADD: Final = f"""
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[3], '*', ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], {_LASTS})
"""

_SERVED: Final = f"""
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], {_CALLED})
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then
  redis.call('UNLINK', KEYS[2])
  redis.call('RENAME', KEYS[1], KEYS[2])
end
"""

_COMPLAINT: Final = """
return redis.call('HGET', KEYS[1], ARGV[1]) or redis.call('HGET', KEYS[2], ARGV[1])
"""

_SETTLED: Final = f"""
local had = redis.call('HDEL', KEYS[1], ARGV[1]) + redis.call('HDEL', KEYS[2], ARGV[1])
if had + ARGV[2] > 0 then
  redis.call('XADD', KEYS[3], 'MAXLEN', '~', {LESSONS}, '*', ARGV[3], ARGV[4])
  redis.call('PEXPIRE', KEYS[3], {_LASTS})
end
return had
"""
"""At once, so that a complaint that several machines get is told by one of them."""


_NEW: Final = f"""
return redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+', 'COUNT', {_PORTION})
"""


class Meanings:
    """Two streams that all machines write: keys of stored answers, whose questions lie in the
    entries themselves, and lessons. What is lost costs hits, or evidence, and no right answer.
    Beside them the last hits by their requests, the younger and the older half: an operator behind
    a balancer cannot choose which machine is told that one was wrong."""

    def __init__(self, link: Scripts, get: Get, run: bytes, clock: Clock) -> None:
        """`get`: reads the tier that the fleet shares. `run`: names this machine's processes."""
        self._link = link
        self._get = get
        self._me = run
        self._clock = clock
        self._names = {kind: link.name("meaning", kind.decode()) for kind in (_STORED, _LEARNT)}
        self._served = (link.name("meaning", "s"), link.name("meaning", "so"))
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

    async def served(self, request: str, lesson: bytes) -> None:
        """A request was answered by meaning, and this follows should that be called wrong."""
        with suppress(StoreError):  # then this machine alone can be told
            args = (_digest(request), lesson, SERVED)
            await self._link.script(_SERVED, self._served, args, write=True)

    async def complaint(self, request: str) -> bytes | None:
        """What follows, while nobody has called it wrong. Raises: StoreError."""
        word: bytes | None = await self._link.script(_COMPLAINT, self._served, (_digest(request),))
        return word

    async def settled(self, request: str, lesson: bytes) -> bool:
        """It was called wrong: the others are told, by the first alone who says so; whether that is
        this one. Raises: StoreError."""
        return await self._settled(request, lesson, ours=False)

    async def blamed(self, request: str, lesson: bytes) -> None:
        """The same of a hit of this machine's own, which the others have to hear of anyhow."""
        with suppress(StoreError):
            await self._settled(request, lesson, ours=True)

    async def _settled(self, request: str, lesson: bytes, *, ours: bool) -> bool:
        names = (*self._served, self._names[_LEARNT])
        args = (_digest(request), int(ours), self._me, lesson)
        return bool(await self._link.script(_SETTLED, names, args, write=True))

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


def _digest(request: str) -> bytes:
    """Of a request's id, which clients choose."""
    return blake2b(request.encode("utf-8", "surrogatepass"), digest_size=16).digest()
