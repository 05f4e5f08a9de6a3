"""What gateways tell each other about nodes: what was learned of them, and the work that waits."""

from __future__ import annotations

from collections import deque
from itertools import islice
from math import inf
from typing import TYPE_CHECKING, Final

from proxy.core.route import COMPUTING, Load
from proxy.core.table import News, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from proxy.core.chain import Boundary
    from proxy.core.prefixes import Prefixes
    from proxy.core.table import Row
    from proxy.node import Node

    Aged: TypeAlias = Sequence[tuple[Row, float]]
    """Rows, and the seconds since each was used."""

_NEWS: Final = 128
"""Calls that other gateways are told of in one go; of more, the last ones."""
_MEANWHILE: Final = 4096
"""Prompts that are remembered while older knowledge comes in."""
_IDLE: Final = Load(0.0, 0)


class Gossip:
    """Of one worker: what it has to tell, and what it was told."""

    def __init__(
        self, nodes: Sequence[Node], prefixes: Prefixes, mono: Callable[[], float]
    ) -> None:
        """`prefixes`: where what is heard goes. `mono`: seconds."""
        self._mono = mono
        self._nodes, self._names = tuple(nodes), frozenset(node.name for node in nodes)
        self._prefixes = prefixes
        self.table = Table(prefixes.each * len(self._nodes))
        self._elsewhere: dict[str, Load] = {}
        """What the other gateways have waiting at each node."""
        self._meanwhile: deque[tuple[News, float]] | None = None
        """What was learned since the table began to be read, and when it is forgotten; None: it is
        not being read."""
        self.whole = True
        """Whether what all gateways do is known here; else no node can be told to have got on."""
        self._news: deque[News] | None = None
        """What they have not been told; None: nobody listens."""

    @property
    def island(self) -> bool:
        """Whether there are other gateways that cannot be heard."""
        return self._news is not None and not self.whole

    def share(self) -> None:
        """From now on somebody takes what is `told`."""
        self._news = deque(maxlen=_NEWS)

    def tell(self, node: str, chain: tuple[Boundary, ...] | None, lives: float = 0.0) -> None:
        """It was sent this, and keeps it for so many seconds, or 0: as long as there is room;
        None: it holds nothing any more."""
        if self._news is not None:
            epoch = self.table.began(node) if chain is None else self.table.epoch(node)
            news = News(node, chain, lives, epoch or 0)
            self._news.append(news)
            self._learned(news, self._mono() + lives if lives else inf)

    def told(self) -> list[News]:
        """What was learned here since last time."""
        news = list(self._news or ())
        if self._news:
            self._news.clear()
        return news

    def loads(self) -> dict[str, Load]:
        """What this gateway has waiting at each node, if anything."""
        now = self._mono()
        return {
            node.name: Load(
                node.queued,
                node.running,
                node.progress.state(now),
                tuple(islice(node.computing, COMPUTING)),
            )
            for node in self._nodes
            if node.running or node.computing
        }

    def hear(self, news: Sequence[News]) -> None:
        """Another gateway learned this."""
        for one in news:
            node, chain, lives, epoch = one
            if node not in self._names:
                continue
            if chain is None and self.table.heard(node, epoch):
                self._void(node)
            elif epoch:
                self.found(node, epoch)
            if not chain or epoch < (self.table.epoch(node) or 0):
                continue  # or of an earlier life of the node
            until = self._mono() + lives if lives else inf
            self._prefixes.put(node, chain, until)
            self._learned(one, until)

    def begin(self) -> None:
        """What the table says is going to come in."""
        self._meanwhile = deque(maxlen=_MEANWHILE)

    def recall(self, node: str, epoch: int, rows: Aged) -> bool:
        """The table says that a node used these in that life, the last of them last; whether what
        else it says of that node is of use."""
        self.found(node, epoch)
        if epoch != self.table.epoch(node):
            return False  # it began anew meanwhile
        now = self._mono()
        ended = [(row, now + row.lives - age if row.lives else inf) for row, age in rows]
        kept = [(row.digest, row.tokens, until) for row, until in ended if until > now]
        self._prefixes.recall(node, kept)
        return True

    def meanwhile(self) -> Sequence[tuple[News, float]]:
        """All of it is in: what was learned meanwhile, which was used last, and until when it is
        kept; each is to be put `again`."""
        learned, self._meanwhile = self._meanwhile or (), None
        return learned

    def again(self, news: News, until: float) -> None:
        """That was learned while the table was read."""
        if news.chain:
            self._prefixes.put(news.node, news.chain, until)

    def found(self, node: str, epoch: int) -> None:
        """The table says which life the node is in."""
        if self.table.found(node, epoch):
            self._void(node)

    def _void(self, node: str) -> None:
        self._prefixes.forget(node)
        self._learned(News(node, None), inf)

    def _learned(self, news: News, until: float) -> None:
        if self._meanwhile is None:
            return
        self._meanwhile.append((news, until))
        if news.chain is None:
            kept = [one for one in self._meanwhile if one[0].node != news.node]
            self._meanwhile = deque(kept, maxlen=_MEANWHILE)

    def deaf(self) -> None:
        """The others have been silent for too long."""
        self.hear_loads([])  # nobody knows what they have to do
        self.whole = False

    def hear_loads(self, loads: Sequence[Mapping[str, Load]]) -> None:
        """What each of the other gateways has waiting."""
        self.whole = True
        elsewhere: dict[str, Load] = {}
        for told in loads:
            for node, load in told.items():
                queued, running, _, computing = elsewhere.get(node, _IDLE)
                elsewhere[node] = Load(
                    queued + max(0.0, load.queued),
                    running + load.running,
                    computing=computing + load.computing,
                )
        self._elsewhere, now = elsewhere, self._mono()
        for one in self._nodes:
            one.progress.hear([told[one.name].state for told in loads if one.name in told], now)
            if one.shadow is not None and not self.quiet(one):
                one.shadow()

    def load(self, node: Node) -> Load:
        """What all others have waiting there."""
        return self._elsewhere.get(node.name, _IDLE)

    def computing(self, node: Node, chain: Sequence[Boundary]) -> bool:
        """Whether it computes some of that prompt just now, for any gateway."""
        elsewhere = self.load(node).computing
        return any(one.digest in node.computing or one.digest in elsewhere for one in chain)

    def running(self, node: Node) -> int:
        """Calls that it has of this gateway and, as far as they told, of the others."""
        return node.running + self.load(node).running

    def quiet(self, node: Node) -> bool:
        """Whether it has none."""
        return not self.running(node)

    def __repr__(self) -> str:
        return f"<Gossip {len(self._news or ())} to tell, {len(self._elsewhere)} nodes busy>"
