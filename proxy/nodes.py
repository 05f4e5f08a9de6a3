"""The upstream nodes, and the fleet that asks them, put together from the configuration."""

from __future__ import annotations

import importlib.util
import random
from typing import TYPE_CHECKING

from proxy.adapters.http.load import Loads
from proxy.adapters.http.node import Http
from proxy.adapters.http.probe import Probe, probed
from proxy.adapters.redis.routes import Routes
from proxy.config import ConfigError
from proxy.core.limiter import Limiter
from proxy.environment import credential
from proxy.fleet import Fleet
from proxy.mistake import lacking
from proxy.node import Node
from proxy.router import Router
from proxy.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from proxy.adapters.redis.link import Link
    from proxy.config import Config, Upstream
    from proxy.core.providers import Providers
    from proxy.ports import Emit
    from proxy.storage import Close, Loop, Site


def listening(config: Config) -> None:
    """Whether engines' events can be listened to, where that is set. Raises: ConfigError."""
    for i, table in enumerate(config.upstream):
        if table.events and importlib.util.find_spec("zmq") is None:
            raise ConfigError(f"{lacking('events')} - at `upstream[{i}].events`")


class Nodes:
    """One worker's fleet, what goes on behind it, and what is to be closed with it."""

    def __init__(self, site: Site, link: Link | None, providers: Providers, emit: Emit) -> None:
        """`link`: to the Redis over which gateways share what they know; None: there is none."""
        self._site, self._config, self._clock, self._emit = site, site.config, site.clock, emit
        self.loops: list[Loop] = []
        self.closing: list[Close] = []
        self.fleet = self._fleet(link, providers)

    def _fleet(self, link: Link | None, providers: Providers) -> Fleet:
        config = self._config
        nodes = [self._node(table) for table in config.upstream]
        overload, breaker = config.overload, config.breaker
        router = Router(
            nodes,
            self._clock,
            self._emit,
            settings=config.routing,
            zone=config.zone.name,
            rule=providers.rule,
        )
        if link is not None and len(nodes) > 1 and router.prompted:
            routes = Routes(link, router, self._clock, self._emit)
            self.loops += routes.run, routes.reading.run
        elif config.server.workers > 1:
            router.gossip.deaf()
        self.loops.append(Watch(nodes, router.lost, self._clock, self._emit).run)
        self._listen(nodes, router)
        return Fleet(
            nodes, self._clock, self._emit, breaker=breaker, overload=overload, router=router
        )

    def _listen(self, nodes: Sequence[Node], router: Router) -> None:
        """To the events of engines, and to how much they have to do."""
        both = list(zip(self._config.upstream, nodes, strict=True))
        chance = random.Random().random
        if busy := [one for one in both if one[0].metrics]:
            self.loops.append(Loads(busy, router, self._clock, self._emit, chance).run)
        if told := [one for one in both if one[0].events]:
            from proxy.adapters.blocks import Events  # its driver is an extra

            self.loops.append(Events(told, router, self._clock, self._emit).run)

    def _node(self, table: Upstream) -> Node:
        upstream, overload = Http(table), self._config.overload
        self.closing.append(upstream.aclose)
        most = min(table.max_concurrency or table.max_connections, table.max_connections)
        return Node(
            table.name,
            upstream,
            models=table.models,
            credential=credential(table, self._site.environ),
            ask_usage=table.ask_usage,
            limiter=Limiter(most, least=overload.min_concurrency, adaptive=overload.adaptive),
            probe=Probe(table) if len(self._config.upstream) > 1 and probed(table) else None,
            frozen=float(table.frozen_timeout),
            weight=table.weight,
            zone=table.zone,
        )
