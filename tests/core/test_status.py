"""What a response says of the cache, for every way in which it can be served."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.decision import MissReason
from proxy.core.request import Reason
from proxy.core.status import Status, Why, XCache, cache_status, lines


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (Status("HIT", tier="memory", age=2.5, ttl=57.5), "hit; ttl=57; detail=memory"),
        (Status("HIT", tier="disk", age=65.0, ttl=-5.0), "hit; ttl=-5; detail=disk"),
        (Status("STALE", tier="disk", age=65.0, ttl=-5.0), "hit; ttl=-5; detail=disk"),
        (
            Status("STALE", tier="memory", age=65.0, ttl=-4.5, rescued=True, fwd_status=503),
            "fwd=stale; fwd-status=503; ttl=-5; detail=memory",
        ),
        (Status("MISS", "absent"), "fwd=miss"),
        (Status("MISS", "void"), "fwd=miss"),
        (Status("MISS", "expired"), "fwd=stale"),
        (Status("MISS", "request"), "fwd=request"),
        (Status("REFRESH", "request"), "fwd=request"),
        (Status("COLLAPSED", "absent"), "fwd=miss; collapsed"),
        (Status("COLLAPSED", "expired"), "fwd=stale; collapsed"),
        (Status("BYPASS", "off"), "fwd=request; detail=off"),
        (Status("BYPASS", "no_store"), "fwd=request; detail=no_store"),
        (Status("BYPASS", "read_only"), "fwd=request; detail=read_only"),
        (Status("BYPASS", "store_true"), "fwd=bypass; detail=store_true"),
        (Status("BYPASS", "endpoint"), "fwd=bypass; detail=endpoint"),
        (Status("ERROR", "cache_miss"), ""),
    ],
)
def test_cache_status_for_each_outcome(status: Status, told: str) -> None:
    """RFC 9211 §2."""
    assert cache_status(status) == "; ".join(filter(None, ["hotprefix", told]))


statuses = st.builds(
    Status,
    outcome=st.sampled_from(get_args(XCache)),
    reason=st.sampled_from(["", "endpoint", *get_args(MissReason), *get_args(Reason)]),
    tier=st.sampled_from(["", "memory", "disk"]),
    ttl=st.none() | st.floats(min_value=-1e6, max_value=1e6),
    fwd_status=st.sampled_from([0, 200, 429, 502]),
)
MEMBER = re.compile(
    r"hotprefix(; (hit|collapsed|fwd=(miss|stale|request|bypass)|fwd-status=\d{3}|ttl=-?\d+"
    r"|detail=[a-z][a-z0-9_]*))*"
)


@given(statuses)
def test_the_member_has_the_grammar_of_the_rfc(status: Status) -> None:
    assert MEMBER.fullmatch(cache_status(status))


@given(statuses)
def test_a_hit_is_not_forwarded_and_each_parameter_is_told_once(status: Status) -> None:
    """RFC 9211 §2.1: `hit` and `fwd` exclude each other."""
    names = [part.partition("=")[0] for part in cache_status(status).split("; ")]

    assert not {"hit", "fwd"} <= set(names)
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ({}, {}),
        ({"kind": "normalized"}, {"x-cache-kind": "normalized"}),
        ({"tier": "disk"}, {"x-cache-tier": "disk"}),
        ({"key": "0123456789abcdef"}, {"x-cache-key": "0123456789abcdef"}),
        ({"age": 0.0}, {"age": "0"}),
        ({"age": 7.9}, {"age": "7"}),
        ({"node": "gpu"}, {"x-upstream-node": "gpu"}),
        ({"why": Why("least")}, {"x-upstream-reason": "least"}),
        (
            {"why": Why("hit", 300)},
            {"x-upstream-reason": "hit", "x-upstream-cached": "300"},
        ),
        (
            {"why": Why("hit", 300, 280)},
            {"x-upstream-reason": "hit", "x-upstream-cached": "300", "x-upstream-reported": "280"},
        ),
        ({"why": Why("cold", 0, 0)}, {"x-upstream-reason": "cold", "x-upstream-reported": "0"}),
    ],
)
def test_only_what_is_known_is_told(known: dict[str, Any], told: dict[str, str]) -> None:
    shown = lines(Status("HIT", **known)).splitlines()
    found = dict(line.split(": ", 1) for line in shown)

    assert found.pop("cache-status").startswith("hotprefix; hit")
    assert found.pop("x-cache") == "HIT"
    assert found == told
