"""The error budget: when it serves, and that it is kept."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic.budget import Budget
from semantic.protocol import Kind, Label
from semantic.settings import Settings
from tests.semantic.streams import (
    SETS,
    Hit,
    dumped,
    label,
    pairs,
    policy,
    run,
    simulated,
    stream,
)

KEY = bytes(32)
ON = Settings(mode="on")
TRUSTED = Settings(mode="on", min_similarity=0.93)

labels = st.lists(
    st.builds(
        Label,
        st.integers(0, 50).map(lambda number: number.to_bytes(16, "big")),
        st.sampled_from(["model en", "model zh"]),
        st.sampled_from(["semantic", "canonical"]),
        st.floats(0.0, 1.0),
        st.just(KEY),
        st.booleans(),
    ),
    max_size=40,
)


def taught(
    settings: Settings, right: int, wrong: int = 0, *, kind: Kind = "semantic", at: float = 0.95
) -> Budget:
    """A budget after labels of one similarity, the wrong ones last."""
    budget = Budget(settings)
    for number in range(right + wrong):
        name = number.to_bytes(16, "big")
        budget.learn(Label(name, "model en", kind, at, KEY, number >= right))
    return budget


def said(budget: Budget, at: float = 0.95, draw: float = 0.5, kind: Kind = "semantic") -> str:
    """Action and reason."""
    found = budget.verdict("model en", kind, at, draw, KEY)
    return f"{found.action} {found.reason}".strip()


def test_before_anything_is_known_a_neighbour_is_verified() -> None:
    assert said(Budget(ON), 1.0) == "verify budget"


def test_a_canonical_question_is_served_at_once() -> None:
    assert said(Budget(ON), kind="canonical") == "serve"


def test_the_operators_own_threshold_is_served_at_once() -> None:
    assert said(Budget(TRUSTED), 0.93) == "serve"
    assert said(Budget(TRUSTED), 0.929) == "none below_threshold"
    assert Budget(TRUSTED).verdict("g", "semantic", 0.95, 0.5, KEY).threshold == 0.93


def test_the_operator_may_go_below_the_lowest_step() -> None:
    loose = Settings(mode="on", min_similarity=0.6)

    assert said(Budget(loose), 0.61) == "serve"
    assert said(taught(loose, 0, 20, at=0.61), 0.61) == "verify budget"


def test_what_is_too_far_is_none() -> None:
    assert said(Budget(ON), 0.79) == "none below_threshold"


def test_a_share_of_what_would_be_served_is_verified() -> None:
    """`sample_rate` of the draws, which are spread over 0 to 1."""
    budget = Budget(TRUSTED)
    draws = [said(budget, draw=number / 1000) for number in range(1000)]

    assert draws.count("verify sampled") == 20
    assert draws.count("serve") == 980


def test_right_labels_open_it_for_what_is_as_near() -> None:
    budget = taught(ON, 600)

    assert said(budget, 0.95) == "serve"
    assert said(budget, 0.949) == "verify budget"
    assert budget.verdict("model en", "semantic", 0.95, 0.5, KEY).threshold == 0.95


def test_groups_and_kinds_do_not_vouch_for_each_other() -> None:
    budget = taught(ON, 1000)

    assert budget.verdict("model zh", "semantic", 0.95, 0.5, KEY).action == "verify"
    assert said(taught(ON, 1000, kind="canonical"), 1.0) == "verify budget"


def test_a_wrong_label_on_thin_evidence_closes_it_at_once() -> None:
    assert said(taught(ON, 600)) == "serve"
    assert said(taught(ON, 600, 1)) == "verify budget"


@pytest.mark.parametrize("kind", ["canonical", "semantic"])
def test_what_was_trusted_is_closed_by_evidence_against_it(kind: Kind) -> None:
    assert said(taught(TRUSTED, 200, 1, kind=kind), kind=kind) == "serve"
    assert said(taught(TRUSTED, 200, 7, kind=kind), kind=kind) == "verify budget"


def test_in_shadow_nothing_is_served() -> None:
    shadow = Settings(mode="shadow", min_similarity=0.93)

    assert said(taught(shadow, 1000)) == "verify shadow"
    assert said(Budget(shadow), 0.85) == "verify shadow"
    assert said(Budget(shadow), kind="canonical") == "verify shadow"
    assert said(Budget(shadow), 0.5) == "none below_threshold"


def test_what_shadow_learnt_holds_when_it_is_switched_on() -> None:
    budget = Budget(ON)
    budget.restore(dumped(taught(Settings(mode="shadow"), 600)))

    assert said(budget) == "serve"


def test_a_budget_of_nothing_serves_no_neighbour() -> None:
    assert said(taught(Settings(mode="on", max_error_rate=0.0), 3000)) == "verify budget"


def test_the_state_says_what_was_learnt() -> None:
    figures = taught(ON, 0, 1).state()["model en"]
    opened = taught(ON, 600).state()["model en"]

    assert figures == {
        "semantic_threshold": 1.005,
        "semantic_labels": 1,
        "semantic_errors": 1,
        "semantic_bound": 1.0,
        "semantic_closed": 1.0,
        "semantic_unopened": 0.0,
    }
    assert opened["semantic_threshold"] == 0.95
    assert (opened["semantic_closed"], opened["semantic_unopened"]) == (0.0, 0.0)
    assert opened["semantic_bound"] == pytest.approx(0.005, abs=1e-4)


def test_what_only_lacks_comparisons_is_told_apart_from_what_was_wrong() -> None:
    young = taught(ON, 20).state()["model en"]
    fallen = taught(ON, 600, 1).state()["model en"]

    assert (young["semantic_closed"], young["semantic_unopened"]) == (0.0, 1.0)
    assert (fallen["semantic_closed"], fallen["semantic_unopened"]) == (1.0, 0.0)


@given(labels)
def test_a_label_that_comes_twice_counts_once(learnt: list[Label]) -> None:
    once, twice = Budget(TRUSTED), Budget(TRUSTED)
    for one in learnt:
        once.learn(one)
        twice.learn(one)
        twice.learn(one)

    assert dumped(once) == dumped(twice)


@given(labels)
def test_what_was_dumped_is_restored(learnt: list[Label]) -> None:
    budget, other = Budget(TRUSTED), Budget(TRUSTED)
    for one in learnt:
        budget.learn(one)
    other.restore(dumped(budget))

    assert dumped(other) == dumped(budget)


@given(st.permutations([(number, number % 40 == 0) for number in range(1, 101)]))
def test_up_to_the_first_look_the_order_of_labels_is_nothing(
    order: list[tuple[int, bool]],
) -> None:
    one, other = (Budget(Settings(mode="on", max_error_rate=0.05)) for _ in range(2))
    for budget, learnt in ((one, order), (other, sorted(order))):
        for number, wrong in learnt:
            budget.learn(label(number, 0.9 + 0.001 * (number % 50), wrong=wrong))

    assert one.state() == other.state()


@given(st.binary(max_size=100))
def test_foreign_bytes_are_no_error(data: bytes) -> None:
    budget = Budget(ON)
    budget.restore(data)

    assert budget.state() == {}


@pytest.mark.parametrize("budget", [0.01, 0.02, 0.05])
@pytest.mark.parametrize("base", [0.3, 1.2])
@pytest.mark.parametrize("name", SETS[:3])
def test_what_is_served_is_within_the_budget(name: str, base: float, budget: float) -> None:
    """In all but one of ten runs of 5,000 would-be hits, of which the given multiple of the budget
    are wrong: less and more than it allows."""
    hits = pairs(name)
    runs = [simulated("threshold", hits, budget, base * budget, seed) for seed in range(10)]

    assert sum(one.kept(budget) for one in runs) >= 9


@pytest.mark.parametrize("name", SETS[:3])
def test_where_little_is_wrong_most_is_served(name: str) -> None:
    runs = [simulated("threshold", pairs(name), 0.02, 0.002, seed) for seed in range(5)]

    assert sum(one.served for one in runs) > 0.7 * sum(one.hits for one in runs)


def test_where_half_is_wrong_nothing_is_served() -> None:
    assert simulated("threshold", pairs("zh_contrast"), 0.05, 0.5, 0).served == 0


def test_traffic_that_goes_bad_is_no_longer_served() -> None:
    """Of 4,000 hits after the change a sample has to find the wrong ones."""
    hits = pairs("fow_pairs")
    budget, names = policy("threshold", 0.02), count()
    good = run(budget, stream(hits, 0.001, 5000, 1), 1, names)
    bad = run(budget, stream(hits, 0.5, 4000, 2), 2, names)
    after = run(budget, stream(hits, 0.5, 4000, 3), 3, names)

    assert good.served > 3000
    assert bad.served < 1000
    assert after.served == 0


def test_an_operators_threshold_that_breaks_the_budget_is_closed() -> None:
    hits = [Hit(0.97, number % 10 == 0, 0) for number in range(100)]
    budget, names = policy("threshold", 0.02, min_similarity=0.95), count()
    run(budget, stream(hits, 0.1, 10_000, 1), 1, names)

    assert run(budget, stream(hits, 0.1, 1000, 2), 2, names).served == 0
