"""The numbers an operator asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proxy.core.summary import summary
from proxy.core.tally import Tally

if TYPE_CHECKING:
    from proxy.core.summary import Tree


def tally() -> Tally:
    tally = Tally()
    for labels, amount in (
        (("chat/completions", "200", "hit", "exact", "memory"), 5),
        (("chat/completions", "200", "hit", "normalized", "disk"), 1),
        (("embeddings", "200", "miss", "", ""), 2),
        (("other", "404", "bypass", "", ""), 7),
    ):
        tally.count("requests_total", labels, amount)
    tally.count("tokens_served_total", ("output",), 30)
    tally.count("tokens_billed_total", ("output",), 10)
    tally.count("tier_errors_total", ("disk", "get"), 3)
    tally.level("cache_bytes", ("memory",), 100, shared=False)
    tally.level("cache_entries", ("disk",), 9, shared=True)
    return tally


def at(tree: Tree, *path: str) -> float | Tree:
    inner: float | Tree = tree
    for name in path:
        assert isinstance(inner, dict)
        inner = inner[name]
    return inner


def test_requests_that_were_never_looked_up_do_not_lower_the_hit_ratio() -> None:
    assert summary(tally())["hit_ratio"] == 0.75


def test_a_number_is_the_sum_over_the_other_labels() -> None:
    numbers = summary(tally())

    assert numbers["requests"] == {"total": 15, "hit": 6, "miss": 2, "bypass": 7}
    assert numbers["kinds"] == {"exact": 5, "normalized": 1}
    assert numbers["tokens"] == {"served": {"output": 30}, "billed": {"output": 10}}


def test_a_tier_is_there_however_it_became_known() -> None:
    numbers = summary(tally())

    assert at(numbers, "tiers", "memory") == {"served": 5, "bytes": 100, "entries": 0, "errors": 0}
    assert at(numbers, "tiers", "disk") == {"served": 1, "bytes": 0, "entries": 9, "errors": 3}


def test_hits_by_meaning_are_served_by_tiers_and_told_apart() -> None:
    numbers = tally()
    for kind in ("canonical", "semantic"):
        labels = ("chat/completions", "200", "hit", kind, "memory")
        numbers.count("requests_total", labels, 4)
    numbers.count("tier_errors_total", ("semantic", "search"), 2)
    numbers.level("semantic_bytes", (), 23812, shared=True)
    numbers.level("semantic_entries", (), 13, shared=True)

    found = summary(numbers)

    assert found["semantic"] == {"hits": 8, "bytes": 23812, "entries": 13, "errors": 2}
    assert at(found, "tiers", "memory", "served") == 13
    tiers = found["tiers"]
    assert isinstance(tiers, dict)
    assert set(tiers) == {"memory", "disk"}


def test_where_nothing_is_compared_nothing_is_told_of_it() -> None:
    assert "semantic" not in summary(tally())


def test_before_the_first_request_nothing_is_divided() -> None:
    assert summary(Tally())["hit_ratio"] == 0.0
