"""The chains laid last: of a conversation's next turn only what it adds is hashed."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

from proxy.core.chain import NOTHING, TOKEN, laid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.core.chain import Laid, Part

    Opening: TypeAlias = tuple[bytes | int, ...]
    """What conversations are told apart by; two that have it in common only take turns."""

_MOST: Final = 16 << 20
_PART: Final = 400
"""Bytes that a part takes besides its text."""
_OPENING: Final = 8
"""Parts that are looked at, if there is no question before."""
_TAIL: Final = 64
"""Bytes of a part's end by which it is told from others of its length."""


class Conversations:
    """Chains by how their conversations begin, the ones used longest ago forgotten first.

    Their texts are kept with them, for as long: whether a prompt goes on where another ended is
    told by its bytes. Threads may use it at once.
    """

    def __init__(self, most: int = _MOST) -> None:
        """`most`: bytes."""
        self._most, self._held = most, 0
        self._chains: OrderedDict[Opening, Laid] = OrderedDict()
        self._lock = Lock()

    def laid(self, root: bytes, parts: Sequence[Part]) -> Laid:
        """As `chain.laid`, and as if nothing had been known."""
        opening = _opening(root, parts)
        made = laid(root, parts, self._chains.get(opening, NOTHING))
        with self._lock:
            if (before := self._chains.pop(opening, None)) is not None:
                self._held -= _size(before)
            self._chains[opening] = made
            self._held += _size(made)
            while self._held > self._most:
                self._held -= _size(self._chains.popitem(last=False)[1])
        return made

    def __repr__(self) -> str:
        return f"<Conversations {len(self._chains)}, {self._held} of {self._most} bytes>"


def _opening(root: bytes, parts: Sequence[Part]) -> Opening:
    """Up to the first question, of which every turn has the same."""
    told: list[bytes | int] = [root]
    for role, text in parts[:_OPENING]:
        told += len(text), text[-_TAIL:]
        if role == b"user":
            break
    return tuple(told)


def _size(chain: Laid) -> int:
    """Bytes, about."""
    said = chain.links[-1].tokens * TOKEN if chain.links else 0
    return said + _PART * len(chain.parts)
