"""Pairs of a question and an answer, by digests that tell nothing of their texts."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from semantic.form import tells
from semantic.protocol import Block

if TYPE_CHECKING:
    from semantic.protocol import Found


def pair(scope: bytes, said: bytes, key: bytes = b"") -> bytes:
    """16 bytes for a question, or for a question and an answer."""
    hasher = blake2b(scope, digest_size=16)
    hasher.update(b"%d:" % len(key) + key + said)
    return hasher.digest()


def names(text: str, form: bytes) -> list[bytes]:
    """What a question is known by: its letters, and its form where that tells something."""
    return [letters(text), form] if tells(form) else [letters(text)]


def letters(text: str) -> bytes:
    """A question as it was written."""
    return text.encode("utf-8", "surrogatepass")


def blocks(found: Found, text: str) -> tuple[Block, ...]:
    """What keeps an answer from ever being served for this question again."""
    scope, key = found.scope, found.key
    return tuple(
        Block(pair(scope, name, key), pair(scope, name), key) for name in names(text, found.form)
    )
