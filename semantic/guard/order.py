"""The same words with their parts exchanged: from A to B and from B to A."""

from __future__ import annotations

from typing import Final

from semantic.reading import Reading

_ACTS: Final = frozenset(("do", "does", "did", "i"))
_CLAUSE: Final = 3
"""Words of the shortest clause."""
_WAYS: Final = (("to", "from"), ("from", "to"))


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether two sides of a word such as `to`, or two names, have changed places."""
    if _swapped(asked.pivots, stored.pivots) or _turned(asked.pivots, stored.pivots):
        return True
    if _shuffled(asked.words, stored.words):
        return True
    if any(
        _reordered(one, other)
        for one, other in (
            (asked.names, stored.names),
            (asked.members, stored.members),
            (asked.persons, stored.persons),
        )
    ):
        return True
    if _exchanged(asked, stored):
        return True
    if not (asked.turned and stored.turned) or len(asked.body) != len(stored.body):
        return False
    return sorted(asked.body) == sorted(stored.body) and not rotated(asked.body, stored.body)


def _shuffled(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one has just the words of the other in another order, as `milk chocolate` has those
    of `chocolate milk`. Whole clauses may change places."""
    if one == other or sorted(one) != sorted(other):
        return False
    clauses = range(_CLAUSE, len(one) - _CLAUSE + 1)
    return all(one[place:] + one[:place] != other for place in clauses)


def _exchanged(asked: Reading, stored: Reading) -> bool:
    """Whether who does it and to whom it is done have changed places: `can I sue my employer` has
    the words of `can my employer sue me`, and `谁打了我` those of `我打了谁`. Where no person is
    spoken of, one run of words may stand elsewhere, and no two."""
    if asked.persons != stored.persons or sorted(asked.content) != sorted(stored.content):
        return False
    if asked.question == stored.question == "who" and _sought(asked) != _sought(stored):
        return True
    if asked.content == stored.content:
        return False
    return bool(asked.persons) or not _moved(asked.content, stored.content)


def _sought(reading: Reading) -> bool:
    """Whether it asks to whom something is done, not who does it."""
    words = reading.words
    if "谁" in words:
        return "我" in words and words.index("我") < words.index("谁")
    return not _ACTS.isdisjoint(words)


def _moved(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether other is one with at most one run of words moved."""
    start, end = 0, len(one)
    while start < end and one[start] == other[start]:
        start += 1
    while end > start and one[end - 1] == other[end - 1]:
        end -= 1
    return rotated(one[start:end], other[start:end])


def rotated(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one is the other, begun elsewhere: what was said last is said first."""
    return any(one[place:] + one[:place] == other for place in range(max(1, len(one))))


def _swapped(
    one: tuple[tuple[str, str, str], ...], other: tuple[tuple[str, str, str], ...]
) -> bool:
    return any((pivot, right, left) in other for pivot, left, right in one if left != right)


def _turned(one: tuple[tuple[str, str, str], ...], other: tuple[tuple[str, str, str], ...]) -> bool:
    """Whether one goes to where the other comes from."""
    return any(_ends(one, there) & _ends(other, back) for there, back in _WAYS)


def _ends(pivots: tuple[tuple[str, str, str], ...], way: str) -> set[str]:
    return {right for pivot, _, right in pivots if pivot == way}


def _reordered(one: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether both have the same distinct things, in another order."""
    return (
        len(one) == len(other)
        and one != other
        and len(set(one)) == len(one)
        and set(one) == set(other)
    )
