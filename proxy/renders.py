"""Stored answers as they were rendered before: hiding usage or changing the form is done once."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

from proxy.core.delivery import rendered
from proxy.core.entry import OVERHEAD

if TYPE_CHECKING:
    from proxy.core.entry import Entry, Key
    from proxy.core.message import Headers
    from proxy.core.request import Request

_Name: TypeAlias = "tuple[Key, float, float, float, bool, bool]"


class Renders:
    """Rendered bodies within `max_bytes`, the oldest dropped first."""

    def __init__(self, max_bytes: int, *, zero_usage: bool) -> None:
        self._max_bytes = max_bytes
        self._zero = zero_usage
        self._bytes = 0
        self._held: OrderedDict[_Name, tuple[Headers, bytes]] = OrderedDict()

    def get(self, entry: Entry, request: Request) -> tuple[Headers, bytes]:
        """Headers and body of a stored answer as this request wants them. Raises: UnlikeError."""
        if entry.form == "json" and not request.stream and not self._zero:
            return entry.headers, entry.body
        # A batch is as old as its oldest item, and lives as long as the first to expire: a newer
        # one among the others shows in when it was asked for.
        times = (entry.asked, entry.created, entry.ttl)
        name = (entry.key, *times, request.stream, request.wants_usage)
        held = self._held.get(name)
        if held is None:
            held = rendered(entry, request, zero=self._zero)
            if held[1] is not entry.body:
                self._keep(name, held)
        return held

    def _keep(self, name: _Name, held: tuple[Headers, bytes]) -> None:
        if _weight(held) > self._max_bytes // 8:
            return
        self._held[name] = held
        self._bytes += _weight(held)
        while self._bytes > self._max_bytes:
            self._bytes -= _weight(self._held.popitem(last=False)[1])

    def __repr__(self) -> str:
        return f"<Renders {len(self._held)} {self._bytes} B>"


def _weight(held: tuple[Headers, bytes]) -> int:
    return OVERHEAD + len(held[1])
