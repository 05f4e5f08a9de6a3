"""What gateways tell each other about nodes: what was learned of them, and the work that waits."""

from __future__ import annotations

from collections import deque
from math import inf
from typing import TYPE_CHECKING, Final

from proxy.core.route import Load, News

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from proxy.core.chain import Boundary
    from proxy.core.prefixes import Prefixes
    from proxy.node import Node

_NEWS: Final = 128
"""Calls that other gateways are told of in one go; of more, the last ones."""
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
        self._elsewhere: dict[str, Load] = {}
        """What the other gateways have waiting at each node."""
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
            self._news.append(News(node, chain, lives))

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
            node.name: Load(node.queued, node.running, node.progress.state(now))
            for node in self._nodes
            if node.running
        }

    def hear(self, news: Sequence[News]) -> None:
        """Another gateway learned this."""
        for node, chain, lives in news:
            if node not in self._names:
                continue
            if chain is None:
                self._prefixes.forget(node)
            elif chain:
                self._prefixes.put(node, chain, self._mono() + lives if lives else inf)

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
                queued, running, _ = elsewhere.get(node, _IDLE)
                elsewhere[node] = Load(queued + max(0.0, load.queued), running + load.running)
        self._elsewhere, now = elsewhere, self._mono()
        for one in self._nodes:
            one.progress.hear([told[one.name].state for told in loads if one.name in told], now)
            if one.shadow is not None and not self.quiet(one):
                one.shadow()

    def load(self, node: Node) -> Load:
        """What all others have waiting there."""
        return self._elsewhere.get(node.name, _IDLE)

    def running(self, node: Node) -> int:
        """Calls that it has of this gateway and, as far as they told, of the others."""
        return node.running + self.load(node).running

    def quiet(self, node: Node) -> bool:
        """Whether it has none."""
        return not self.running(node)

    def __repr__(self) -> str:
        return f"<Gossip {len(self._news or ())} to tell, {len(self._elsewhere)} nodes busy>"
