"""Nodes that asked to be left alone for a while, and how long they said."""

from __future__ import annotations

from collections import OrderedDict
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from proxy.core.message import Head

_KEPT: Final = 4096
"""Names that are kept: they contain what clients choose."""

_LONGEST: Final = 60.0
"""Seconds; a node that asks for more is tried again all the same."""

_UNSAID: Final = 1.0
"""Seconds that a node rests which did not say how long."""


def pause(head: Head, now: float) -> float:
    """Seconds for which a refusal asks, within bounds (RFC 9110 §10.2.3, and OpenAI's own header).

    `now`: unix seconds.
    """
    exact, said = head.get("retry-after-ms"), head.get("retry-after")
    found = None if exact is None else _number(exact)
    if found is not None:
        return min(found / 1000, _LONGEST)
    if said is None:
        return _UNSAID
    found = _number(said)
    if found is None:
        found = _until(said, now)
    return _UNSAID if found is None else min(found, _LONGEST)


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) and found >= 0 else None


def _until(text: str, now: float) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, OverflowError):
        return None


class Resting:
    """Until when each rests, in monotonic seconds."""

    def __init__(self) -> None:
        self._until: OrderedDict[tuple[str, str, bytes], float] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether any may rest."""
        return bool(self._until)

    def rest(self, node: str, model: str, tenant: bytes, until: float) -> None:
        """`tenant`: whose credential was refused; empty: the node's own."""
        name = (node, model, tenant)
        self._until[name] = until
        self._until.move_to_end(name)
        if len(self._until) > _KEPT:
            self._until.popitem(last=False)

    def rests(self, node: str, model: str, tenant: bytes, mono: float) -> bool:
        name = (node, model, tenant)
        until = self._until.get(name, 0.0)
        if until and until <= mono:
            del self._until[name]
        return until > mono
