"""Seconds and bytes as people write them."""

from __future__ import annotations

import re

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d|w)?", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KB|MB|GB|TB|KiB|MiB|GiB|TiB)?", re.IGNORECASE)
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_BYTES |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


class Duration(float):
    """Seconds, written as a number or as `90s`, `5m`, `1h`, `7d`."""


class Timeout(Duration):
    """Seconds, more than 0."""


class Size(int):
    """Bytes, written as a number or as `64MiB`."""


def seconds(text: str | float, *, zero: bool = True) -> float:
    """Seconds meant by a number or by text like `5m`. Raises ValueError for anything else, and
    for none at all where that is not `zero`."""
    found = _seconds(text)
    if not found and not zero:
        raise ValueError(f"expected a duration above 0, got {text!r}")
    return found


def _seconds(text: str | float) -> float:
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise ValueError(f"expected a duration like 90s or 5m, got {text!r}")
    if isinstance(text, str):
        found = _DURATION.fullmatch(text.strip())
        if found is None:
            raise ValueError(f"expected a duration like 90s or 5m, got {text!r}")
        return float(found[1]) * _SECONDS[(found[2] or "s").lower()]
    if not 0 <= text < float("inf"):
        raise ValueError(f"expected a duration of at least 0, got {text!r}")
    return float(text)


def size(text: str | int) -> int:
    """Bytes meant by a number or by text like `64MiB`. Raises ValueError for anything else."""
    if isinstance(text, int) and not isinstance(text, bool) and text >= 0:
        return text
    found = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f"expected a size like 64MiB, got {text!r}")
    return int(float(found[1]) * _BYTES[(found[2] or "b").lower()])
