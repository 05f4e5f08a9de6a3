"""When the ladder is tripped, and when it is let go."""

from __future__ import annotations

from proxy.core.degrade import Hits, Ladder, judged, looked


def after(*looks: bool) -> Hits:
    hits = Hits()
    for look in looks:
        hits = looked(hits, look)
    return hits


def test_a_cache_that_is_only_cold_is_not_judged_at_once() -> None:
    assert after(*[False] * 200).ratio > 0.8
    assert after(*[False] * 5000).ratio < 0.01


def test_the_ratio_is_that_of_the_last_thousand_or_so() -> None:
    hits = after(*[False] * 10_000, *[True, True, False] * 2000)

    assert 0.6 < hits.ratio < 0.7


def test_few_hits_alone_do_nothing_nor_does_saturation_alone() -> None:
    ladder = Ladder(0.5)

    assert not judged(ladder, Hits(0.1), saturated=False, mono=1.0).tripped
    assert not judged(ladder, Hits(0.6), saturated=True, mono=1.0).tripped
    assert judged(ladder, Hits(0.1), saturated=True, mono=1.0).tripped


def test_without_a_threshold_it_is_never_tripped() -> None:
    assert not judged(Ladder(0.0), Hits(0.0), saturated=True, mono=1.0).tripped


def test_it_holds_for_a_while_though_nobody_waits_any_more() -> None:
    ladder = judged(Ladder(0.5), Hits(0.1), saturated=True, mono=1.0)

    assert judged(ladder, Hits(0.1), saturated=False, mono=2.9).tripped
    assert not judged(ladder, Hits(0.1), saturated=False, mono=3.0).tripped


def test_it_goes_on_for_as_long_as_the_upstream_is_saturated() -> None:
    ladder = judged(Ladder(0.5), Hits(0.1), saturated=True, mono=1.0)
    ladder = judged(ladder, Hits(0.1), saturated=True, mono=2.9)

    assert judged(ladder, Hits(0.1), saturated=False, mono=4.0).tripped


def test_the_ratio_must_rise_clearly_above_where_it_was_too_low() -> None:
    ladder = judged(Ladder(0.5), Hits(0.49), saturated=True, mono=1.0)

    assert judged(ladder, Hits(0.52), saturated=True, mono=1.5).tripped
    assert not judged(ladder, Hits(0.56), saturated=True, mono=1.5).tripped
    assert not judged(Ladder(0.5), Hits(0.52), saturated=True, mono=1.5).tripped
