"""The fast lane: a request whose every byte was understood before is answered without being parsed.

Only for what arrives whole and alone, on a connection where everything before did so too: then no
byte can belong to two requests. Whatever is not certain goes the long way.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple

from blake3 import blake3

from proxy.adapters.door.reply import replayed
from proxy.core.endpoint import recognise

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from proxy.core.request import Lookup
    from proxy.response import Report, Response

    AtOnce: TypeAlias = Callable[[Lookup, Report], Response | None]
    Reports: TypeAlias = Callable[[str, str, str | None], Report]
    Noted: TypeAlias = Callable[[Report, bytes], None]

LONGEST: Final = 1 << 18
"""Bytes; a longer request is worth no waiting for its last piece."""

_SHORT: Final = 1 << 11
"""Bytes below which SHA-256 takes less time than BLAKE3, where the processor has it."""
_LONGEST_HEAD: Final = 1 << 13
"""Bytes, which bounds what is remembered of heads."""
_LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(\d{1,9})[ \t]*\r\n")
_STAYS: Final = re.compile(rb"\r\nconnection:[ \t]*keep-alive[ \t]*\r\n")
_ELSEWHERE: Final = (b"transfer-encoding", b"expect:", b"upgrade:", b"trailer:")
"""Headers that say more of where a request ends, or of what becomes of its connection."""


def due(data: bytes) -> int:
    """How long the request is that these bytes begin, in bytes: a POST by HTTP/1.1 to one of the
    cache's operations, whose end is beyond doubt. 0: it is none, or its head is not here yet."""
    end = data.find(b"\r\n\r\n", 0, _LONGEST_HEAD)
    if end < 0 or not data.startswith(b"POST /"):
        return 0
    length = _stated(data[: end + 2])
    total = end + 4 + length
    return total if length >= 0 and len(data) <= total <= LONGEST else 0


@lru_cache(maxsize=256)  # a client's heads differ in their lengths, and those repeat
def _stated(start: bytes) -> int:
    """How many bytes follow such a head; -1: that is in doubt."""
    head = start.lower()
    if not _is_plain(head) or head.count(b"content-length") != 1:
        return -1
    path = start[5 : start.index(b" ", 5)].partition(b"?")[0]
    length = _LENGTH.search(head)
    if length is None or recognise("POST", path.decode("latin-1")) is None:
        return -1
    return int(length[1])


def _is_plain(head: bytes) -> bool:
    """Whether nothing in a head, in lower case, leaves a choice."""
    if not head.endswith(b" http/1.1", 0, head.find(b"\r\n")):
        return False
    if head.count(b"\n") != head.count(b"\r\n") or any(name in head for name in _ELSEWHERE):
        return False
    named = head.count(b"connection:")
    return named == 0 or (named == 1 and _STAYS.search(head) is not None)


class Known(NamedTuple):
    """What was understood of a request."""

    lookup: Lookup
    endpoint: str
    client_id: str | None
    length: int
    """Bytes of its body."""


class Lane:
    """Requests by the digest of all their bytes, credential included; the oldest dropped first."""

    def __init__(self, at_once: AtOnce, reports: Reports, entries: int, noted: Noted) -> None:
        """`noted`: takes what was answered, for who wants to look at it."""
        self._noted = noted
        self._at_once = at_once
        self._reports = reports
        self._entries = entries
        self._known: OrderedDict[bytes, Known] = OrderedDict()

    def learn(self, data: bytes, known: Known) -> None:
        """Remember a request that was answered from the cache."""
        if self._entries and known.lookup.request.light:
            if len(self._known) >= self._entries:
                self._known.popitem(last=False)
            self._known[_digest(data)] = known

    def take(self, data: bytes) -> bytes | None:
        """The whole response, if these bytes are known and the answer is at hand."""
        if not self._known or not data.startswith(b"POST /") or len(data) > LONGEST:
            return None
        known = self._known.get(_digest(data))
        if known is None:
            return None
        report = self._reports("POST", known.endpoint, known.client_id)
        report.request, report.key = known.lookup.request, known.lookup.key
        report.arrived = known.length
        response = self._at_once(known.lookup, report)
        if response is None or not isinstance(response.body, bytes):
            return None
        report.end(len(response.body), complete=True)
        self._noted(report, data)
        return replayed(response, response.body)


def _digest(data: bytes) -> bytes:
    return sha256(data).digest() if len(data) < _SHORT else blake3(data).digest()
