"""What the path tells the warmer: what may be stored, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from proxy.adapters.leases import NoLeases
from proxy.config import parse
from proxy.core.prefix import prompt
from proxy.core.providers import Providers
from proxy.core.savings import Savings
from proxy.shadows import Shadows
from proxy.tenure import Tenure
from proxy.warmer import Warmer
from tests.asking import RULES, arrival
from tests.fakes import FakeClock, settle
from tests.hearth import allowance, conversation
from tests.staged import Stage, failed, said

if TYPE_CHECKING:
    from collections.abc import Callable

    from proxy.fleet import Fleet
    from tests.fakes import Answer


def stage(*script: Answer, mode: str = "on") -> Stage:
    clock = FakeClock()
    return Stage(*(script or (said(),)), clock=clock, warmer=making(clock, mode))


def making(clock: FakeClock, mode: str) -> Callable[[Fleet], Warmer]:
    node = '[[upstream]]\nname = "gpu"\nurl = "http://gpu/v1"\n'
    config = parse(f'{node}[warming]\nmode = "{mode}"\n')

    def make(fleet: Fleet) -> Warmer:
        def prompted(body: bytes, request: Any, hints: Any) -> Any:
            return prompt(body, request, RULES, hints)

        shadows = Shadows(
            fleet,
            Providers(config),
            Tenure(NoLeases(), clock),
            settings=config.warming,
            prompted=prompted,
            stripped=RULES.control_names,
            zone="local",
            allowance=allowance(config.warming),
            savings=Savings(),
            clock=clock,
            emit=lambda event: None,
        )
        return Warmer(shadows, RULES, settings=config.warming, prompted=prompted, clock=clock)

    return make


async def learned(made: Stage, *headers: tuple[str, str], times: int = 3) -> int:
    """Beginnings known by heart after so many requests."""
    for number in range(times):
        await (await made.ask(conversation(f"question {number}"), *headers)).body()
        await settle()
    assert made.warmer is not None
    await made.warmer.habits.learn()
    return len(made.warmer.habits)


async def test_requests_that_go_upstream_are_learned_from() -> None:
    """Even before a single node, for which no prompt is looked at otherwise."""
    assert await learned(stage()) == 1


async def test_a_hit_uses_no_nodes_cache() -> None:
    made = stage()
    for _ in range(5):
        await (await made.ask(conversation())).body()
        await settle()
    assert made.warmer is not None
    await made.warmer.habits.learn()

    assert made.calls == 1
    assert len(made.warmer.habits) == 0


@pytest.mark.parametrize(
    "control", [("cache-control", "no-store"), ("x-cache", "off"), ("x-cache", "read-only")]
)
async def test_what_may_not_be_stored_is_not_learned_either(control: tuple[str, str]) -> None:
    assert await learned(stage(), control) == 0


async def test_what_was_refused_is_not_learned() -> None:
    assert await learned(stage(failed(400))) == 0


async def test_off_nothing_is_learned_and_no_prompt_is_looked_at() -> None:
    made = stage(mode="off")

    assert await learned(made) == 0
    assert made.fleet.router.diary.decisions() == []


async def test_nothing_that_is_warmed_is_stored_served_or_charged() -> None:
    made = stage()
    assert made.warmer is not None
    (result,) = await made.warmer.demand(arrival(conversation()))
    await settle()
    stored, events = dict(made.store.data), made.served()
    got = await made.ask(conversation())

    assert (result.outcome, stored, events) == ("warmed", {}, [])
    assert (got.outcome, made.calls) == ("MISS", 2)
