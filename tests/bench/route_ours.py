"""The gateway's own choice of nodes in `route_sim`: its production classes and what feeds them."""

from __future__ import annotations

from collections import deque
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from proxy.core import route
from proxy.core.prefixes import Prefixes
from proxy.core.progress import Progress
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


class Work:
    """What one router has at the nodes, as it knows itself, or as another one does."""

    def __init__(self, names: Sequence[str]) -> None:
        self.queued = dict.fromkeys(names, 0)
        """Tokens of calls without a first token, as far as they were not thought to be kept."""
        self.running = dict.fromkeys(names, 0)
        self.progresses = {name: Progress() for name in names}
        self._calls: dict[Call, tuple[int, float]] = {}
        """Of each its number, and the seconds that the node computed it."""

    def sent(self, call: Call, uncached: int, now: float) -> None:
        name = call.node.name
        self.queued[name] += uncached
        self.running[name] += 1
        self._calls[call] = self.progresses[name].sent(uncached, now), 0.0

    def first(self, call: Call, uncached: int, now: float) -> None:
        name, (number, _) = call.node.name, self._calls[call]
        self.queued[name] -= uncached
        self._calls[call] = number, self.progresses[name].over(number, now)

    def reported(self, call: Call) -> None:
        self.progresses[call.node.name].took(call.uncached, self._calls[call][1])

    def done(self, call: Call) -> None:
        self.running[call.node.name] -= 1
        del self._calls[call]


class View:
    """What one router knows of the nodes."""

    def __init__(self, names: Sequence[str], own: int, routers: Routers) -> None:
        """`own`: which of the routers it is."""
        self.prefixes = Prefixes(names, entries=_ENTRIES, adapts=routers.feedback)
        self._delay = routers.staleness or 0.0
        self._whole = routers.number == 1 or routers.staleness is not None
        self._works = [Work(names) for _ in range(routers.number)]
        self._own = self._works[own]
        self._others = [work for work in self._works if work is not self._own]

    def sent(self, router: int, call: Call, uncached: int, now: float) -> None:
        self._works[router].sent(call, uncached, now)
        self.prefixes.put(call.node.name, call.request.prompt.chain)

    def first(self, router: int, call: Call, uncached: int, now: float) -> None:
        self._works[router].first(call, uncached, now)

    def reported(self, router: int, call: Call, depth: int) -> None:
        self._works[router].reported(call)
        share = call.cached / call.request.tokens
        self.prefixes.report(call.node.name, call.request.prompt.chain, depth, share)

    def done(self, router: int, call: Call) -> None:
        self._works[router].done(call)

    def candidate(self, name: str, depth: int, now: float) -> route.Candidate:
        progress = self._own.progresses[name]
        if self._others:
            told = now - self._delay
            progress.hear([one.progresses[name].state(told) for one in self._others], told)
        queued: float = sum(work.queued[name] for work in self._works)
        if self._whole:
            queued -= progress.computed(now)
        running = sum(work.running[name] for work in self._works)
        return route.Candidate(name, depth, max(0.0, queued), running)


class Ours(Policy):
    """One or more routers. Each knows at once what it did itself."""

    def __init__(self, names: Sequence[str], routers: Routers) -> None:
        self._routers, self._names = routers, tuple(names)
        if routers.staleness == 0:
            routers = routers._replace(number=1)  # one view will do: all would be the same
        self.views = [View(names, own, routers) for own in range(routers.number)]
        self._turn = -1
        self._depth = 0
        """Of the node that was picked last."""
        self._calls: dict[Call, tuple[int, int, int]] = {}
        """Router, depth and tokens thought to be missing, when it was picked."""
        self._news: deque[tuple[float, int, Callable[..., None]]] = deque()
        """What others have yet to hear: when, who did it, what."""

    def pick(self, asked: Request, nodes: Sequence[Node], now: float) -> int:
        self._turn = (self._turn + 1) % len(self.views)
        self._hear(now)
        view = self.views[self._turn]
        names = [node.name for node in nodes]
        depths = view.prefixes.depths(names, asked.prompt.chain)
        known = zip(names, depths, strict=True)
        candidates = [view.candidate(name, depth, now) for name, depth in known]
        choice = route.prefix(candidates, asked.prompt, self._routers.a)
        self._depth = depths[choice.at]
        return choice.at

    def sent(self, call: Call) -> None:
        chain, depth = call.request.prompt.chain, self._depth
        uncached = chain[-1].tokens - (chain[depth - 1].tokens if depth else 0)
        self._calls[call] = self._turn, depth, uncached
        told = partial(View.sent, call=call, uncached=uncached, now=call.at)
        self._tell(call.at, self._turn, told)

    def first(self, call: Call, now: float) -> None:
        router, depth, uncached = self._calls[call]
        self._tell(now, router, partial(View.first, call=call, uncached=uncached, now=now))
        if self._routers.feedback and not call.lost:
            self._tell(now, router, partial(View.reported, call=call, depth=depth))

    def done(self, call: Call, now: float) -> None:
        self._tell(now, self._calls.pop(call)[0], partial(View.done, call=call))

    def _tell(self, now: float, router: int, news: Callable[..., None]) -> None:
        self._hear(now)
        news(self.views[router], router)
        if len(self.views) > 1 and self._routers.staleness is not None:
            self._news.append((now + self._routers.staleness, router, news))

    def _hear(self, now: float) -> None:
        while self._news and self._news[0][0] <= now:
            _, origin, news = self._news.popleft()
            for at, view in enumerate(self.views):
                if at != origin:
                    news(view, origin)

    def capacity(self) -> float:
        """Tokens that nodes are thought to keep, on average over nodes and routers."""
        stats = [view.prefixes.stats(name) for view in self.views for name in self._names]
        return fmean(capacity for _, _, capacity, _ in stats)
