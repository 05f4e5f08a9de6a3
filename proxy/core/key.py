"""The key: what names one answer, and no other, within one tenant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from blake3 import blake3

from proxy.core.entry import Key

if TYPE_CHECKING:
    from collections.abc import Iterable

VERSION: Final = 2
"""Changes with everything that changes keys, so that answers under older keys are never found."""


def spelling(key: Key, raw: bytes) -> Key:
    """The key of one way to write the request that `key` names: `raw`, 32 bytes, covers what the
    client sent, and `key` what the configuration made of it, which elsewhere may be another."""
    return Key(blake3(key + raw).digest())


class Scope:
    """The parts of a key besides the body, hashed once for all keys of one request."""

    __slots__ = ("_hasher",)

    def __init__(self, parts: Iterable[tuple[str, str]]) -> None:
        # With its length before each label and part, no sequence of parts reads as another one.
        written = [f"{len(label)}:{label}{len(part)}:{part}" for label, part in parts]
        head = f"hotprefix {VERSION}\n{''.join(written)}\n"
        self._hasher = blake3(head.encode("utf-8", "surrogatepass"))

    def key(self, label: str, body: bytes) -> Key:
        """The key of `body`; the label keeps keys of different kinds apart."""
        return Key(self.narrowed(label, body)._hasher.digest())

    def narrowed(self, label: str, part: bytes) -> Scope:
        """The scope with one more part."""
        scope = Scope.__new__(Scope)
        scope._hasher = self._hasher.copy()
        name = label.encode()
        scope._hasher.update(b"%d:%b%d:" % (len(name), name, len(part)))
        scope._hasher.update(part)
        return scope
