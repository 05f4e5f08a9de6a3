"""What is worth being computed before it is asked for."""

from __future__ import annotations

from math import exp, inf, log
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.providers import Rule
from proxy.core.warming import HORIZON, LEAD, Spot, Wanted, cost, gain, kept, plan

if TYPE_CHECKING:
    from collections.abc import Sequence

ENGINE = Rule(provider="engine", as_of="", paid=False, min_tokens=16, ttl=0, read=0.0)
CLAUDE = Rule(provider="anthropic", as_of="", read=0.1, write=1.25, price=3.0)
DEAR = Rule(provider="openai", as_of="", price=2.0)
OFTEN = 0.1
"""Uses a second."""


def rate(probability: float, seconds: float) -> float:
    """At which a use comes within so long with that probability."""
    return -log(1 - probability) / seconds


@pytest.mark.parametrize(
    ("probability", "pays"), [(0.1, False), (0.24, False), (0.26, True), (0.9, True)]
)
def test_an_idle_engine_computes_what_is_used_with_a_chance_of_a_quarter(
    probability: float, pays: bool
) -> None:
    assert (gain(ENGINE, rate(probability, HORIZON), inf) > 0) == pays


@pytest.mark.parametrize("often", [1e-9, 1e-4, 1e-3, 0.01, 1.0, 100.0])
def test_what_a_paid_provider_has_forgotten_is_never_worth_its_price(often: float) -> None:
    """To have it written costs more than to read it can save."""
    assert gain(CLAUDE, often, inf) <= 0
    assert gain(DEAR, often, inf) <= 0
    assert gain(CLAUDE, often, 300.0) <= 0


@pytest.mark.parametrize(("chance", "pays"), [(0.08, False), (0.09, True)])
def test_a_renewal_pays_from_nine_in_a_hundred_on(chance: float, pays: bool) -> None:
    """0.1 / 1.15: of those uses only that come after it would be forgotten."""
    left = 1.0
    often = next(
        r
        for r in (at / 1e6 for at in range(1, 1_000_000))
        if exp(-r * left) - exp(-r * CLAUDE.ttl) >= chance
    )

    assert (gain(CLAUDE, often, CLAUDE.ttl - left) > 0) == pays


def test_a_prompt_that_renews_itself_is_not_renewed() -> None:
    """Ten uses a second: the next one comes before it is forgotten."""
    assert gain(CLAUDE, 10.0, CLAUDE.ttl - LEAD) <= 0


def test_a_prompt_is_renewed_late_and_not_before() -> None:
    assert gain(CLAUDE, 0.01, CLAUDE.ttl - LEAD - 1) == 0.0
    assert gain(CLAUDE, 0.01, CLAUDE.ttl - LEAD) > 0


@pytest.mark.parametrize(
    ("rule", "held", "money"),
    [(CLAUDE, 0, 3.75), (CLAUDE, 1_000_000, 0.3), (CLAUDE, 500_000, 2.025), (ENGINE, 0, 0.0)],
)
def test_a_call_costs_what_is_written_and_what_is_read(rule: Rule, held: int, money: float) -> None:
    assert cost(rule, 1_000_000, held=held) == pytest.approx(money)


@pytest.mark.parametrize(
    ("rule", "held", "since", "there"),
    [
        (ENGINE, 4000, inf, True),
        (ENGINE, 3800, inf, True),
        (ENGINE, 3700, 1.0, False),
        (CLAUDE, 4000, 1.0, True),
        (CLAUDE, 4000, 280.0, False),
        (CLAUDE, 4000, inf, False),
    ],
)
def test_what_is_kept_may_lack_its_last_block_and_not_more_time(
    rule: Rule, held: int, since: float, there: bool
) -> None:
    assert kept(Spot("a", rule, held, since), 4000) == there


def wanted(
    *spots: Spot, digest: bytes = b"p", tokens: int = 4000, rate: float = OFTEN, copies: int = 1
) -> Wanted:
    return Wanted(digest, tokens, rate, spots, copies)


def spot(node: str, **more: Any) -> Spot:
    return Spot(node, more.pop("rule", ENGINE), **more)


def planned(*all_of_them: Wanted) -> list[tuple[bytes, str]]:
    return [(one.digest, one.node) for one in plan(all_of_them)]


HELD = {"held": 4000, "since": 1.0}


@pytest.mark.parametrize(
    ("spots", "copies", "nodes"),
    [
        ((spot("a"), spot("b")), 1, ["a"]),
        ((spot("a"), spot("b")), 2, ["a", "b"]),
        ((spot("a"), spot("b", **HELD)), 1, []),
        ((spot("a"), spot("b", **HELD)), 2, ["a"]),
        ((spot("a", idle=False), spot("b")), 1, ["b"]),
        ((spot("a", idle=False),), 1, []),
        ((), 1, []),
    ],
)
def test_so_many_nodes_hold_it_as_shall(
    spots: Sequence[Spot], copies: int, nodes: list[str]
) -> None:
    assert planned(wanted(*spots, copies=copies)) == [(b"p", node) for node in nodes]


def test_a_node_is_given_one_prompt_the_one_that_is_worth_most() -> None:
    small, large = wanted(spot("a"), tokens=2000), wanted(spot("a"), digest=b"q", tokens=9000)

    assert planned(small, large) == [(b"q", "a")]


def test_what_is_too_short_for_the_provider_is_not_warmed() -> None:
    assert planned(wanted(spot("a", rule=DEAR, held=900, since=280.0), tokens=900)) == []
    assert planned(wanted(spot("a"), rate=1e-6)) == []


spots = st.builds(
    Spot,
    st.sampled_from("abcd"),
    st.sampled_from([ENGINE, CLAUDE, DEAR]),
    st.integers(0, 5000),
    st.one_of(st.just(inf), st.floats(0, 1000)),
    st.booleans(),
)
lists = st.lists(
    st.builds(
        Wanted,
        st.binary(min_size=1, max_size=2),
        st.integers(1, 5000),
        st.floats(0, 10),
        st.lists(spots, max_size=4, unique_by=lambda one: one.node),
        st.integers(0, 3),
    ),
    max_size=6,
    unique_by=lambda one: one.digest,
)


@given(lists)
def test_no_plan_asks_a_busy_node_or_one_twice(these: list[Wanted]) -> None:
    made = plan(these)
    idle = {(one.digest, s.node) for one in these for s in one.spots if s.idle}

    assert {(one.digest, one.node) for one in made} <= idle
    assert len({one.node for one in made}) == len(made)
    assert all(one.gain > 0 for one in made)
