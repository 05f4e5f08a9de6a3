"""The gateway's own choice of nodes in `route_sim`: its production classes and what feeds them."""

from __future__ import annotations

from collections import deque
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.core import route
from proxy.core.prefixes import Prefixes
from tests.bench.route_engine import Policy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.bench.route_engine import Call, Node, Request

_ENTRIES: Final = 1 << 20
"""Boundaries that a router knows."""


class Routers(NamedTuple):
    """How the gateway is set up."""

    a: float = route.A
    feedback: bool = True
    """Whether what nodes report about their caches is used."""
    number: int = 1
    """Routers, which take requests in turn."""
    staleness: float | None = 0.0
    """Seconds after which a router knows what another one did; None: never."""


class View:
    """What one router knows of the nodes."""

    def __init__(self, names: Sequence[str], *, feedback: bool) -> None:
        self.prefixes = Prefixes(names, entries=_ENTRIES, adapts=feedback)
        self.queued = dict.fromkeys(names, 0)
        """Tokens of calls without a first token, as far as they were not thought to be kept."""
        self.running = dict.fromkeys(names, 0)

    def sent(self, call: Call, uncached: int) -> None:
        name = call.node.name
        self.queued[name] += uncached
        self.running[name] += 1
        self.prefixes.put(name, call.request.prompt.chain)

    def first(self, call: Call, uncached: int) -> None:
        self.queued[call.node.name] -= uncached

    def reported(self, call: Call, depth: int) -> None:
        share = call.cached / call.request.tokens
        self.prefixes.report(call.node.name, call.request.prompt.chain, depth, share)

    def done(self, call: Call) -> None:
        self.running[call.node.name] -= 1


class Ours(Policy):
    """One or more routers. Each knows at once what it did itself."""

    def __init__(self, names: Sequence[str], routers: Routers) -> None:
        self._routers = routers
        together = routers.number == 1 or routers.staleness == 0
        """One view will do: all would be the same."""
        self.views = [
            View(names, feedback=routers.feedback) for _ in range(1 if together else routers.number)
        ]
        self._turn = -1
        self._depth = 0
        """Of the node that was picked last."""
        self._calls: dict[Call, tuple[int, int, int]] = {}
        """Router, depth and tokens thought to be missing, when it was picked."""
        self._news: deque[tuple[float, int, Callable[[View], None]]] = deque()
        """What others have yet to hear: when, who did it, what."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        self._turn = (self._turn + 1) % len(self.views)
        self._hear(now)
        view = self.views[self._turn]
        names = [node.name for node in nodes]
        depths = view.prefixes.depths(names, asked.prompt.chain)
        candidates = [
            route.Candidate(name, depth, view.queued[name], view.running[name])
            for name, depth in zip(names, depths, strict=True)
        ]
        choice = route.prefix(candidates, asked.prompt, self._routers.a)
        self._depth = depths[choice.at]
        return choice.at

    def sent(self, call: Call) -> None:
        chain, depth = call.request.prompt.chain, self._depth
        uncached = chain[-1].tokens - (chain[depth - 1].tokens if depth else 0)
        self._calls[call] = self._turn, depth, uncached
        self._tell(call.at, self._turn, partial(View.sent, call=call, uncached=uncached))

    def first(self, call: Call, now: float) -> None:
        router, depth, uncached = self._calls[call]
        self._tell(now, router, partial(View.first, call=call, uncached=uncached))
        if self._routers.feedback and not call.lost:
            self._tell(now, router, partial(View.reported, call=call, depth=depth))

    def done(self, call: Call, now: float) -> None:
        self._tell(now, self._calls.pop(call)[0], partial(View.done, call=call))

    def _tell(self, now: float, router: int, news: Callable[[View], None]) -> None:
        self._hear(now)
        news(self.views[router])
        if len(self.views) > 1 and self._routers.staleness is not None:
            self._news.append((now + self._routers.staleness, router, news))

    def _hear(self, now: float) -> None:
        while self._news and self._news[0][0] <= now:
            _, origin, news = self._news.popleft()
            for at, view in enumerate(self.views):
                if at != origin:
                    news(view)

    def capacity(self) -> float:
        """Tokens that nodes are thought to keep, on average over nodes and routers."""
        names = list(self.views[0].queued)
        stats = [view.prefixes.stats(name) for view in self.views for name in names]
        return fmean(capacity for _, _, capacity, _ in stats)
