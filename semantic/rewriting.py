"""Texts rewritten by rules, one after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

Turned: TypeAlias = str | Callable[[re.Match[str]], str]
"""What stands in place of what was found."""


class Rule(NamedTuple):
    """Everything that has a form, turned into something else."""

    tried: Callable[[str], object]
    """Whether there is any, sooner than the turning would find that there is none."""
    form: re.Pattern[str]
    turned: Turned


def rules(table: Iterable[tuple[str, Turned]]) -> Sequence[Rule]:
    """Of patterns, and what they are turned into. A pattern that starts with ^ has no alternative
    without one."""
    forms = [(re.compile(form), turned) for form, turned in table]
    return [
        Rule(form.match if form.pattern.startswith("^") else form.search, form, turned)
        for form, turned in forms
    ]


def rewritten(text: str, by: Iterable[Rule]) -> str:
    """Each rule has what the ones before it made."""
    for tried, form, turned in by:
        if tried(text):
            text = form.sub(turned, text)
    return text
