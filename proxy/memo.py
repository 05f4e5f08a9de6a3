"""Requests understood, and recognized by their bytes when they come again."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import msgspec

from proxy.core.key import spelling
from proxy.core.receive import raw_key, receive
from proxy.core.request import Lookup
from proxy.tasks import off_loop

if TYPE_CHECKING:
    from proxy.core.endpoint import Endpoint
    from proxy.core.message import Arrival
    from proxy.core.request import Intent
    from proxy.core.rules import Rules


_ITEMS = 32
"""A batch of more items is not remembered: its keys would take more room than its parsing time."""


class Memo:
    """Raw key to intent, the oldest dropped first."""

    def __init__(self, rules: Rules, entries: int) -> None:
        self._rules = rules
        self._entries = entries
        # Not a dict: at its bound, finding the oldest takes that thirty times as long.
        self._known: OrderedDict[bytes, Intent] = OrderedDict()

    async def intent(self, arrival: Arrival, endpoint: Endpoint) -> Intent:
        """What is to be done about a request. Bytes that were understood before are known by their
        hash: no JSON is parsed twice. Raises: as `receive`."""
        raw = raw_key(arrival, self._rules)
        if (intent := self.get(raw)) is None:
            intent = await off_loop(len(arrival.body), receive, arrival, endpoint, self._rules)
            if isinstance(intent, Lookup):
                intent = msgspec.structs.replace(intent, raw=spelling(intent.key, raw))
            self.put(raw, intent)
        return intent

    def get(self, raw: bytes) -> Intent | None:
        return self._known.get(raw)

    def put(self, raw: bytes, intent: Intent) -> None:
        if isinstance(intent, Lookup) and len(intent.items) > _ITEMS:
            return
        if not intent.request.light:
            return
        self._known[raw] = intent
        if len(self._known) > self._entries:
            self._known.popitem(last=False)

    def __repr__(self) -> str:
        return f"<Memo {len(self._known)}/{self._entries}>"
