"""Stored values: how long they may be served and what they weigh."""

from __future__ import annotations

import gc

import msgspec
import pytest

from proxy.core.entry import OVERHEAD, Alias, Entry, Key, Tenant


def entry(**changes: object) -> Entry:
    plain = Entry(
        key=Key(b"k" * 32),
        tenant=Tenant(b"t" * 16),
        endpoint="chat/completions",
        status=200,
        headers=(),
        form="json",
        body=b"",
        asked=95.0,
        created=100.0,
        ttl=60.0,
    )
    return msgspec.structs.replace(plain, **changes)


@pytest.mark.parametrize(
    ("changes", "expires"),
    [
        ({}, 160.0),
        ({"ttl": 0.0}, 100.0),
        ({"stale_while_revalidate": 30.0}, 190.0),
        ({"stale_if_error": 300.0}, 460.0),
        ({"stale_while_revalidate": 30.0, "stale_if_error": 300.0}, 490.0),
        ({"asked": 1.0}, 160.0),
    ],
)
def test_lifetimes_add_up_from_when_the_answer_was_complete(
    changes: dict[str, object], expires: float
) -> None:
    assert entry(**changes).expires == expires


@pytest.mark.parametrize(
    ("changes", "weight"),
    [
        ({}, OVERHEAD),
        ({"body": b"12345"}, OVERHEAD + 5),
        ({"headers": (("name", "value"), ("n", "v"))}, OVERHEAD + 11),
        ({"tags": ("one", "three")}, OVERHEAD + 8),
        ({"model": "m-small"}, OVERHEAD + 7),
    ],
)
def test_all_that_a_client_or_an_upstream_can_make_long_has_weight(
    changes: dict[str, object], weight: int
) -> None:
    assert entry(**changes).weight == weight


def test_an_alias_weighs_less_than_an_entry() -> None:
    key = Key(b"k" * 32)
    alias = Alias(key=key, tenant=Tenant(b"t" * 16), target=key, asked=1.0, expires=2.0)

    assert 0 < alias.weight < entry().weight


def test_stored_values_are_no_work_for_the_garbage_collector() -> None:
    key = Key(b"k" * 32)

    assert not gc.is_tracked(entry())
    assert not gc.is_tracked(Alias(key, Tenant(b"t" * 16), key, 1.0, 2.0))
