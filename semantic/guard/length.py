"""A question of many more words asks for more."""

from __future__ import annotations

from typing import Final

from semantic.reading import Reading

_RATIO: Final = 3
_SLACK: Final = 2
"""Words that a short question may lack: of two words against six nothing follows."""


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether one has more than three times the content of the other."""
    short, long = sorted((len(asked.content), len(stored.content)))
    return long > _RATIO * short + _SLACK
