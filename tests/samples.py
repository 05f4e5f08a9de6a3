"""Events with some value in every field."""

from __future__ import annotations

from typing import Any, get_args

import msgspec

SAMPLES = {str: "a", int: 2, float: 2.0, bool: True}


def sample(kind: type[msgspec.Struct]) -> Any:
    """An event of this kind with some value in every field."""
    given = {}
    for field in msgspec.structs.fields(kind):
        choices = get_args(field.type)
        given[field.name] = choices[0] if choices else SAMPLES[field.type]
    return kind(**given)
