"""The sets of question pairs, and which of them would be served."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, TypeAlias

import msgspec

from semantic.alike import alike
from semantic.canonical import question
from semantic.eligible import ineligible
from semantic.guard.verdict import opposed, refusal
from semantic.profiles import threshold, threshold_alike
from semantic.reading import read
from semantic.settings import Settings

DATA: Final = Path(__file__).parent / "data"
SETS: Final = ("fow_pairs", "en_contrast", "zh_contrast")
TTL: Final = 3600.0
"""Seconds that an answer lives: longer than a question about now may wait."""

Step: TypeAlias = Literal["canonical", "alike", "semantic", ""]


class Pair(msgspec.Struct, frozen=True):
    """Two questions, and whether one answer does for both."""

    id: str
    category: str
    a: str
    b: str
    same_answer: bool


def pairs(name: str) -> list[Pair]:
    """A set's pairs, in the order of its file."""
    lines = (DATA / f"{name}.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Pair) for line in lines]


def step(
    pair: Pair, cosine: float, settings: Settings, *, choosy: bool = True, bar: float | None = None
) -> Step:
    """How the pair's first question would be answered with the answer to its second; empty: not.

    `choosy`: questions that may not be compared are not; `bar`: least cosine, else the profile's.
    """
    asked, stored = (read(text, settings.terms) for text in (pair.a, pair.b))
    if choosy and any(ineligible(one, TTL, settings) for one in (asked, stored)):
        return ""
    key = question(asked)
    if key is not None and key == question(stored) and not opposed(asked, stored):
        return "canonical"
    if refusal(asked, stored, settings):
        return ""
    wanted = (settings.profile, settings.embedder, asked.language)
    if cosine >= (threshold(*wanted) if bar is None else bar):
        return "semantic"
    return "alike" if cosine >= threshold_alike(*wanted) and alike(asked, stored) else ""


def percent(part: int, whole: int) -> float:
    return 100 * part / max(1, whole)
