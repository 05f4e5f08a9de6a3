"""The file read through, for who has to know all of one kind."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import lmdb

from proxy.adapters.disk import tree
from proxy.adapters.disk.file import TIER
from proxy.core.entry import Entry, Key
from proxy.ports import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from proxy.adapters.disk.file import File
    from proxy.coder import Coder

_PORTION: Final = 256
"""Values that are looked through in a row."""


async def questions(file: File, coder: Coder, now: float) -> AsyncIterator[list[Entry]]:
    """The entries alive at `now` whose questions others can be compared with, some at a time; read
    in a thread. Raises: StoreError."""
    after = b""
    while True:
        some, after = await asyncio.to_thread(_some, file, coder, after, now)
        if some:
            yield some
        if not after:
            return


def _some(file: File, coder: Coder, after: bytes, now: float) -> tuple[list[Entry], bytes]:
    try:
        with file.look() as (txn, tables):
            found, after = tree.compared(txn, tables, after, _PORTION)
    except lmdb.Error as error:
        raise StoreError(TIER, f"cannot read: {type(error).__name__}") from error
    read = [coder.decode(data, Key(key)) for key, data in found]
    return [one for one in read if isinstance(one, Entry) and one.expires > now], after
