"""Events hold facts, and nothing that must not be told."""

from __future__ import annotations

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from proxy.core import events

ALL = get_args(events.Event)


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.__name__)
def test_an_event_is_a_frozen_value(event: type[msgspec.Struct]) -> None:
    assert event.__struct_config__.frozen


@pytest.mark.parametrize("event", ALL, ids=lambda event: event.__name__)
def test_an_event_has_no_room_for_contents(event: type[msgspec.Struct]) -> None:
    """Bodies and credentials are bytes and mappings: only plain words and numbers fit in here."""
    for kind in get_type_hints(event).values():
        assert atoms(kind) <= {str, int, float, bool, type(None)}


def atoms(kind: Any) -> set[Any]:
    """The plain types that a type is made of."""
    if get_origin(kind) is Literal:
        return {type(word) for word in get_args(kind)}
    if get_origin(kind) in (Union, UnionType):
        return {atom for part in get_args(kind) for atom in atoms(part)}
    return {kind}


def test_every_event_of_the_module_is_in_the_sum() -> None:
    """What is not in it, neither the log nor the metrics would be checked for."""
    defined = {
        value
        for value in vars(events).values()
        if isinstance(value, type) and issubclass(value, msgspec.Struct)
    }

    assert defined == set(ALL)
