"""What is computed before it is asked for, put together."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from proxy.adapters.ledger import Ledger
from proxy.adapters.pages.savings import Savings as SharedSavings
from proxy.adapters.redis.spending import Spending
from proxy.adapters.schedules import Schedules
from proxy.core.purse import DAY, MINUTE, Allowance, Purse
from proxy.core.savings import Savings
from proxy.environment import disk_path
from proxy.shadows import Shadows
from proxy.tenure import Tenure
from proxy.warmer import Warmer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from proxy.company import Company
    from proxy.core.context import Hints
    from proxy.core.prefix import Prompt
    from proxy.core.providers import Providers
    from proxy.core.purse import Budget, Common
    from proxy.core.request import Request
    from proxy.core.rules import Rules
    from proxy.core.savings import Awaited
    from proxy.fleet import Fleet
    from proxy.ports import Emit
    from proxy.storage import Site, Storage
    from proxy.warmer import Errand

    Prompted: TypeAlias = Callable[[bytes, Request, Hints], Prompt | None]


def warming(
    site: Site,
    rules: Rules,
    company: Company,
    storage: Storage,
    fleet: Fleet,
    providers: Providers,
    prompted: Prompted,
    emit: Emit,
) -> Warmer:
    """One worker's. The company must have been joined. `prompted`: as for `Origin`."""
    config, settings, clock = site.config, site.config.warming, site.clock
    allowance = _allowance(site, storage)
    shadows = _shadows(site, rules, company, fleet, providers, prompted, allowance, emit)
    return Warmer(
        shadows,
        rules,
        settings=settings,
        prompted=prompted,
        due=_due(site, emit) if company.first else tuple,
        epoch=storage.epochs.current,
        lasts=float(config.cache.ttl),
        clock=clock,
    )


def _shadows(
    site: Site,
    rules: Rules,
    company: Company,
    fleet: Fleet,
    providers: Providers,
    prompted: Prompted,
    allowance: Allowance,
    emit: Emit,
) -> Shadows:
    config, clock = site.config, site.clock
    return Shadows(
        fleet,
        providers,
        Tenure(company.leases, clock),
        settings=config.warming,
        prompted=prompted,
        stripped=rules.control_names,
        zone=config.zone.name,
        allowance=allowance,
        savings=_savings(site),
        clock=clock,
        emit=emit,
    )


def _due(site: Site, emit: Emit) -> Callable[[], Sequence[Errand]]:
    """What schedules want."""
    settings = site.config.warming
    if settings.mode != "on":
        return tuple
    return Schedules(settings, site.environ, site.clock, emit).due


def _savings(site: Site) -> Awaited:
    """Of all workers of the machine, where that can be."""
    if site.config.server.workers > 1:
        with suppress(OSError):
            return SharedSavings(site.directory / "savings")
    return Savings()


def _allowance(site: Site, storage: Storage) -> Allowance:
    """Of one worker."""
    tokens = site.config.warming.tokens_per_minute / site.config.server.workers
    return Allowance(Purse(tokens, MINUTE), _money(site), _common(site, storage))


def _common(site: Site, storage: Storage) -> Common | None:
    """Of all gateways over one Redis."""
    settings = site.config.warming
    if storage.link is None:
        return None
    money = settings.money_per_day if settings.paid else 0.0
    return Spending(storage.link, tokens=settings.tokens_per_minute, money=money)


def _money(site: Site) -> Budget:
    """Beside the disk tier, so that it outlives the run; none where that cannot be."""
    settings = site.config.warming
    if not (settings.paid and settings.money_per_day):
        return Purse(0.0, DAY)
    kept = disk_path(site.config, site.environ) or site.directory
    try:
        return Ledger(kept / "warming", settings.money_per_day, site.clock)
    except OSError:
        return Purse(0.0, DAY)
