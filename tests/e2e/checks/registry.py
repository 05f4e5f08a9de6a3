"""The checks by case, filled by the modules that define them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.e2e.steps import Case

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tests.e2e.steps import Run

CASES: dict[str, Case] = {}


def case(
    name: str, **how: Any
) -> Callable[[Callable[[Run], Awaitable[None]]], Callable[[Run], Awaitable[None]]]:
    """Registers the decorated check for a case; `how`: see `Case`."""

    def register(check: Callable[[Run], Awaitable[None]]) -> Callable[[Run], Awaitable[None]]:
        assert name not in CASES, name
        CASES[name] = Case(check, **how)
        return check

    return register
