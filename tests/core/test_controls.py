"""What requests ask of the cache: every spelling, and the ones that make no sense."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.core.controls import (
    FIELDS,
    HEADER_NAMES,
    ControlError,
    Controls,
    from_headers,
    limited,
    merged_with_body,
)

INF = float("inf")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("cache-control", "no-cache", Controls(read=False)),
        ("Cache-Control", "No-Store", Controls(bypass="no_store")),
        ("cache-control", "only-if-cached", Controls(only_if_cached=True)),
        ("cache-control", "max-age=60, min-fresh=5", Controls(max_age=60, min_fresh=5)),
        ("cache-control", 'max-age="60"', Controls(max_age=60)),
        ("cache-control", "max-age=60, max-age=5", Controls(max_age=5)),
        ("cache-control", "max-age=5, max-age=60", Controls(max_age=5)),
        ("cache-control", "max-age=soon", Controls(max_age=0)),
        ("cache-control", "max-age=99999999999999999999", Controls(max_age=2.0**31)),
        ("cache-control", "max-stale", Controls(max_stale=INF)),
        ("cache-control", "max-stale=9", Controls(max_stale=9)),
        ("cache-control", "no-transform, , private=x", Controls()),
        ("x-cache", "on", Controls()),
        ("x-cache", "OFF", Controls(bypass="off")),
        ("x-cache", "read-only", Controls(store=False)),
        ("x-cache", "write-only", Controls(read=False)),
        ("x-cache-ttl", "90", Controls(ttl=90)),
        ("x-cache-ttl", " 5m ", Controls(ttl=300)),
        ("x-cache-namespace", "blue", Controls(namespace="blue")),
        ("x-cache-tags", "a, b,, a", Controls(tags=("a", "b"))),
        ("x-cache-mode", "exact", Controls(mode="exact")),
        ("x-cache-threshold", "0.95", Controls(threshold=0.95)),
        ("x-portkey-cache-force-refresh", "true", Controls(read=False)),
        ("x-portkey-cache-force-refresh", "false", Controls()),
        ("x-portkey-cache-namespace", "blue", Controls(namespace="blue")),
        ("helicone-cache-enabled", "false", Controls(bypass="off")),
        ("helicone-cache-enabled", "true", Controls()),
        ("helicone-cache-seed", "blue", Controls(namespace="blue")),
        ("cf-aig-skip-cache", "true", Controls(read=False)),
        ("cf-aig-cache-ttl", "3600", Controls(ttl=3600)),
        ("cf-aig-cache-ttl", "later", Controls()),
        ("user-agent", "no-cache", Controls()),
    ],
)
def test_a_header_means(name: str, value: str, expected: Controls) -> None:
    assert from_headers(((name, value),), aliases=True) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x-cache", "maybe"),
        ("x-cache-ttl", "soon"),
        ("x-cache-ttl", "-1"),
        ("x-cache-namespace", "n" * 257),
        ("x-cache-tags", ",".join(f"t{i}" for i in range(33))),
        ("x-cache-tags", "t" * 257),
        ("x-cache-mode", "fuzzy"),
        ("x-cache-threshold", "nan"),
        ("x-cache-threshold", "1.1"),
        ("x-cache-threshold", ""),
    ],
)
def test_a_header_that_makes_no_sense_is_named(name: str, value: str) -> None:
    with pytest.raises(ControlError) as caught:
        from_headers(((name, value),), aliases=True)

    assert caught.value.param == name


def test_other_gateways_headers_mean_nothing_where_they_are_not_taken() -> None:
    headers = (("helicone-cache-enabled", "false"), ("cf-aig-cache-ttl", "9"))

    assert from_headers(headers, aliases=False) == Controls()


@pytest.mark.parametrize("own_first", [True, False])
def test_our_own_header_counts_before_another_gateways(own_first: bool) -> None:
    headers = [("x-cache-ttl", "60"), ("cf-aig-cache-ttl", "3600")]

    found = from_headers(tuple(headers if own_first else headers[::-1]), aliases=True)

    assert found.ttl == 60


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"ttl": 60}, Controls(ttl=60)),
        ({"ttl": "5m", "namespace": "blue"}, Controls(ttl=300, namespace="blue")),
        ({"no-cache": True}, Controls(read=False)),
        ({"no-cache": False, "no-store": False}, Controls()),
        ({"no-store": True}, Controls(bypass="no_store")),
        ({"use-cache": True}, Controls()),
        ({"use-cache": False}, Controls(bypass="off")),
        ({"s-maxage": 10}, Controls(max_age=10)),
        ({"tags": ["a", "b"]}, Controls(tags=("a", "b"))),
        ({"tags": "a,b"}, Controls(tags=("a", "b"))),
        ({"ttl": None}, Controls()),
        ({"s-max-age": 10}, Controls(max_age=10)),
    ],
)
def test_the_body_object_means(body: dict[str, Any], expected: Controls) -> None:
    assert merged_with_body(Controls(), body) == expected


@pytest.mark.parametrize(
    "body",
    [
        {"ttl": True},
        {"ttl": [1]},
        {"ttl": 10**400},
        {"s-maxage": -1},
        {"namespace": 1},
        {"tags": 1},
        {"tags": [1]},
        {"no-cache": "yes"},
        {"no-store": 1},
    ],
)
def test_a_body_member_that_makes_no_sense_is_named(body: dict[str, Any]) -> None:
    with pytest.raises(ControlError) as caught:
        merged_with_body(Controls(), body)

    assert caught.value.param == f"cache.{next(iter(body))}"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tll", "cache.tll: expected ttl, got 'tll'"),
        ("no_cache", "cache.no_cache: expected no-cache, got 'no_cache'"),
        ("mode", "cache.mode: expected one of ttl, s-maxage, "),
    ],
)
@pytest.mark.parametrize("value", [5, None])
def test_a_body_member_that_there_is_not_is_told_with_what_was_meant(
    name: str, said: str, value: object
) -> None:
    with pytest.raises(ControlError) as caught:
        merged_with_body(Controls(), {name: value})

    assert caught.value.param == f"cache.{name}"
    assert str(caught.value).startswith(said)


@given(st.text(max_size=99))
def test_of_a_name_no_more_is_repeated_than_can_be_read(name: str) -> None:
    try:
        merged_with_body(Controls(), {name: None})
    except ControlError as error:
        assert len(error.param) <= 70


def test_the_body_cannot_switch_on_what_a_header_switched_off() -> None:
    asked = Controls(bypass="off", read=False, max_age=5)

    found = merged_with_body(asked, {"no-cache": False, "use-cache": True, "s-maxage": 60})

    assert found == asked


def test_of_two_lifetimes_the_one_in_the_body_counts() -> None:
    assert merged_with_body(Controls(ttl=5), {"ttl": 60}).ttl == 60


ALL = Controls(
    read=False,
    store=False,
    bypass="off",
    only_if_cached=True,
    max_age=1,
    min_fresh=1,
    max_stale=1,
    ttl=1,
    namespace="n",
    tags=("t",),
    mode="exact",
    threshold=0.5,
)


def test_every_control_has_a_name_by_which_it_is_allowed() -> None:
    """A tenant that may use nothing changes nothing."""
    assert limited(ALL, (), INF) == Controls()


@pytest.mark.parametrize("name", FIELDS)
def test_a_control_that_is_allowed_alone_is_all_that_is_left(name: str) -> None:
    found = limited(ALL, (name,), INF)

    changed = [f for f in Controls.__struct_fields__ if getattr(found, f) != getattr(Controls(), f)]
    assert sorted(changed) == sorted(FIELDS[name])


def test_a_lifetime_has_a_ceiling() -> None:
    assert limited(Controls(ttl=1e9), ("*",), 60.0).ttl == 60.0


def test_a_lifetime_of_nothing_is_a_wish_not_to_store() -> None:
    assert limited(Controls(ttl=0), ("*",), 60.0) == Controls(ttl=0, store=False)


def test_a_refused_lifetime_of_nothing_changes_nothing() -> None:
    assert limited(Controls(ttl=0), ("tags",), 60.0) == Controls()


@given(st.sampled_from(sorted(HEADER_NAMES)), st.text(max_size=40))
def test_no_value_raises_anything_else(name: str, value: str) -> None:
    try:
        from_headers(((name, value),), aliases=True)
    except ControlError as error:
        assert error.param == name
