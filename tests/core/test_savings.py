"""The first request that finds what was warmed saves it, and no later one."""

from __future__ import annotations

import pytest

from proxy.core.chain import Boundary
from proxy.core.savings import Savings

CHAIN = tuple(Boundary(name, tokens) for name, tokens in ((b"a", 1000), (b"b", 3000), (b"c", 3100)))


@pytest.mark.parametrize(
    ("told", "saved"), [(0, 0), (500, 500), (3000, 2000), (3100, 2000)], ids=str
)
def test_no_more_is_saved_than_was_computed_or_found(told: int, saved: int) -> None:
    savings = Savings()
    savings.await_("gpu", b"b", 2000)

    assert savings.found("gpu", CHAIN, told) == saved
    assert savings.found("gpu", CHAIN, told) == 0


def test_another_node_saves_nothing() -> None:
    savings = Savings()
    savings.await_("gpu", b"b", 2000)

    assert savings.found("other", CHAIN, 3000) == 0
    assert savings.found("gpu", CHAIN[:1], 3000) == 0
    assert savings.found("gpu", CHAIN, 3000) == 2000


def test_what_is_awaited_is_bounded() -> None:
    savings = Savings(most=2)
    for name in (b"a", b"b", b"c"):
        savings.await_("gpu", name, 10)

    assert len(savings) == 2
    assert savings.found("gpu", CHAIN[:1], 10) == 0
