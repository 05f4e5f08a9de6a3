"""Answers that requests wanted anew, told to the gateways of a fleet: a stream in Redis."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from proxy.core.entry import Key
from proxy.ports import StoreError

if TYPE_CHECKING:
    from proxy.adapters.redis.scripts import Scripts

MOST: Final = 10_000
"""Renewals that are kept, about."""
_LASTS: Final = 600.0
"""Seconds after the last one, in which who was away for a moment still reads them."""
_KEY: Final = 32

_TELL: Final = f"""
redis.call('XADD', KEYS[1], 'MAXLEN', '~', {MOST}, '*', 'key', ARGV[1], 'before', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
"""


class Renewals:
    """Any client may ask for as many as it likes. So they are kept apart from purges, and may be
    missed: where one is, an older answer lives on for its time."""

    def __init__(self, link: Scripts, stream: bytes) -> None:
        self._link = link
        self._stream = stream
        self.position = ""
        """After which to read; empty: nobody has said yet where the end is."""

    async def tell(self, key: Key, asked: float) -> None:
        """What was asked for before then (unix seconds) is outdated; told once."""
        args = key, repr(asked), round(1000 * _LASTS)
        with suppress(StoreError):
            await self._link.script(_TELL, (self._stream,), args, write=True)

    def read(self, rows: Any) -> dict[Key, float]:
        """Before when what is outdated, by the rows after the position. What no gateway wrote is
        left out."""
        found: dict[Key, float] = {}
        for _, fields in rows if self.position else ():
            told = dict(zip(fields[::2], fields[1::2], strict=True))
            key = Key(told.get(b"key", b""))
            with suppress(ValueError):
                asked = float(told.get(b"before", b""))
                if len(key) == _KEY:
                    found[key] = max(asked, found.get(key, asked))
        self.position = rows[0][0].decode() if rows else self.position or "0-0"
        return found
