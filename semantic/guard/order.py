"""The same words with their parts exchanged: from A to B and from B to A."""

from __future__ import annotations

from typing import Final

from semantic.reading import Reading

_WAYS: Final = (("to", "from"), ("from", "to"))


def differ(asked: Reading, stored: Reading) -> bool:
    """Whether two sides of a word such as `to`, or two names, have changed places."""
    if _swapped(asked.pivots, stored.pivots) or _turned(asked.pivots, stored.pivots):
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


def _exchanged(asked: Reading, stored: Reading) -> bool:
    """Whether the one who asks does in one what is done to them in the other: `can I sue my
    employer` has the words of `can my employer sue me`, and `谁打了我` those of `我打了谁`."""
    if not asked.persons or asked.persons != stored.persons:
        return False
    if sorted(asked.content) != sorted(stored.content):
        return False
    return asked.content != stored.content or _acts(asked) != _acts(stored)


def _acts(reading: Reading) -> bool | None:
    """Whether the one who asks stands before whom they ask for; None: not both are there."""
    places = [reading.words.index(one) for one in ("我", "谁") if one in reading.words]
    return places[0] < places[1] if len(places) == 2 else None


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
