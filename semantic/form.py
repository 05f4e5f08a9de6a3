"""Canonical questions as they are stored: a digest, with a stamp of the rules it was made by."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import msgspec

from semantic.canonical import question

if TYPE_CHECKING:
    from semantic.reading import Reading
    from semantic.settings import Settings

VERSION: Final = 5
"""Of what makes questions the same: forms that were stored under another one are made anew."""
_STAMP: Final = 4
_DIGEST: Final = 16


class Forms:
    """The forms of questions that may be compared, by one operator's settings."""

    def __init__(self, settings: Settings) -> None:
        rules = (settings.terms, settings.max_chars, settings.volatile_ttl, settings.personal)
        self._stamp = _digest(b"%d" % VERSION + msgspec.msgpack.encode(rules), _STAMP)

    def of(self, reading: Reading) -> bytes:
        """The same bytes for questions that ask the same; of one that says too little to tell, the
        stamp alone."""
        found = question(reading)
        return self._stamp if found is None else self._stamp + _digest(found, _DIGEST)

    def current(self, form: bytes) -> bool:
        """Whether a stored form was made by these rules."""
        return form[:_STAMP] == self._stamp


def tells(form: bytes) -> bool:
    """Whether questions with this form ask the same."""
    return len(form) > _STAMP


def _digest(data: bytes, size: int) -> bytes:
    return blake2b(data, digest_size=size).digest()
