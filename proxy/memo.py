"""Requests recognized by their bytes: what was understood of them before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.core.request import Lookup

if TYPE_CHECKING:
    from proxy.core.request import Intent

_ITEMS = 32
"""A batch of more items is not remembered: its keys would take more room than its parsing time."""

_LONGEST = 256
"""Characters of a model's name: no model has a longer one, and a client may send megabytes."""


class Memo:
    """Raw key to intent, the oldest dropped first."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._known: dict[bytes, Intent] = {}

    def get(self, raw: bytes) -> Intent | None:
        return self._known.get(raw)

    def put(self, raw: bytes, intent: Intent) -> None:
        if isinstance(intent, Lookup) and len(intent.items) > _ITEMS:
            return
        if len(intent.request.model) > _LONGEST:
            return
        self._known[raw] = intent
        if len(self._known) > self._entries:
            del self._known[next(iter(self._known))]

    def __repr__(self) -> str:
        return f"<Memo {len(self._known)}/{self._entries}>"
