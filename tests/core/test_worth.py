"""What is dear enough for a place far away."""

from __future__ import annotations

import pytest

from proxy.config import Model
from proxy.core.entry import Usage
from proxy.core.worth import cost, worth
from tests.stored import entry


def test_an_answer_costs_its_tokens_at_their_price_and_the_wait() -> None:
    assert cost(entry("a", usage=Usage(1500, 500), latency=3.0), price=4.0) == pytest.approx(24.0)
    assert cost(entry("a", usage=Usage(1500, 500)), price=4.0) == 0.0


@pytest.mark.parametrize(("least", "taken"), [(23.9, True), (24.0, True), (24.1, False)])
def test_what_costs_enough_is_taken(least: float, taken: bool) -> None:
    worthy = worth(least, [Model(name="big", price=4.0)])

    assert worthy(entry("a", model="big", usage=Usage(1500, 500), latency=3.0)) is taken


def test_a_model_without_a_price_costs_one() -> None:
    worthy = worth(6.0, [])

    assert worthy(entry("a", model="other", usage=Usage(2000), latency=3.0))
    assert not worthy(entry("a", model="other", usage=Usage(1999), latency=3.0))


def test_an_alias_has_its_price_under_the_name_that_is_sent() -> None:
    models = [Model(name="m", price=1.0), Model(name="nick", target="m", price=9.0)]

    assert worth(0.0, models).prices == {"m": 9.0}
    assert worth(0.0, models[::-1]).prices == {"m": 9.0}
