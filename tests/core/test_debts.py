"""What should have been deleted, and may still be there."""

from __future__ import annotations

import pytest

from proxy.core.debts import Debts
from tests.stored import NOW, entry, key


@pytest.mark.parametrize(("asked", "hidden"), [(NOW - 1, True), (NOW, False), (NOW + 1, False)])
def test_only_older_values_of_an_owed_key_are_hidden(asked: float, hidden: bool) -> None:
    debts = Debts(10)
    debts.owe(key("a"), NOW)

    assert debts.hide(entry("a", asked=asked), NOW + 1) is hidden
    assert not debts.hide(entry("b", asked=asked), NOW + 1)


def test_of_an_owed_key_nothing_is_believed_that_is_from_the_future() -> None:
    """The clock went back by an hour just before the purge."""
    debts = Debts(10)
    debts.owe(key("a"), NOW - 3600)

    assert debts.hide(entry("a", asked=NOW), NOW - 3590)
    assert not debts.hide(entry("b", asked=NOW), NOW - 3590)


def test_an_earlier_demand_takes_nothing_from_a_later_one() -> None:
    debts = Debts(10)

    assert debts.owe(key("a"), NOW) == NOW
    assert debts.owe(key("a"), NOW - 5) == NOW


def test_what_is_paid_is_owed_no_more_but_what_was_demanded_since() -> None:
    debts = Debts(10)
    first = debts.owe(key("a"), NOW)
    debts.owe(key("a"), NOW + 1)
    debts.owe(key("b"), NOW)

    debts.pay(key("a"), first)
    debts.pay(key("b"), NOW)
    debts.pay(key("c"), NOW)

    assert debts.all() == [(key("a"), NOW + 1)]
    debts.pay(key("a"), NOW + 1)
    assert not debts


def test_the_one_owed_longest_is_given_up() -> None:
    debts = Debts(2)
    for name in ("a", "b", "a", "c"):
        debts.owe(key(name), NOW)

    assert [owed for owed, _ in debts.all()] == [key("a"), key("c")]
    assert not debts.hide(entry("b", asked=NOW - 1), NOW)


def test_with_a_strict_one_all_that_is_as_old_is_hidden() -> None:
    debts = Debts(1, strict=True)
    debts.owe(key("a"), NOW)
    debts.owe(key("b"), NOW - 10)
    debts.owe(key("c"), NOW - 10)
    debts.pay(key("c"), NOW)

    for held in (debts, debts.among([])):
        hidden = [held.hide(entry("d", asked=NOW + late), NOW + 5) for late in (-1, 0)]
        assert hidden == [True, False]


def test_a_part_of_it_stays_as_it_was() -> None:
    debts = Debts(10)
    for name in "ab":
        debts.owe(key(name), NOW)
    part = debts.among([key("a"), key("c")])
    debts.pay(key("a"), NOW)

    assert part.hide(entry("a", asked=NOW - 1), NOW)
    assert part.all() == [(key("a"), NOW)]
