"""Files of a model that have to be the ones that were measured."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from semantic.embed.port import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def check(folder: Path, pins: Mapping[str, str]) -> None:
    """Raises EmbedderError unless each file has its SHA-256.

    Thresholds hold for these weights only, and a package that was replaced is not to decide
    which answers are served; so other files are refused, not merely given another tag.
    """
    for name, expected in pins.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbedderError(f"the model's file {name} cannot be read") from error
        if found != expected:
            said = f"expected {expected[:12]}, found {found[:12]}"
            raise EmbedderError(f"the model's file {name} is not the one that is known: {said}")
