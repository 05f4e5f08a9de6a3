"""What is computed before it is asked for, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.adapters.ledger import Ledger
from proxy.adapters.schedules import Schedules
from proxy.core.prefix import Prompt, prompt
from proxy.core.purse import DAY, MINUTE, Allowance, Purse
from proxy.environment import disk_path
from proxy.shadows import Shadows
from proxy.tenure import Tenure
from proxy.warmer import Warmer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from proxy.company import Company
    from proxy.core.context import Hints
    from proxy.core.providers import Providers
    from proxy.core.purse import Budget
    from proxy.core.request import Request
    from proxy.core.rules import Rules
    from proxy.fleet import Fleet
    from proxy.ports import Emit
    from proxy.storage import Site
    from proxy.warmer import Errand


def warming(
    site: Site, rules: Rules, company: Company, fleet: Fleet, providers: Providers, emit: Emit
) -> Warmer:
    """One worker's. The company must have been joined."""
    config, settings, clock = site.config, site.config.warming, site.clock

    def prompted(body: bytes, request: Request, hints: Hints) -> Prompt | None:
        return prompt(body, request, rules, hints)

    tokens = settings.tokens_per_minute / config.server.workers
    shadows = Shadows(
        fleet,
        providers,
        Tenure(company.leases, clock),
        settings=settings,
        prompted=prompted,
        stripped=rules.control_names,
        zone=config.zone.name,
        allowance=Allowance(Purse(tokens, MINUTE), _money(site)),
        clock=clock,
        emit=emit,
    )
    due: Callable[[], Sequence[Errand]] = tuple
    if settings.mode == "on" and company.first:
        due = Schedules(settings, site.environ, clock, emit).due
    return Warmer(shadows, rules, settings=settings, prompted=prompted, due=due, clock=clock)


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
