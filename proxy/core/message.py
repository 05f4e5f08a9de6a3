"""Requests and responses as values."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from proxy.core.recent import length

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Names as spelled and values, in order, repeats kept."""


class Arrival(msgspec.Struct, frozen=True):
    """A request as it came in, body read."""

    method: str
    path: str
    """Raw, as sent, without the query."""
    query: str
    """Raw, without the question mark."""
    headers: Headers
    body: bytes
    id: str = ""
    """By which answers and logs know it; no part of what it asks."""

    @property
    def size(self) -> int:
        """Bytes of its texts, about."""
        return len(self.path) + len(self.query) + length(self.headers) + len(self.body)


class Head(msgspec.Struct, frozen=True):
    """What comes before a response's body."""

    status: int
    headers: Headers
    reason: str = ""

    def get(self, name: str) -> str | None:
        """The first value of a header; `name` in lower case."""
        for spelled, value in self.headers:
            if spelled.lower() == name:
                return value
        return None

    @property
    def coding(self) -> str:
        """The content codings, in the order in which they were applied; empty: none. Several
        lines mean the same as one with commas (RFC 9110 §5.3)."""
        given = [value for spelled, value in self.headers if spelled.lower() == "content-encoding"]
        return ", ".join(given).lower()


class Call(msgspec.Struct, frozen=True):
    """What is sent to an upstream node."""

    method: str
    path: str
    """Raw, as the client sent it; each node maps it below its own URL."""
    query: str
    headers: Headers
    body: bytes | AsyncIterator[bytes] | None
    """Bytes are complete; an iterator is a client's upload, sent on as it comes."""
