"""The data keys of a process: one that seals, and those that open what others have sealed."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from proxy.adapters.vault.wrapper import WrapperError
from proxy.coder import PLAIN, Coder, SealError
from proxy.core import sealing
from proxy.core.events import TierFailed, TierTurned

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from proxy.adapters.vault.wrapper import Wrapper
    from proxy.core.sealing import DataKey
    from proxy.ports import Clock, Emit

NAME: Final = "encryption"
"""In events, beside the names of tiers."""
_KNOWN: Final = 4096
"""Data keys that are remembered: one for each process that has sealed what is still read."""
_UNKNOWN: Final = 256
"""Data keys that may wait to be unwrapped; what is sealed with others is a miss meanwhile."""
_RENEWED: Final = 1 << 26
"""Seals after which another data key is made; far from SEALS, so that its keeper has time."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0
_REFUSED: Final = 60.0
"""Seconds for which a data key that no wrapper opens is not tried again."""


class Vault:
    """Seals and opens, in any thread. Where a keeper has to be asked, `run` does it: until it was
    reached, nothing can be sealed, and what is sealed with a key not known yet is a miss.

    Make one in each process, after forking.
    """

    def __init__(
        self,
        wrappers: Sequence[Wrapper],
        *,
        clock: Clock,
        emit: Emit,
        chance: Callable[[int], bytes] = os.urandom,
        seals: int = _RENEWED,
    ) -> None:
        """`wrappers`: the first one wraps what is made here, all of them unwrap."""
        self._wrappers = {wrapper.id: wrapper for wrapper in reversed(wrappers)}
        self._first = wrappers[0]
        self._clock = clock
        self._emit = emit
        self._chance = chance
        self._seals = seals
        self._lock = threading.Lock()
        self._current: DataKey | None = None
        self._uses = 0
        self._known: OrderedDict[tuple[bytes, bytes], bytes] = OrderedDict()
        self._refused: OrderedDict[tuple[bytes, bytes], float] = OrderedDict()
        self._wanted: dict[tuple[bytes, bytes], None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake = asyncio.Event()
        self._working = True
        self._strange = False
        """Whether something was met that no key of the settings opens."""
        if not self._first.waits:
            self._adopt(self._first.make(self._chance(sealing.SECRET)))

    def __repr__(self) -> str:
        return f"<Vault {self._first}, {len(self._known)} keys known>"

    def seal(self, payload: bytes, bound: bytes) -> bytes:
        """`payload`, sealed and bound. Raises: SealError: there is no data key yet."""
        with self._lock:
            key, self._uses = self._current, self._uses + 1
            uses = self._uses
        if uses > self._seals:
            key = self._renewed(uses)
        if key is None:
            raise SealError("no data key yet")
        return sealing.seal(key, self._chance(sealing.NONCE), payload, bound)

    def unseal(self, data: memoryview, bound: bytes) -> bytes | None:
        """What was sealed, if it was bound to this and its key is known."""
        sealed = sealing.parts(data)
        secret = None if sealed is None else self._secret(sealed.id, sealed.wrapped)
        if sealed is None or secret is None:
            return None
        return sealing.opened(sealed, secret, bound)

    async def run(self) -> None:
        """Ask keepers for what is missing, until cancelled."""
        self._loop = asyncio.get_running_loop()
        pause = _FIRST_PAUSE
        while True:
            self._wake.clear()
            # Each for itself: a former key that is gone keeps nobody from sealing with the new one.
            unmade, unknown = await _trouble(self._make), await _trouble(self._learn)
            self._turned(not unmade, unmade)
            if self._strange:
                self._strange = False
                self._emit(TierFailed(NAME, "get", "UnknownKey"))
            if unknown:
                self._emit(TierFailed(NAME, "get", unknown))
            if unmade or unknown:
                await self._clock.sleep(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
                continue
            pause = _FIRST_PAUSE
            await self._wake.wait()

    async def _make(self) -> None:
        if self._current is None or self._uses > self._seals:
            self._adopt(await asyncio.to_thread(self._first.make, self._chance(sealing.SECRET)))

    async def _learn(self) -> None:
        """Unwrap what was asked for, one after the other."""
        while (name := self._next()) is not None:
            try:
                secret = await asyncio.to_thread(self._wrappers[name[0]].unwrap, name[1])
            finally:
                with self._lock:  # whatever came of it: who still needs it asks again
                    self._wanted.pop(name, None)
            self._note(name, secret)

    def _next(self) -> tuple[bytes, bytes] | None:
        with self._lock:
            return next(iter(self._wanted), None)

    def _adopt(self, key: DataKey) -> None:
        with self._lock:
            self._current, self._uses = key, 0
        self._note((key.id, key.wrapped), key.secret)

    def _renewed(self, uses: int) -> DataKey | None:
        """The data key after the one that has sealed often enough."""
        if not self._first.waits:
            self._adopt(self._first.make(self._chance(sealing.SECRET)))
            return self._current
        self._call()
        return self._current if uses < sealing.SEALS else None

    def _secret(self, key_id: bytes, wrapped: bytes) -> bytes | None:
        name = key_id, wrapped
        with self._lock:
            secret = self._known.get(name)
            if secret is not None:
                self._known.move_to_end(name)
                return secret
            refused = self._refused.get(name)
        wrapper = self._wrappers.get(key_id)
        if wrapper is None:
            self._strange = True
            self._call()
            return None
        if refused is not None and self._clock.mono() < refused:
            return None
        if not wrapper.waits:
            secret = wrapper.unwrap(wrapped)
            self._note(name, secret)
            return secret
        with self._lock:
            if len(self._wanted) < _UNKNOWN:
                self._wanted[name] = None
        self._call()
        return None

    def _note(self, name: tuple[bytes, bytes], secret: bytes | None) -> None:
        with self._lock:
            if secret is None:
                self._refused[name] = self._clock.mono() + _REFUSED
            else:
                self._known[name] = secret
            for kept in (self._known, self._refused):
                while len(kept) > _KNOWN:
                    kept.popitem(last=False)

    def _call(self) -> None:
        """Have `run` look what is missing. Readers and writers are in threads of their own."""
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody reads any more
                self._loop.call_soon_threadsafe(self._wake.set)

    def _turned(self, working: bool, error: str = "") -> None:
        if working != self._working:
            self._working = working
            self._emit(TierTurned(NAME, working, error))


async def _trouble(step: Callable[[], Awaitable[None]]) -> str:
    """What kept it from being done; empty: nothing."""
    try:
        await step()
    except WrapperError as error:
        return str(error)
    return ""


def coder(vault: Vault | None) -> Coder:
    """What the tiers make bytes with."""
    return PLAIN if vault is None else Coder(vault.seal, vault.unseal)
