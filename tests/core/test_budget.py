"""The budget of second attempts: an outage is not multiplied."""

from __future__ import annotations

from proxy.core.budget import Budget


def attempts(budget: Budget, requests: int, mono: float = 100.0) -> int:
    """How many second attempts are allowed where every request wants one."""
    allowed = 0
    for _ in range(requests):
        budget.asked(mono)
        allowed += budget.spend(mono)
    return allowed


def test_in_an_outage_attempts_are_a_share_of_the_requests_and_a_few() -> None:
    assert attempts(Budget(0.2), 1000) == 210


def test_a_lone_request_may_have_its_second_attempt() -> None:
    assert attempts(Budget(0.2), 1) == 1


def test_a_ratio_of_nothing_means_no_second_attempt() -> None:
    assert attempts(Budget(0.0), 100) == 0


def test_what_was_spent_comes_back_with_time() -> None:
    budget = Budget(0.2)
    attempts(budget, 1000)

    assert not budget.spend(105.0)
    assert budget.spend(111.5)
