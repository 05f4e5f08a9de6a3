"""Evidence: how near would-be hits were and whether they were wrong, one byte each, and what it
shows about a threshold."""

from __future__ import annotations

from typing import Final

from semantic.bound import at_most, lower, needed

STEPS: Final = 41
"""Thresholds that there are, and the number that stands for none of them: closed."""
_LEAST: Final = 0.8
_STEP: Final = 0.005
_SLACK: Final = 1e-6
"""Of half-precision vectors: what is equal has to count as equal."""
_ALL: Final = bytes(range(2 * STEPS + 2))
"""Every label that there can be, the right ones even."""
_STARTS: Final = (1, 2, 4)
"""Where a search begins, as multiples of the least evidence that could suffice."""


def step(similarity: float) -> int:
    """The highest threshold that a similarity reaches; -1 below all of them, and for no number."""
    if not similarity >= _LEAST - _SLACK:
        return -1
    return min(STEPS - 1, int((min(similarity, 1.0) - _LEAST + _SLACK) / _STEP))


def threshold(number: int) -> float:
    """The similarity of a step; above 1 where closed."""
    return round(_LEAST + _STEP * number, 3)


def byte(number: int, *, wrong: bool) -> int:
    """A label of this step."""
    return 2 * number + wrong


def least(rate: float, chance: float) -> int:
    """Labels below which nothing can be shown."""
    return needed(rate, chance / len(_STARTS))


def shown(labels: bytes | bytearray, floor: int, rate: float, chance: float) -> int:
    """The lowest step, down to `floor`, from which on labels show an error rate below `rate`.

    The chance that the true rate there is not below it is at most `chance`. Each search asks step
    by step downwards and ends at the first that fails: that needs no correction for the number of
    steps, since the first wrong one has to pass at the full chance (fixed-sequence testing). It
    begins where there is enough evidence, which is known without looking at what was wrong, at
    one of three places that share the chance.
    """
    chance /= len(_STARTS)
    enough = needed(rate, chance)
    sums = _from_above(labels, floor)
    best = STEPS
    for start in _STARTS:
        for number, count, wrong in sums:
            if count < start * enough:
                continue
            if at_most(wrong, count, rate) > chance:
                break
            best = min(best, number)
    return best


def refuted(labels: bytes | bytearray, floor: int, rate: float, chance: float) -> int:
    """The lowest step, from `floor` up, that labels do not show to have an error rate above
    `rate`."""
    best = STEPS
    for number, count, wrong in _from_above(labels, floor):
        if lower(wrong, count, 1.0 - chance) <= rate:
            best = number
    return best


def counted(labels: bytes | bytearray, floor: int) -> tuple[int, int]:
    """How many labels there are at this step and above, and how many of them are wrong."""
    found = labels.translate(None, _ALL[: 2 * floor])
    return len(found), len(found.translate(None, _ALL[::2]))


def _from_above(labels: bytes | bytearray, floor: int) -> list[tuple[int, int, int]]:
    """Each step that has labels, from the highest down: its number, and how many labels there are
    from it on, and how many of them are wrong."""
    sums = []
    count = wrong = 0
    for number in range(STEPS - 1, floor - 1, -1):
        bad = labels.count(2 * number + 1)
        fresh = labels.count(2 * number) + bad
        if fresh:
            count, wrong = count + fresh, wrong + bad
            sums.append((number, count, wrong))
    return sums
