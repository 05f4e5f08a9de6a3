"""The fleet's epoch beside the objects, which outlive every gateway and every Redis."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from blake3 import blake3

from proxy.adapters.objects.place import FAILURES, Place
from proxy.core.events import TierFailed

if TYPE_CHECKING:
    from proxy.adapters.objects.place import Seen
    from proxy.ports import Clock, Emit

_PROOFS: Final = "hotprefix 2026 proof of an epoch"
_PROOF: Final = 16
_EVERY: Final = 0.2
_LOOK_EVERY: Final = 60.0
"""Seconds between two looks for what others have written: each is paid for, and gateways that have
no Redis in common hear of each other's purges in no other way."""
_RETRY_EVERY: Final = 1.0
_HOPE: Final = 5.0
"""Seconds after the start in which an answer may still come."""


class Epochs(Protocol):
    """The machine's epoch, as all its workers see it."""

    @property
    def provisional(self) -> bool: ...

    def current(self) -> int: ...

    def learn(self, epoch: int) -> int: ...


class KeptEpoch:
    """Without it a machine whose disk is new could not know that the objects are still valid."""

    def __init__(
        self,
        url: str,
        epochs: Epochs,
        *,
        secret: bytes,
        timeout: float,
        alone: bool,
        clock: Clock,
        emit: Emit,
    ) -> None:
        """`alone`: nobody else can say the epoch, so that where none is kept this machine's own is
        the one. Raises: ConfigError for an impossible `url`."""
        self._place = Place(url)
        self._epochs = epochs
        self._key = blake3(secret, derive_key_context=_PROOFS).digest()
        self._name = f"epoch-{blake3(b'name', key=self._key).hexdigest(_PROOF // 2)}"
        self._timeout = timeout
        self._alone = alone
        self._clock = clock
        self._emit = emit
        self._began = clock.mono()
        self._heard = asyncio.Event()
        self._kept = 0

    def __repr__(self) -> str:
        return f"<KeptEpoch {self._kept}>"

    @property
    def pending(self) -> bool:
        """Whether an epoch may be heard from here in a moment."""
        return not self._heard.is_set() and self._clock.mono() - self._began < _HOPE

    async def meet(self, patience: float) -> None:
        """Wait, no longer than this, until it is known what is kept: who serves earlier takes the
        objects for void."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._heard.wait()

    async def run(self) -> None:
        """Have one epoch here and there, until cancelled."""
        looked = self._clock.mono() - _LOOK_EVERY
        while True:
            now = self._clock.mono()
            if now - looked >= (_RETRY_EVERY if self._open() else _LOOK_EVERY):
                looked = now
                await self.align()
            await self._clock.sleep(_EVERY)

    def _open(self) -> bool:
        """Whether there is something to hear, or to say."""
        says = self._alone or not self._epochs.provisional
        return not self._heard.is_set() or (says and self._kept != self._epochs.current())

    async def align(self) -> None:
        """One look: the larger one counts, once this machine knows its fleet."""
        try:
            async with asyncio.timeout(self._timeout):
                data, seen = await self._place.note(self._name)
                there = self._kept = self._epoch(data)
                if there and (self._epochs.provisional or there > self._epochs.current()):
                    await self._learn(there)
                self._heard.set()
                own = self._epochs.current()
                if there < own and (self._alone or not self._epochs.provisional):
                    await self._say(own, seen)
        except FAILURES as error:
            self._emit(TierFailed("objects", "purge", type(error).__name__))

    async def _say(self, own: int, seen: Seen) -> None:
        digits = b"%d" % own
        if await self._place.write(self._name, digits + self._proof(digits), seen):
            self._kept = own
            await self._learn(own)

    async def _learn(self, epoch: int) -> None:
        with suppress(OSError):  # it holds for this run
            await asyncio.to_thread(self._epochs.learn, epoch)

    def _epoch(self, data: bytes) -> int:
        """The number in it; 0 for what no gateway with this secret wrote."""
        digits, proof = data[:-_PROOF], data[-_PROOF:]
        return int(digits) if digits.isdigit() and proof == self._proof(digits) else 0

    def _proof(self, digits: bytes) -> bytes:
        return blake3(digits, key=self._key).hexdigest(_PROOF // 2).encode()
