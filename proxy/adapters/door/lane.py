"""The fast lane: a request whose every byte was understood before is answered without being parsed.

Only for what arrives whole, in one piece, on a connection where everything before did so too:
then no byte can belong to two requests. Whatever is not certain goes the long way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3

from proxy.adapters.door.reply import replayed

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from proxy.core.request import Lookup
    from proxy.response import Report, Response

    AtOnce: TypeAlias = Callable[[Lookup, Report], Response | None]
    Reports: TypeAlias = Callable[[str, str, str | None], Report]

LONGEST: Final = 1 << 18
"""Bytes; nothing longer arrives in one piece."""

_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*\r\n")
_STAYS: Final = re.compile(rb"\r\nconnection:[ \t]*keep-alive[ \t]*\r\n")
_ELSEWHERE: Final = (b"transfer-encoding", b"expect:", b"upgrade:", b"trailer:")
"""Headers that say more of where a request ends, or of what becomes of its connection."""


def whole(data: bytes) -> bool:
    """Whether these bytes are one POST by HTTP/1.1, from its first to its last, beyond doubt."""
    end = data.find(b"\r\n\r\n")
    if end < 0 or len(data) > LONGEST or not data.startswith(b"POST /"):
        return False
    head = data[: end + 2].lower()
    first = head.find(b"\r\n")
    if not head.endswith(b" http/1.1", 0, first) or head.count(b"\n") != head.count(b"\r\n"):
        return False
    if head.count(b"content-length") != 1 or any(name in head for name in _ELSEWHERE):
        return False
    named = head.count(b"connection:")
    if named > 1 or (named and _STAYS.search(head) is None):
        return False
    length = _LENGTH.search(head)
    return length is not None and int(length[1]) == len(data) - end - 4


class Known(NamedTuple):
    """What was understood of a request."""

    lookup: Lookup
    endpoint: str
    client_id: str | None
    length: int
    """Bytes of its body."""


class Lane:
    """Requests by the digest of all their bytes, credential included; the oldest dropped first."""

    def __init__(self, at_once: AtOnce, reports: Reports, entries: int) -> None:
        self._at_once = at_once
        self._reports = reports
        self._entries = entries
        self._known: dict[bytes, Known] = {}

    def learn(self, data: bytes, known: Known) -> None:
        """Remember a request that was answered from the cache."""
        if self._entries:
            if len(self._known) >= self._entries:
                self._known.pop(next(iter(self._known)), None)
            self._known[blake3(data).digest()] = known

    def take(self, data: bytes) -> bytes | None:
        """The whole response, if these bytes are known and the answer is at hand."""
        if not self._known or not data.startswith(b"POST /") or len(data) > LONGEST:
            return None
        known = self._known.get(blake3(data).digest())
        if known is None:
            return None
        report = self._reports("POST", known.endpoint, known.client_id)
        report.request, report.key = known.lookup.request, known.lookup.key
        report.arrived = known.length
        response = self._at_once(known.lookup, report)
        if response is None or not isinstance(response.body, bytes):
            return None
        report.end(len(response.body), complete=True)
        return replayed(response, response.body)
