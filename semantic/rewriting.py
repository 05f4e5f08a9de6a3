"""Texts rewritten by rules, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

Turned: TypeAlias = str | Callable[[re.Match[str]], str]
"""What stands in place of what was found."""
Rules: TypeAlias = Sequence[tuple[re.Pattern[str], Turned]]


def rules(table: Iterable[tuple[str, Turned]]) -> Rules:
    """Of patterns, and what they are turned into."""
    return tuple((re.compile(form), turned) for form, turned in table)


def rewritten(text: str, by: Rules) -> str:
    """Each rule has what the ones before it made."""
    for form, turned in by:
        text = form.sub(turned, text)
    return text
