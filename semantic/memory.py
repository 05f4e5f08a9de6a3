"""What is known of stored questions besides their vectors: texts, lives, canonical forms."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Iterable

_SCOPES: Final = 10_000
"""Scopes of which one object is kept for all their questions, each with 0.1 kB; of further ones
each question has its own."""


class Held(msgspec.Struct, frozen=True, gc=False):
    """A stored question."""

    scope: bytes
    text: str
    expires: float
    """Unix seconds."""
    epoch: int
    name: bytes
    """Of its canonical form within its scope; empty: it has none."""
    serial: int = 0
    """How many were remembered before it, itself included."""


class Memory:
    """Stored questions by the key of their answer, and by canonical form within their scope."""

    def __init__(self, limit: int) -> None:
        """`limit`: questions; those that were not used for longest make room."""
        self._limit = limit
        self._held: dict[bytes, Held] = {}
        """Least recently used first."""
        self._same: dict[bytes, bytes] = {}
        """The last key of each name."""
        self._before: dict[bytes, list[bytes]] = {}
        """Those before it, oldest first, of names that several have."""
        self.epoch = 0
        """The last that was heard of: what is older is void."""
        self.mark = 0
        """How many were ever remembered."""

    def add(self, key: bytes, held: Held) -> list[tuple[bytes, Held]]:
        """Remember it in place of whatever had that key; what had to go for it."""
        self.remove(key)
        self.mark += 1
        self._held[key] = replace(held, scope=_one(held.scope), serial=self.mark)
        if held.name:
            if (last := self._same.get(held.name)) is not None:
                self._before.setdefault(held.name, []).append(last)
            self._same[held.name] = key
        gone = []
        while len(self._held) > self._limit:
            oldest = next(iter(self._held))
            gone.append((oldest, self._held[oldest]))
            self.remove(oldest)
        return gone

    def remove(self, key: bytes) -> Held | None:
        """Forget it; what it was."""
        held = self._held.pop(key, None)
        if held is not None and held.name:
            self._unname(held.name, key)
        return held

    def _unname(self, name: bytes, key: bytes) -> None:
        before = self._before.get(name, [])
        if self._same[name] != key:
            before.remove(key)
        elif before:
            self._same[name] = before.pop()
        else:
            del self._same[name]
        if not before:
            self._before.pop(name, None)

    def get(self, key: bytes) -> Held | None:
        """What is known of it, as used just now."""
        held = self._held.pop(key, None)
        if held is not None:
            self._held[key] = held
        return held

    def same(self, scope: bytes, form: bytes, most: int = 1) -> list[bytes]:
        """The keys of the answers to questions of this scope with this form, the last one first."""
        name = named(scope, form)
        last = self._same.get(name)
        return [] if last is None else [last, *self._before.get(name, [])[:-most:-1]]

    def lives(self, held: Held, now: float) -> bool:
        """Whether there may still be an answer to it at `now` (unix seconds)."""
        return held.expires > now and held.epoch >= self.epoch

    def keys(self) -> list[bytes]:
        """Of all, as they are now."""
        return list(self._held)

    def dead(self, keys: Iterable[bytes], now: float) -> list[bytes]:
        """Those among them that there is no answer to any more."""
        held = ((key, self._held.get(key)) for key in keys)
        return [key for key, one in held if one is not None and not self.lives(one, now)]

    def known(self, keys: Iterable[bytes], mark: int | None = None) -> list[tuple[bytes, bytes]]:
        """Scope and key of those that are known, once each, which are not used by that; with a
        `mark`, of those that were remembered by then."""
        held = ((key, self._held.get(key)) for key in dict.fromkeys(keys))
        return [
            (one.scope, key)
            for key, one in held
            if one is not None and (mark is None or one.serial <= mark)
        ]

    def __contains__(self, key: bytes) -> bool:
        return key in self._held

    def __len__(self) -> int:
        return len(self._held)


@lru_cache(maxsize=_SCOPES)
def _one(scope: bytes) -> bytes:
    """The same object for equal scopes: each question comes with a copy of 80 bytes."""
    return scope


def named(scope: bytes, form: bytes) -> bytes:
    """16 bytes in place of both, since there are many of them."""
    return blake2b(form, key=scope, digest_size=16).digest()
