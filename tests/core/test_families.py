"""The metrics' names and labels."""

from __future__ import annotations

import re

import pytest

from proxy.core.families import FAMILIES, Family

CHOSEN_BY_CLIENTS = {"model", "tenant", "user", "path", "key", "request_id", "prompt", "method"}


@pytest.mark.parametrize(("name", "family"), FAMILIES.items())
def test_no_label_holds_what_a_client_chooses(name: str, family: Family) -> None:
    assert not CHOSEN_BY_CLIENTS & set(family.labels)


@pytest.mark.parametrize(("name", "family"), FAMILIES.items())
def test_a_name_says_unit_and_shape_as_prometheus_wants(name: str, family: Family) -> None:
    assert re.fullmatch("[a-z][a-z_]*", name)
    assert name.endswith("_total") == (not family.gauge and not family.bounds)
    assert not family.bounds or name.endswith(("_seconds", "_ratio"))


@pytest.mark.parametrize(("name", "family"), FAMILIES.items())
def test_bounds_rise(name: str, family: Family) -> None:
    assert list(family.bounds) == sorted(set(family.bounds))
