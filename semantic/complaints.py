"""Hits that were served, and what follows should somebody call one of them wrong."""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from semantic.protocol import Lesson

_SERVED: Final = 10_000
"""Hits that can still be called wrong."""


class Complaints:
    """The last hits of this machine, by their requests."""

    def __init__(self) -> None:
        self._lessons: OrderedDict[str, Lesson] = OrderedDict()

    def note(self, request: str, lesson: Lesson) -> None:
        """A request was answered: the lesson is what follows if that was wrong."""
        self._lessons[request] = lesson
        if len(self._lessons) > _SERVED:
            self._lessons.popitem(last=False)

    def take(self, request: str) -> Lesson:
        """What follows, once; empty: no such hit is known (any more)."""
        return self._lessons.pop(request, Lesson())

    def settle(self, lesson: Lesson) -> None:
        """Another machine was told that one of these was wrong: it is not to be told here too."""
        if not lesson.blocks:  # of the few that come from people, so that the walk is a rare one
            return
        names = {label.name for label in lesson.labels}
        for request, known in tuple(self._lessons.items()):
            if known.labels[0].name in names:
                del self._lessons[request]
