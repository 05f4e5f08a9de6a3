"""The file read in passing, in a thread: for who has to know all of one kind, or much at once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import lmdb

from proxy.adapters.disk import tree
from proxy.adapters.disk.file import TIER
from proxy.core.entry import Entry, Key
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from proxy.adapters.disk.file import File
    from proxy.coder import Coder

_PORTION: Final = 256
"""Values that are looked through in a row."""
_LOOKED: Final = 32
"""Keys that are looked up in a row: from a slow disk that takes milliseconds, for which requests
wait."""


class Scan:
    """What no request waits for. All methods raise StoreError."""

    def __init__(self, file: File, coder: Coder) -> None:
        self._file = file
        self._coder = coder

    async def questions(self, now: float) -> AsyncIterator[list[Entry]]:
        """The entries alive at `now` whose questions others can be compared with, some at a
        time."""
        after = b""
        while True:
            some, after = await asyncio.to_thread(self._some, after, now)
            if some:
                yield some
            if not after:
                return

    async def holds(self, keys: Sequence[Key], now: float) -> dict[Key, float]:
        """When those of them were asked for that have a question and are alive at `now`; nothing
        else of them is read."""
        return await asyncio.to_thread(self._held, keys, now)

    def _some(self, after: bytes, now: float) -> tuple[list[Entry], bytes]:
        try:
            with self._file.look() as (txn, tables):
                found, after = tree.compared(txn, tables, after, _PORTION)
        except lmdb.Error as error:
            raise _failed(error) from error
        read = [self._coder.decode(data, Key(key)) for key, data in found]
        return [one for one in read if isinstance(one, Entry) and one.expires > now], after

    def _held(self, keys: Sequence[Key], now: float) -> dict[Key, float]:
        found: dict[Key, float] = {}
        for start in range(0, len(keys), _LOOKED):
            try:
                with self._file.look() as (txn, tables):
                    for key in keys[start : start + _LOOKED]:
                        if (asked := tree.alive(txn, tables, key, now)) is not None:
                            found[key] = asked
            except lmdb.Error as error:
                raise _failed(error) from error
        return found


def _failed(error: lmdb.Error) -> StoreError:
    return StoreError(TIER, f"cannot read: {type(error).__name__}")
