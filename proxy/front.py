"""The path of a worker's requests, put together: from the door to the upstream nodes."""

from __future__ import annotations

import itertools
import random
import secrets
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from proxy.adapters.calendars import Calendars
from proxy.adapters.door.arrival import Limits
from proxy.adapters.door.door import Door
from proxy.adapters.door.lane import Lane
from proxy.adapters.pages.buckets import Buckets
from proxy.adapters.redis.buckets import Buckets as FleetBuckets
from proxy.adapters.tunnel import Tunnel
from proxy.company import Company
from proxy.contexts import Contexts
from proxy.conversations import Conversations
from proxy.core.keeping import Keeping
from proxy.core.prefix import prompt
from proxy.core.providers import Providers
from proxy.core.quota import Quota
from proxy.environment import credential
from proxy.flights import Flights
from proxy.foresight import warming
from proxy.keeper import Keeper
from proxy.marks import Marks
from proxy.memo import Memo
from proxy.nodes import Nodes
from proxy.origin import Origin
from proxy.passing import Passing
from proxy.pipeline import Pipeline
from proxy.quotas import Quotas
from proxy.recall import Recall
from proxy.renders import Renders
from proxy.rescue import Rescue
from proxy.response import Report
from proxy.storage import Site, Storage
from proxy.strain import Strain

if TYPE_CHECKING:
    from aiohttp import web

    from proxy.core.context import Hints
    from proxy.core.prefix import Prompt
    from proxy.core.request import Request
    from proxy.core.rules import Rules
    from proxy.ports import Emit
    from proxy.sharing import Sharing
    from proxy.storage import Loop
    from proxy.warmer import Warmer


_MARKS: Final = 65536
"""Keys that something is remembered about, of each kind and in each worker."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What all workers of this run are made by."""

    site: Site
    rules: Rules
    calendars: Calendars


class Front:
    """The path of a worker's requests, from the door to the upstream nodes."""

    def __init__(
        self,
        plan: Plan,
        storage: Storage,
        company: Company,
        flights: Flights,
        sharing: Sharing,
        emit: Emit,
    ) -> None:
        self._plan, self._storage, self._company = plan, storage, company
        self._flights, self._sharing, self._emit = flights, sharing, emit
        self._config, self._clock = plan.site.config, plan.site.clock
        providers = Providers(self._config)
        nodes = Nodes(plan.site, storage.link, providers, emit)
        self.fleet, self.closing = nodes.fleet, nodes.closing
        self.loops: list[Loop] = [plan.calendars.run, *nodes.loops]
        self._quotas = self._limited()
        self._unkept = Marks(_MARKS, self._clock, float(self._config.cache.uncacheable_ttl))
        self._conversations = Conversations()
        self.warmer = self._warming(providers)
        self.loops.append(self.warmer.run)
        self.contexts = Contexts(self.fleet.router, self._prompted, self._config.routing.decisions)
        self._origin = self._asked()

    def _limited(self) -> Quotas:
        config, clock, link = self._config, self._clock, self._storage.link
        default = Quota(config.limits.requests_per_minute, config.limits.tokens_per_minute)
        named = {one.caller.tenant: one.caller.quota for one in self._plan.rules.tenants}
        quotas = Quotas(default, named, clock=clock, emit=self._emit)
        if quotas.limited:
            syncs = [] if link is None else [FleetBuckets(link).sync]
            if config.server.workers > 1:
                path = self._plan.site.directory / "buckets"
                syncs.append(Buckets(path, clock=clock).sync)
            self.loops.append(partial(quotas.run, *syncs))
        return quotas

    def _warming(self, providers: Providers) -> Warmer:
        return warming(
            self._plan.site,
            self._plan.rules,
            self._company,
            self._storage,
            self.fleet,
            providers,
            self._prompted,
            self._emit,
        )

    def _prompted(self, body: bytes, request: Request, hints: Hints) -> Prompt | None:
        """What of a body nodes may have computed before: of a request's, and of what is warmed."""
        return prompt(body, request, self._plan.rules, hints, self._conversations.laid)

    def _asked(self) -> Origin:
        cache, clock, emit = self._config.cache, self._clock, self._emit
        keeping = Keeping(
            jitter=cache.jitter,
            stale_while_revalidate=float(cache.stale_while_revalidate),
            stale_if_error=float(cache.stale_if_error),
            negative_ttl=float(cache.negative_ttl),
            closings=self._plan.calendars.closings,
        )
        keeper = Keeper(
            self._storage.tiers,
            keeping,
            self._unkept,
            clock=clock,
            emit=emit,
            max_entry_bytes=cache.max_entry_bytes,
            meaning=self._company.meaning,
            renewed=self._company.renewed,
        )
        return Origin(
            self.fleet,
            keeper,
            self._quotas,
            prompted=self._prompted,
            stripped=self._plan.rules.control_names,
            warmer=self.warmer,
            clock=clock,
            emit=emit,
        )

    def _pipeline(self) -> Pipeline:
        config, clock, epoch = self._config, self._clock, self._storage.epochs.current
        memory, zero = config.cache.memory, config.cache.usage_on_hit == "zero"
        least = config.overload.degrade_below_hit_ratio
        strain, paused = Strain(least, lambda: self.fleet.saturated, clock), Marks(_MARKS, clock)
        recall = Recall(
            self._storage.tiers,
            Renders(memory.max_bytes // 4, zero_usage=zero),
            epoch,
            clock,
            strain,
            self._quotas,
            due=Marks(_MARKS, clock),
            chance=random.Random().random,
            beta=config.cache.early_refresh,
        )
        return Pipeline(
            memo=Memo(self._plan.rules, memory.memo_entries),
            flights=self._flights,
            sharing=self._sharing,
            origin=self._origin,
            recall=recall,
            meaning=self._company.meaning,
            rescue=Rescue(recall, config.static, paused, strain.tripped, clock, self._emit),
            quotas=self._quotas,
            unkept=self._unkept,
            epoch=epoch,
            alone=self._company.alone,
        )

    def door(self) -> web.Server:
        """The public port, and the path behind it."""
        settings, first = self._config.server, self._config.upstream[0]
        site, clock, emit = self._plan.site, self._clock, self._emit
        passing = Passing(self._plan.rules, self._origin, self._quotas)
        tunnel = Tunnel(first, credential(first, site.environ), passing.sender)
        run, numbers = secrets.token_hex(8), itertools.count()

        def report(method: str, endpoint: str, client_id: str | None) -> Report:
            request_id = client_id or f"req_{run}{next(numbers):08x}"
            return Report(method, endpoint, request_id, clock, emit)

        body, request = settings.max_body_bytes, settings.max_request_bytes
        header, silence = settings.max_header_bytes, settings.body_timeout
        limits = Limits(body=body, request=request, header=header, silence=silence)
        pipeline, entries = self._pipeline(), self._config.cache.memory.memo_entries
        noted = self.contexts.note
        lane = Lane(pipeline.recall.at_once, report, entries, noted)
        door = Door(pipeline.serve, passing, tunnel.relay, report, limits, lane, noted)
        return door.server(keepalive_timeout=settings.keepalive_timeout)
