"""One gateway's side of the fleet's table: which life each node is in, and which rows to write.

A row says that a node was made to compute a prompt up to one boundary. Only what is new, or was not
written for a while, is written: of a conversation's next turn what it adds.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Annotated, Final, NamedTuple

import msgspec

from proxy.core.chain import DIGEST, MOST, Boundary
from proxy.core.prefix import LONGEST

if TYPE_CHECKING:
    from collections.abc import Iterable

_FRESH: Final = 30.0
"""Seconds for which a row is not written again, at least; twice that at most."""
_WAITING: Final = 1 << 14
"""Rows that may wait to be written; what is beyond is left for the next use."""
_ROW: Final = Struct(f">{DIGEST}sII")
_SORTED: Final = Struct(f"{_ROW.format}d")
SIZE: Final = _ROW.size
"""Bytes of a row."""
_LARGEST: Final = (1 << 32) - 1


class News(NamedTuple):
    """What a gateway learned of a node: it was sent a prompt, or it began anew."""

    node: str
    chain: Annotated[tuple[Boundary, ...], msgspec.Meta(max_length=LONGEST)] | None
    """None: it holds nothing any more."""
    lives: Annotated[float, msgspec.Meta(ge=0)] = 0.0
    """Seconds after which the node forgets the prompt; 0: once it is driven out."""
    epoch: Annotated[int, msgspec.Meta(ge=0, le=MOST)] = 0
    """The life of its cache in which that was learned, by the fleet's count; 0: its first, or
    unknown. Of a node that began anew, the new one."""


class Row(NamedTuple):
    """A boundary that a node holds."""

    digest: bytes
    tokens: int
    """Since the boundary before."""
    lives: int
    """Seconds after its last use in which the node forgets it; 0: once it is driven out."""


def packed(row: Row) -> bytes:
    """As it lies in the table."""
    return _ROW.pack(row.digest, min(row.tokens, _LARGEST), min(row.lives, _LARGEST))


def unpacked(data: bytes) -> list[tuple[Row, float]]:
    """Rows one behind the other, each with the number behind it by which it is sorted."""
    return [(Row(digest, *rest), at) for digest, *rest, at in _SORTED.iter_unpack(data)]


class Part(NamedTuple):
    """What is to be written of one node."""

    node: str
    epoch: int
    """The life of its cache in which that was learned."""
    rows: tuple[bytes, ...]
    """The one used last is the last."""


class Table:
    """Of one worker; bounded in number."""

    def __init__(self, entries: int) -> None:
        """`entries`: twice so many rows are remembered as written, at most."""
        self._entries = entries
        self._epochs: dict[str, int] = {}
        self._begun: set[str] = set()
        """Nodes whose new life has to be written, whatever they hold."""
        self._newer: defaultdict[str, set[bytes]] = defaultdict(set)
        self._older: defaultdict[str, set[bytes]] = defaultdict(set)
        """Boundaries by node that were written lately, and before."""
        self._turned, self._written = 0.0, 0
        self._waiting: dict[tuple[str, bytes], None] = {}

    def epoch(self, node: str) -> int | None:
        """The number of the life that its cache is in, by the fleet's count; None: unknown."""
        return self._epochs.get(node)

    def began(self, node: str) -> int:
        """It began anew, as this gateway found out: the number of its new life. Two gateways that
        find out the same give it the same."""
        self._begun.add(node)
        return self._begin(node, self._epochs.get(node, 0) + 1)

    def heard(self, node: str, epoch: int) -> bool:
        """Another gateway says that it began anew; whether that was not known yet."""
        if epoch <= self._epochs.get(node, -1):
            return False
        self._begin(node, epoch)
        return True

    def found(self, node: str, epoch: int) -> bool:
        """The table says which life it is in; whether what is known here is of an earlier one."""
        if node in self._epochs:
            return self.heard(node, epoch)
        self._epochs[node] = epoch
        return False

    def note(self, told: Iterable[News], now: float) -> None:
        """This gateway learned that. `now`: seconds."""
        if now - self._turned >= _FRESH or self._written >= self._entries:
            self._older, self._newer = self._newer, defaultdict(set)
            self._turned, self._written = now, 0
        for news in told:
            if news.chain and news.epoch >= self._epochs.get(news.node, 0):
                self._used(news.node, news.chain, int(max(1.0, news.lives)) if news.lives else 0)

    def take(self, most: int) -> list[Part]:
        """So many of the rows that wait, at most; of nodes whose life is not known they wait on."""
        taken: dict[str, list[bytes]] = {node: [] for node in self._begun}
        self._begun = set()
        for one in list(islice((key for key in self._waiting if key[0] in self._epochs), most)):
            del self._waiting[one]
            taken.setdefault(one[0], []).append(one[1])
        return [Part(node, self._epochs[node], tuple(rows)) for node, rows in taken.items()]

    def lost(self) -> None:
        """What was written may not be there."""
        self._newer, self._older = defaultdict(set), defaultdict(set)
        self._begun = {node for node, epoch in self._epochs.items() if epoch}

    def _used(self, node: str, chain: tuple[Boundary, ...], lives: int) -> None:
        newer, older, waiting = self._newer[node], self._older[node], self._waiting
        for at in range(len(chain) - 1, -1, -1):  # as the mirror puts them, the deepest first
            digest, tokens = chain[at]
            if not lives and (digest in newer or digest in older):
                continue  # of what is kept for a time, the last use has to be known
            if len(waiting) >= _WAITING:
                return
            size = max(0, tokens - chain[at - 1].tokens) if at else tokens
            waiting[node, packed(Row(digest, size, lives))] = None
            newer.add(digest)
            self._written += 1

    def _begin(self, node: str, epoch: int) -> int:
        """What was known and told of its life before is void."""
        self._epochs[node] = epoch
        self._newer.pop(node, None)
        self._older.pop(node, None)
        self._waiting = {key: None for key in self._waiting if key[0] != node}
        return epoch

    def __repr__(self) -> str:
        return f"<Table {len(self._waiting)} rows to write, {len(self._epochs)} lives known>"
