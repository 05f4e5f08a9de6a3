"""When a stored answer is good enough not to look farther away."""

from __future__ import annotations

from typing import Any

import pytest

from proxy.core.want import Want
from tests.stored import NOW, alias, entry


@pytest.mark.parametrize(
    ("changes", "current"),
    [
        ({}, True),
        ({"ttl": 0.5}, False),
        ({"epoch": 2}, False),
        ({"asked": NOW - 5}, False),
    ],
)
def test_an_entry_is_current_if_it_is_fresh_of_the_epoch_and_asked_late_enough(
    changes: dict[str, Any], current: bool
) -> None:
    plain = {"ttl": 60.0, "epoch": 3, "asked": NOW}

    assert Want(epoch=3, beyond=NOW - 5).current(entry("a", **plain | changes), NOW + 1) is current


@pytest.mark.parametrize(("beyond", "current"), [(NOW - 1, True), (NOW, False)])
def test_an_alias_is_current_if_it_was_asked_late_enough(beyond: float, current: bool) -> None:
    assert Want(epoch=3, beyond=beyond).current(alias("a", "b"), NOW + 1) is current
